"""Text, JSON or Python -> Expr -> its meaning.

text ──parse──┐
JSON ──json───┼──> ast.Expr ──evaluate──> True / False / None (the oracle)
col() ─column─┘        └──format──> text, ──json──> JSON, ──explain──> a tree with the value of every node
"""

from tellwhen.lang.ast import Expr
from tellwhen.lang.column import Column, coalesce, col
from tellwhen.lang.json import from_json
from tellwhen.lang.own import function
from tellwhen.lang.parser import parse
from tellwhen.lang.values import Interval

__all__ = ["Column", "Expr", "Interval", "coalesce", "col", "from_json", "function", "parse"]
