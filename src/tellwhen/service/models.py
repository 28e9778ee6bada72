"""Bodies of requests and responses."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from tellwhen.errors import TellwhenError, abbreviate
from tellwhen.language import parse

Id = Annotated[
    StrictStr | Annotated[StrictInt, Field(ge=-(1 << 63) + 1, le=(1 << 63) - 1)],
    Field(description="A string, or an integer of 64 bits.", examples=["ann-1"]),
]
Expression = Annotated[
    str | dict[str, Any],
    Field(
        description="An expression, as text or in its JSON form.",
        examples=["price < 20 AND genre IN ('classics', 'poetry')"],
    ),
]
Event = Annotated[
    dict[str, Any],
    Field(description="Attributes with their values.", examples=[{"price": 12, "genre": "classics", "tags": ["used"]}]),
]
TEXT_CHARACTERS_MAX = 4_000
"""An event or a condition on payloads has at most 4,000 characters as text: it is parsed in the event loop."""


def _read_event(event: Any) -> Any:
    """Return the event that a conjunction of predicates describes; anything but text unchanged."""
    if not isinstance(event, str):
        return event
    if len(event) > TEXT_CHARACTERS_MAX:
        context = {"most": f"{TEXT_CHARACTERS_MAX:,}", "count": f"{len(event):,}"}
        raise PydanticCustomError("length", "an event has at most {most} characters as text, not {count}", context)
    try:
        return parse(event).to_event()
    except TellwhenError as error:
        raise PydanticCustomError("event", "{error}", {"error": str(error)}) from None


DescribedEvent = Annotated[
    dict[str, Any],
    BeforeValidator(_read_event, json_schema_input_type=dict[str, Any] | str),
    Field(
        description="Attributes with their values, or predicates joined by AND.",
        examples=[{"price": 12, "genre": "classics", "tags": ["used"]}, "price < 12 AND genre <> 'crime'"],
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _check_weights(weights: Any) -> Any:
    """Raise an error for the first weight that is not a finite number.

    Pydantic would describe every wrong weight: for a million of them, this takes a minute and gigabytes of memory.
    """
    for name, value in weights.items() if isinstance(weights, dict) else ():
        if not isinstance(value, int | float) or isinstance(value, bool) or not -inf < value < inf:
            context = {"name": abbreviate(name), "value": abbreviate(value)}
            raise PydanticCustomError("number", "the weight of {name} must be a finite number, not {value}", context)
    return weights


Weights = Annotated[dict[str, Finite], BeforeValidator(_check_weights)]


def _check_where(where: Any) -> Any:
    """Raise an error for anything but text and an object; pydantic would describe both kinds."""
    if where is not None and not isinstance(where, str | dict):
        raise PydanticCustomError(
            "where", "it must be an expression as text or an object, not {value}", {"value": abbreviate(where)}
        )
    if isinstance(where, str) and len(where) > TEXT_CHARACTERS_MAX:
        context = {"most": f"{TEXT_CHARACTERS_MAX:,}", "count": f"{len(where):,}"}
        raise PydanticCustomError("length", "an expression has at most {most} characters here, not {count}", context)
    return where


Where = Annotated[
    dict[str, Any] | Annotated[StrictStr, Field(max_length=TEXT_CHARACTERS_MAX)] | None,
    BeforeValidator(_check_where),
    Field(
        description="Only subscriptions whose payloads satisfy this expression, or have these values; a list stands "
        "for any of its values.",
        examples=[{"subscriber": "ann"}, "bid >= 2 AND subscriber <> 'eve'"],
    ),
]


class RequestBody(BaseModel):
    """A body without unknown fields: an unknown field is probably misspelt."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_field(cls, fields: Any) -> Any:
        """Raise an error for the first unknown field; pydantic would describe all of them, as with weights."""
        for name in fields if isinstance(fields, dict) else ():
            if name not in cls.model_fields:
                context = {"name": abbreviate(name), "fields": ", ".join(cls.model_fields)}
                raise PydanticCustomError("unknown", "unknown field {name}; the fields are {fields}", context)
        return fields


# subscriptions


class SubscriptionFields(RequestBody):
    """A subscription without its id."""

    expression: Expression
    score: Finite | None = Field(
        None, description="`POST /v1/top-k` returns the highest scores; 0 by default.", examples=[2.5]
    )
    weights: Weights | None = Field(None, description="Weights of attributes for relaxed ranking; 1 each by default.")
    payload: dict[str, Any] | None = Field(
        None,
        description="An object of your own; listeners can ask for the matches of its `subscriber`.",
        examples=[{"subscriber": "ann"}],
    )


class Subscription(SubscriptionFields):
    """A subscription with its id."""

    id: Id


class AddManyRequest(RequestBody):
    """Subscriptions to add."""

    subscriptions: Annotated[list[Subscription], FailFast()]
    replace: bool = Field(False, description="Replace existing subscriptions with the same ids.")
    errors: Literal["raise", "quarantine"] = Field(
        "raise", description="A faulty subscription rejects all (`raise`), or only itself (`quarantine`)."
    )


class RemoveManyRequest(RequestBody):
    """Ids of subscriptions to remove."""

    ids: Annotated[list[Id], FailFast()]
    missing: Literal["raise", "ignore"] = Field("raise", description="An unknown id is an error, or is ignored.")


