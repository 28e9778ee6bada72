"""What is sent and answered? The bodies of the API, with examples."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from tellwhen.errors import abbreviate

Id = Annotated[
    StrictStr | Annotated[StrictInt, Field(ge=-(1 << 63) + 1, le=(1 << 63) - 1)],
    Field(description="A string, or an integer of 64 bits.", examples=["ann-1"]),
]
Expression = Annotated[
    str | dict[str, Any],
    Field(
        description="In the language of subscriptions, or its JSON form.",
        examples=["price < 20 AND genre IN ('classics', 'poetry')"],
    ),
]
Event = Annotated[dict[str, Any], Field(examples=[{"price": 12, "genre": "classics", "tags": ["used"]}])]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _numbers(given: Any) -> Any:
    """Ends at the first that is none: to describe a million errors takes a minute, and a few gigabytes."""
    for name, value in given.items() if isinstance(given, dict) else ():
        if not isinstance(value, int | float) or isinstance(value, bool) or not -inf < value < inf:
            told = {"name": abbreviate(name), "value": abbreviate(value)}
            raise PydanticCustomError("number", "{name} is weighed by a number, not by {value}", told)
    return given


Weights = Annotated[dict[str, Finite], BeforeValidator(_numbers)]
Where = Annotated[
    dict[str, Any] | None,
    Field(description="Only subscriptions whose payloads have these values.", examples=[{"subscriber": "ann"}]),
]


class Body(BaseModel):
    """A name that is not known is an error: it is probably misspelt."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        """Ends at the first: as above."""
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                told = {"name": abbreviate(name), "there": ", ".join(cls.model_fields)}
                raise PydanticCustomError("unknown", "there is no {name} here, but {there}", told)
        return given


# subscriptions


class Given(Body):
    """What a subscription says, without its id."""

    expression: Expression
    score: Finite | None = Field(None, description="What it is worth: `top-k` takes the highest.", examples=[2.5])
    weights: Weights | None = Field(None, description="Of its attributes, for relaxed ranking.")
    payload: dict[str, Any] | None = Field(
        None,
        description="JSON of your own; `subscriber` in it says who hears of matches.",
        examples=[{"subscriber": "ann"}],
    )


class Subscription(Given):
    id: Id


class AddMany(Body):
    subscriptions: Annotated[list[Subscription], FailFast()]
    replace: bool = Field(False, description="Replace those whose ids are taken.")
    errors: Literal["raise", "quarantine"] = Field(
        "raise", description="One faulty subscription refuses all, or only itself."
    )


class RemoveMany(Body):
    ids: Annotated[list[Id], FailFast()]
    missing: Literal["raise", "ignore"] = "raise"


class Score(Body):
    id: Id
    score: Finite


class SetScores(Body):
    scores: Annotated[list[Score], FailFast()]
    missing: Literal["raise", "ignore"] = "raise"


class Rejection(BaseModel):
    """A row that is faulty, with all that it had."""

    id: Any
    expression: Any
    position: int | None
    reason: str
    score: Any = None
    weights: Any = None
    payload: Any = None


class Added(BaseModel):
    accepted: int
    added: int = Field(description="How many more there are now: those that replaced others are not counted.")
    rejected: list[Rejection]


class Removed(BaseModel):
    removed: int


class Scored(BaseModel):
    scored: int


class Shown(BaseModel):
    """A subscription, as it is kept."""

    id: Id
    expression: str
    score: float | None
    weights: dict[str, float]
    payload: dict[str, Any]


class Page(BaseModel):
    subscriptions: list[Shown]
    next: str | None = Field(
        description="An opaque cursor: pass it as `start` to get the next page. None on the last page.",
        examples=["AQAAAAAAAAACAAAAAAAAAABgvxJ4"],
    )


# events


class Publish(Body):
    event: Event
    where: Where = None
    payload: bool = Field(False, description="Also return the payloads.")
    limit: Annotated[int, Field(ge=0)] | None = Field(None, description="At most so many ids; all are counted.")


class PublishMany(Body):
    events: Annotated[list[Event], FailFast()]
    where: Where = None


class TopK(Body):
    event: Event
    k: Annotated[int, Field(ge=1, le=10_000)] = 10
    relaxed: bool = Field(False, description="Not all of a subscription need be true.")
    weights: Weights | None = None
    where: Where = None


class Match(BaseModel):
    id: Id
    payload: dict[str, Any] | None = None


class Matches(BaseModel):
    """`matches` are ids, or objects of an id and its payload, in the order they were added."""

    count: int
    matches: list[Id | Match]
    truncated: bool = Field(description="Are there more matches than are shown?")


class ManyMatches(BaseModel):
    """For each event, the ids that it matches."""

    count: int
    matches: list[list[Id]]


class Ranked(BaseModel):
    id: Id
    score: float | None = Field(description="null if it is infinite, which JSON cannot say.")


class BestMatches(BaseModel):
    matches: list[Ranked]


# asking


class Explain(Body):
    """Of a subscription by its id, or of any expression."""

    id: Id | None = None
    expression: Expression | None = None
    event: Event


class Reason(BaseModel):
    label: str
    value: bool | None = Field(description="null is undefined: something that it asks for is missing.")
    note: str
    parts: list[Reason]


class Explained(BaseModel):
    value: bool | None
    tree: Reason
    text: str


class Validate(Body):
    expression: Expression


class ErrorAt(BaseModel):
    message: str
    position: int | None


class Validated(BaseModel):
    ok: bool
    error: ErrorAt | None
    hints: list[str]
    attributes: list[str]
    text: str | None = Field(description="As it is understood.")


class DryRun(BaseModel):
    """How many of the events that were published last would have matched."""

    events: int
    matches: int
    examples: list[dict[str, Any]]


class Refusal(BaseModel):
    """Every error."""

    error: str = Field(examples=["ParseError"])
    message: str = Field(examples=["expected a constant or an attribute, found the end of the text"])
    position: int | None = None
