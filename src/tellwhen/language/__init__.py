"""The expression language: text, JSON or Python -> Expr -> its value on an event.

text ──parser──┐
JSON ──json────┼──> ast.Expr ──evaluation──> True / False / None (the oracle)
col() ─column──┘        └──formatting──> text, ──json──> JSON, ──explanation──> a tree with the value of every node
                       └──event_expressions──> an event
"""

from tellwhen.language.ast import Expr
from tellwhen.language.column import Column, coalesce, col
from tellwhen.language.json import from_json
from tellwhen.language.parser import parse
from tellwhen.language.user_functions import function
from tellwhen.language.values import Interval

__all__ = ["Column", "Expr", "Interval", "coalesce", "col", "from_json", "function", "parse"]
