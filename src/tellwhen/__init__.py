"""Match events against millions of standing Boolean expressions.

>>> import tellwhen as tw
>>> index = tw.Index()
>>> _ = index.add("mall-42", "genre = 'classics' AND price BETWEEN 20 AND 40")
>>> index.match({"genre": "classics", "price": 26})
['mall-42']
"""

from typing import TYPE_CHECKING

from tellwhen.deprecation import alias_module_names
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
    MissingPackageError,
    MissingTextsError,
    ParseError,
    PayloadError,
    SchemaError,
    ScoreError,
    SparkSetupError,
    StateError,
    TellwhenError,
    UnknownId,
)
from tellwhen.index import Index
from tellwhen.index.subscriptions import Rejected, Subscription
from tellwhen.inspect.attribute_coverage import AttributeCoverage
from tellwhen.inspect.engine_description import EngineDescription, EnginePart
from tellwhen.inspect.inspection import Inspection
from tellwhen.inspect.predicate_costs import PredicateCost
from tellwhen.inspect.validation import Finding, ValidationReport, validate
from tellwhen.language import Column, Expr, Interval, coalesce, col, from_json, function, parse
from tellwhen.language.ast import Predicate
from tellwhen.language.explanation import Explanation
from tellwhen.language.schema import Schema
from tellwhen.persistence.directory import read_note
from tellwhen.profile import HistogramBucket, Profile, SharingLevel

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "AttributeCoverage",
    "BudgetError",
    "Column",
    "ConflictError",
    "DuplicateId",
    "EngineDescription",
    "EngineError",
    "EngineInfo",
    "EnginePart",
    "EventError",
    "Explanation",
    "Expr",
    "ExpressionError",
    "Finding",
    "FormatError",
    "HistogramBucket",
    "IdError",
    "Index",
    "Inspection",
    "Interval",
    "LimitError",
    "MissingPackageError",
    "MissingTextsError",
    "Option",
    "ParseError",
    "PayloadError",
    "Predicate",
    "PredicateCost",
    "Profile",
    "Rejected",
    "Schema",
    "SchemaError",
    "ScoreError",
    "SharingLevel",
    "SparkSetupError",
    "StateError",
    "Subscription",
    "TellwhenError",
    "UnknownId",
    "ValidationReport",
    "coalesce",
    "col",
    "from_json",
    "function",
    "list_engines",
    "parse",
    "read_note",
    "validate",
]

if not TYPE_CHECKING:  # with a module __getattr__, a type checker would accept every name
    __getattr__ = alias_module_names(
        __name__, {"Report": "tellwhen.ValidationReport", "saved_note": "tellwhen.read_note"}
    )
