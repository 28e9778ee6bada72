"""Match events against millions of standing Boolean expressions.

>>> import tellwhen as tw
>>> index = tw.Index()
>>> _ = index.add("mall-42", "genre = 'classics' AND price BETWEEN 20 AND 40")
>>> index.match({"genre": "classics", "price": 26})
['mall-42']
"""

from tellwhen.engines import EngineInfo, Option, list_engines
from tellwhen.errors import (
    ArgumentError,
    BudgetError,
    ConflictError,
    DuplicateId,
    EngineError,
    EventError,
    ExpressionError,
    FormatError,
    IdError,
    LimitError,
    ParseError,
    PayloadError,
    SchemaError,
    ScoreError,
    TellwhenError,
    UnknownId,
)
from tellwhen.index import Index
from tellwhen.index.subscriptions import Rejected
from tellwhen.inspect.validation import Report, validate
from tellwhen.language import Column, Expr, Interval, coalesce, col, from_json, function, parse
from tellwhen.language.schema import Schema
from tellwhen.persistence.directory import saved_note
from tellwhen.profile import Profile

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BudgetError",
    "Column",
    "ConflictError",
    "DuplicateId",
    "EngineError",
    "EngineInfo",
    "EventError",
    "Expr",
    "ExpressionError",
    "FormatError",
    "IdError",
    "Index",
    "Interval",
    "LimitError",
    "Option",
    "ParseError",
    "PayloadError",
    "Profile",
    "Rejected",
    "Report",
    "Schema",
    "SchemaError",
    "ScoreError",
    "TellwhenError",
    "UnknownId",
    "coalesce",
    "col",
    "from_json",
    "function",
    "list_engines",
    "parse",
    "saved_note",
    "validate",
]
