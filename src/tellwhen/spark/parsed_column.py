"""How does an expression travel with its text, so that it is parsed once? As the bytes of the column `parsed`.

    |format, 1 byte|CRC-32 of text and tree, 4 bytes|tree as JSON|

    TRUE                        true
    price < 20                  ["price", "<", 20]
    day IN (DATE '2026-01-31')  ["day", "IN", [{"date": "2026-01-31"}]]
    NOT e                       ["NOT", e]
    a AND b                     ["AND", [a, b]]

Reading it takes about a quarter of the time of parsing. The checksum ties it to its text: where the text was changed
afterwards, or another version of tellwhen wrote the bytes, `decode` returns None and the text is parsed again.
"""

from __future__ import annotations

import datetime as dt
import json
import zlib
from typing import Any

from tellwhen.errors import ExpressionError
from tellwhen.language.ast import MEMBERSHIPS, Connective, Expr, Has, Not, Predicate, Truth
from tellwhen.language.parser import CONNECTIVES
from tellwhen.language.read import read

FORMAT = b"\x02"
HEADER_BYTES = 5


def encode(expression: Expr, text: str) -> bytes:
    """The expression as bytes that belong to this text."""
    tree = ENCODER.encode(_tree(expression)).encode()
    return FORMAT + _checksum(text, tree) + tree


def decode(data: bytes | None, text: str) -> Expr | None:
    """The expression; None where the bytes are not those that `encode` made of it and this very text.

    >>> import tellwhen as tw
    >>> decode(encode(tw.parse("a < 3 OR NOT b"), "a < 3 OR NOT b"), "a < 3 OR NOT b")
    tellwhen.parse('a < 3 OR NOT b = TRUE')
    >>> decode(encode(tw.parse("a < 3"), "a < 3"), "a < 4")
    """
    if data is None or data[:1] != FORMAT:
        return None
    tree = data[HEADER_BYTES:]
    if data[1:HEADER_BYTES] != _checksum(text, tree):
        return None
    return _expression(DECODER.raw_decode(tree.decode())[0])


def read_parsed(data: bytes | None, text: str | None) -> Expr:
    """The expression, from the bytes if they belong to the text, else by parsing the text."""
    if text is None:
        raise ExpressionError("an expression is missing; ingest() sorts such subscriptions out")
    expression = decode(data, text)
    return read(text)[0] if expression is None else expression


def _checksum(text: str, tree: bytes) -> bytes:
    return zlib.crc32(tree, zlib.crc32(text.encode())).to_bytes(4, "little")


def _tree(expression: Expr) -> Any:
    if isinstance(expression, Predicate):
        return expression.attribute, expression.operator, expression.operand
    if isinstance(expression, Connective):
        return expression.keyword, [_tree(arg) for arg in expression.args]
    if isinstance(expression, Not):
        return "NOT", _tree(expression.arg)
    assert isinstance(expression, Truth)
    return expression.value


def _expression(tree: Any) -> Expr:
    if tree is None or type(tree) is bool:
        return Truth(tree)
    if len(tree) == 3:
        attribute, operator, operand = tree
        kind = Has if operator in MEMBERSHIPS else Predicate
        return kind(attribute, operator, tuple(operand) if type(operand) is list else operand)
    keyword, rest = tree
    if keyword == "NOT":
        return Not(_expression(rest))
    return CONNECTIVES[keyword](tuple([_expression(arg) for arg in rest]))


def _tagged(value: dt.date) -> dict[str, str]:
    # A datetime is a date, too.
    return {"timestamp" if isinstance(value, dt.datetime) else "date": value.isoformat()}


def _untagged(form: dict[str, str]) -> dt.date:
    ((kind, text),) = form.items()
    return dt.datetime.fromisoformat(text) if kind == "timestamp" else dt.date.fromisoformat(text)


# Made once: json.dumps and json.loads would make them at every call, which takes longer than the work.
ENCODER = json.JSONEncoder(default=_tagged, separators=(",", ":"), check_circular=False, ensure_ascii=False)
DECODER = json.JSONDecoder(object_hook=_untagged)