class Score(RequestBody):
    """The new score of a subscription."""

    id: Id
    score: Finite


class SetScoresRequest(RequestBody):
    """Scores to set."""

    scores: Annotated[list[Score], FailFast()]
    missing: Literal["raise", "ignore"] = Field("raise", description="An unknown id is an error, or is ignored.")


class Rejection(BaseModel):
    """A rejected subscription with the reason. The other fields are those of the request."""

    id: Any
    expression: Any
    position: int | None = Field(description="Position of the error in the expression, in characters from 0.")
    reason: str
    score: Any = None
    weights: Any = None
    payload: Any = None


class AddManyResponse(BaseModel):
    """The number of added subscriptions, and those that were rejected."""

    accepted: int = Field(description="Number of subscriptions that were added or replaced others.")
    added: int = Field(description="Number of new subscriptions, without those that replaced others.")
    rejected: list[Rejection]


class RemoveResponse(BaseModel):
    """The number of removed subscriptions."""

    removed: int


class SetScoresResponse(BaseModel):
    """The number of subscriptions with new scores."""

    scored: int


class StoredSubscription(BaseModel):
    """A subscription of the index."""

    id: Id
    expression: str
    score: float | None = Field(description="null if the score is infinite, because JSON has no infinity.")
    weights: dict[str, float]
    payload: dict[str, Any]


class SubscriptionPage(BaseModel):
    """Some subscriptions, and the cursor of the next page."""

    subscriptions: list[StoredSubscription]
    next: str | None = Field(
        description="An opaque cursor: pass it as `start` to get the next page. null on the last page.",
        examples=["AQAAAAAAAAACAAAAAAAAAABgvxJ4"],
    )


# events


class PublishRequest(RequestBody):
    """An event to match."""

    event: DescribedEvent
    where: Where = None
    payload: bool = Field(False, description="Also return the payloads.")
    limit: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Return at most this number of matches; `count` has all."
    )


class PublishManyRequest(RequestBody):
    """Events to publish."""

    events: Annotated[list[Event], FailFast()]
    where: Where = None


class TopKRequest(RequestBody):
    """An event, and how to rank its matches."""

    event: DescribedEvent
    k: Annotated[int, Field(ge=1, le=10_000, description="Maximum number of matches.")] = 10
    relaxed: bool = Field(False, description="Rank by weights, also subscriptions that are true only in part.")
    weights: Weights | None = Field(
        None,
        description="Weights of the event's attributes, which multiply those of subscriptions. With weights, matches "
        "are ranked by the sum of the weights instead of by their scores.",
    )
    where: Where = None


class Match(BaseModel):
    """A matching subscription with its payload."""

    id: Id
    payload: dict[str, Any] | None = None


class PublishResponse(BaseModel):
    """The matches of an event, in the order in which subscriptions were added: ids, or ids with payloads."""

    count: int = Field(description="Number of all matches.")
    matches: list[Id | Match]
    truncated: bool = Field(
        description="Whether some matches are missing, because of `limit` or of the service's limit."
    )


class PublishManyResponse(BaseModel):
    """The ids of each event's matches."""

    count: int = Field(description="Number of matches of all events.")
    matches: list[list[Id]]


class RankedMatch(BaseModel):
    """A matching subscription with its score."""

    id: Id
    score: float | None = Field(description="null if the score is infinite, because JSON has no infinity.")


class TopKResponse(BaseModel):
    """The matches with the highest scores, the best first."""

    matches: list[RankedMatch]


# expressions


class ExplainRequest(RequestBody):
    """An event, and either the id of a subscription or an expression."""

    id: Id | None = None
    expression: Expression | None = None
    event: DescribedEvent


class ExplanationNode(BaseModel):
    """A part of an expression with its value for the event."""

    label: str
    value: bool | None = Field(description="null for undefined: the event lacks a value that this part needs.")
    note: str
    parts: list[ExplanationNode]


class ExplainResponse(BaseModel):
    """The value of an expression for an event, as a tree and as text."""

    value: bool | None = Field(description="null for undefined.")
    tree: ExplanationNode
    text: str


class ExpressionRequest(RequestBody):
    """An expression to check or to try."""

    expression: Expression


class ExpressionFault(BaseModel):
    """An error in an expression."""

    message: str
    position: int | None = Field(description="Position of the error in the expression, in characters from 0.")


class ValidateResponse(BaseModel):
    """The error of an expression, or hints at probable mistakes."""

    ok: bool
    error: ExpressionFault | None
    hints: list[str]
    attributes: list[str]
    text: str | None = Field(description="The expression as the service reads it.")


class DryRunResponse(BaseModel):
    """The number of recent events that the expression would have matched, with examples."""

    events: int = Field(description="Number of recent events that were tried.")
    matches: int
    examples: list[dict[str, Any]]


class ErrorResponse(BaseModel):
    """The body of every error."""

    error: str = Field(description="Name of the error's class.", examples=["ParseError"])
    message: str = Field(examples=["expected a constant or an attribute, found the end of the text"])
    position: int | None = Field(
        None, description="Position of the error in the expression, in characters from 0; null for other errors."
    )
