"""The column `parsed`: expressions as bytes, so that later steps need not parse their text again.

    |format, 1 byte|CRC-32 of text and tree, 4 bytes|tree as JSON|

    TRUE                        true
    price < 20                  ["price", "<", 20]
    day IN (DATE '2026-01-31')  ["day", "IN", [{"date": "2026-01-31"}]]
    NOT e                       ["NOT", e]
    a AND b                     ["AND", [a, b]]

Reading the bytes takes about a quarter of the time of parsing. They have a checksum that includes the text: if the text
was changed afterwards, or another version of tellwhen wrote the bytes, `decode` returns None and the text is parsed.
"""

from __future__ import annotations

import datetime as dt
import json
import zlib
from typing import Any

from tellwhen.errors import ExpressionError
from tellwhen.language.ast import HAS_OPERATORS, Connective, Expr, Has, Not, Predicate, Truth
from tellwhen.language.parser import CONNECTIVES
from tellwhen.language.reading import read_expression

FORMAT = b"\x02"
HEADER_BYTES = 5


def encode(expression: Expr, text: str) -> bytes:
    """Return the expression as bytes that belong to this text."""
    tree = ENCODER.encode(_to_tree(expression)).encode()
    return FORMAT + _compute_checksum(text, tree) + tree


def decode(data: bytes | None, text: str) -> Expr | None:
    """Return the expression; None unless `encode` made the bytes from an expression with exactly this text.

    >>> import tellwhen as tw
    >>> decode(encode(tw.parse("a < 3 OR NOT b"), "a < 3 OR NOT b"), "a < 3 OR NOT b")
    tellwhen.parse('a < 3 OR NOT b = TRUE')
    >>> decode(encode(tw.parse("a < 3"), "a < 3"), "a < 4")
    """
    if data is None or data[:1] != FORMAT:
        return None
    tree = data[HEADER_BYTES:]
    if data[1:HEADER_BYTES] != _compute_checksum(text, tree):
        return None
    return _from_tree(DECODER.raw_decode(tree.decode())[0])


def read_parsed(data: bytes | None, text: str | None) -> Expr:
    """Read the expression from the bytes if they belong to the text; otherwise parse the text."""
    if text is None:
        raise ExpressionError("an expression is missing; ingest() quarantines such subscriptions")
    expression = decode(data, text)
    return read_expression(text)[0] if expression is None else expression


def _compute_checksum(text: str, tree: bytes) -> bytes:
    return zlib.crc32(tree, zlib.crc32(text.encode())).to_bytes(4, "little")


def _to_tree(expression: Expr) -> Any:
    if isinstance(expression, Predicate):
        return expression.attribute, expression.operator, expression.operand
    if isinstance(expression, Connective):
        return expression.keyword, [_to_tree(arg) for arg in expression.args]
    if isinstance(expression, Not):
        return "NOT", _to_tree(expression.arg)
    assert isinstance(expression, Truth)
    return expression.value


def _from_tree(tree: Any) -> Expr:
    if tree is None or type(tree) is bool:
        return Truth(tree)
    if len(tree) == 3:
        attribute, operator, operand = tree
        kind = Has if operator in HAS_OPERATORS else Predicate
        return kind(attribute, operator, tuple(operand) if type(operand) is list else operand)
    keyword, rest = tree
    if keyword == "NOT":
        return Not(_from_tree(rest))
    return CONNECTIVES[keyword](tuple([_from_tree(arg) for arg in rest]))


def _tag_time(value: dt.date) -> dict[str, str]:
    # A datetime is also a date.
    return {"timestamp" if isinstance(value, dt.datetime) else "date": value.isoformat()}


def _untag_time(form: dict[str, str]) -> dt.date:
    ((kind, text),) = form.items()
    return dt.datetime.fromisoformat(text) if kind == "timestamp" else dt.date.fromisoformat(text)


# json.dumps and json.loads would make a coder at every call, which takes longer than the coding.
ENCODER = json.JSONEncoder(default=_tag_time, separators=(",", ":"), check_circular=False, ensure_ascii=False)
DECODER = json.JSONDecoder(object_hook=_untag_time)
