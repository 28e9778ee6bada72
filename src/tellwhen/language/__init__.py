"""Text, JSON or Python -> Expr -> its meaning.

text ──parse──┐
JSON ──json───┼──> ast.Expr ──evaluate──> True / False / None (the oracle)
col() ─column─┘        └──format──> text, ──json──> JSON, ──explain──> a tree with the value of every node
"""

from tellwhen.language.ast import Expr
from tellwhen.language.column import Column, coalesce, col
from tellwhen.language.json import from_json
from tellwhen.language.parser import parse
from tellwhen.language.user_functions import function
from tellwhen.language.values import Interval

__all__ = ["Column", "Expr", "Interval", "coalesce", "col", "from_json", "function", "parse"]
