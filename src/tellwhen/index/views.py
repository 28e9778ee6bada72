"""Views of an index as a mapping, and a cache of parsed expressions."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from functools import lru_cache
from typing import TYPE_CHECKING

from tellwhen.index.ids import Id
from tellwhen.language.ast import Expr
from tellwhen.language.parser import parse_stored

if TYPE_CHECKING:
    from tellwhen.index.index import Index

CACHED_EXPRESSIONS_MAX = 8_192
"""Parsed expressions in the cache."""

CACHED_TEXT_LENGTH = 16_384
"""Characters from which the expression of a text is not cached, to bound the size of the cache."""

_parse_short = lru_cache(CACHED_EXPRESSIONS_MAX)(parse_stored)


def parse_cached(text: str) -> Expr:
    """Parse a stored text; expressions of short texts are cached."""
    return _parse_short(text) if len(text) < CACHED_TEXT_LENGTH else parse_stored(text)


class SubscriptionsView(ItemsView[Id, Expr]):
    """Ids with expressions, at the moment when iteration starts.

    The view of `collections.abc` looks up id after id, and another thread may remove one meanwhile.
    """

    _mapping: Index

    def __iter__(self) -> Iterator[tuple[Id, Expr]]:
        return ((id_, parse_cached(text)) for id_, text in self._mapping.iter_texts())


class ExpressionsView(ValuesView[Expr]):
    """Expressions, at the moment when iteration starts."""

    _mapping: Index

    def __iter__(self) -> Iterator[Expr]:
        return (parse_cached(text) for _, text in self._mapping.iter_texts())
