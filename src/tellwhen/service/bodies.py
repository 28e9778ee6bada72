"""How is a body read, and described? FastAPI would read it slower, and say less of what cannot be decoded."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from tellwhen.index.subscriptions import Rejected
from tellwhen.service import models
from tellwhen.service.answers import checked_expression
from tellwhen.service.errors import MalformedRequest, TooLarge
from tellwhen.service.settings import Limits

TOLD_MAX = 3
ID_MAX = 4_000
"""Characters of an id; %-encoded they may be twelve times as many, and the head of a request has 64 KiB."""
PIECE = 500
"""Subscriptions that are read without a break: other threads wait meanwhile."""

Asked = TypeVar("Asked", bound=BaseModel)
SOME = TypeAdapter(list[models.Subscription])


def read(raw: bytes, model: type[Asked]) -> Asked:
    """A body as its model has it."""
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise MalformedRequest(told(error.errors())) from None


class Batch(NamedTuple):
    """Subscriptions to be added."""

    rows: list[list[Any]]
    """As `changes.make_addition` takes them."""
    replace: bool
    errors: str
    rejected: list[Rejected]
    """Those that are none, in quarantine."""


def read_batch(raw: bytes, limits: Limits) -> Batch:
    """Many subscriptions, in pieces."""
    try:
        given = from_json(raw)
    except ValueError as error:
        raise MalformedRequest(f"Invalid JSON: {error}") from None
    is_list = isinstance(given, dict) and isinstance(given.get("subscriptions"), list)
    found = given["subscriptions"] if is_list else []
    if len(found) > limits.subscriptions:
        raise TooLarge(f"a request has at most {limits.subscriptions:,} subscriptions; send several")
    try:
        asked = models.AddMany.model_validate({**given, "subscriptions": []} if is_list else given)
    except ValidationError as error:
        raise MalformedRequest(told(error.errors())) from None
    batch = Batch([], asked.replace, asked.errors, [])
    for first in range(0, len(found), PIECE):
        for one in _read_piece(found[first : first + PIECE], first, batch):
            try:
                batch.rows.append(row(one, one.id, limits))
            except (MalformedRequest, TooLarge) as error:
                if batch.errors == "raise":
                    raise
                batch.rejected.append(Rejected(one.id, None, None, str(error), one.score, one.weights, one.payload))
    return batch


def row(given: models.Given, id_: Any, limits: Limits) -> list[Any]:
    """A subscription as an index takes it, its id and its expression of limited size."""
    if isinstance(id_, str) and len(id_) > ID_MAX:
        raise MalformedRequest(
            f"an id has at most {ID_MAX:,} characters, not {len(id_):,}: it must fit into an address"
        )
    checked_expression(given.expression, limits)
    return [id_, given.expression, given.score, given.weights, given.payload]


def _read_piece(piece: list[Any], first: int, batch: Batch) -> list[models.Subscription]:
    try:
        return SOME.validate_python(piece)
    except ValidationError as error:
        if batch.errors == "raise":
            raise MalformedRequest(told(error.errors(), first, "subscriptions")) from None
    good = []
    for one in piece:
        try:
            good.append(models.Subscription.model_validate(one))
        except ValidationError as error:
            batch.rejected.append(Rejected.from_row(one, MalformedRequest(told(error.errors()))))
    return good


def told(errors: Any, first: int = 0, *inside: str) -> str:
    """What is wrong with a request, and where. If it was read in pieces, the number of the first one, and what it is
    inside of."""
    said = []
    for error in errors[:TOLD_MAX]:
        place = [part for part in error["loc"] if part != "body"]
        if inside and place:
            place = [*inside, first + place[0], *place[1:]]
        where = ".".join(map(str, place))
        said.append(f"{where + ': ' if where else ''}{error['msg']}")
    more = [f"and {len(errors) - TOLD_MAX} more"] if len(errors) > TOLD_MAX else []
    return "; ".join(said + more)


def described(tag: str, asked: type[BaseModel], answer: type[BaseModel]) -> dict[str, Any]:
    """What the documentation says of a path whose body is read here."""
    schema = asked.model_json_schema()
    whole = _inlined(schema, schema.pop("$defs", {}))
    body = {"required": True, "content": {"application/json": {"schema": whole}}}
    return {"tags": [tag], "openapi_extra": {"requestBody": body}, "response_model": answer}


def _inlined(schema: Any, named: dict[str, Any]) -> Any:
    """A schema without references: these would lead outside of it. (No body holds itself.)"""
    if isinstance(schema, list):
        return [_inlined(part, named) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(named[schema["$ref"].rpartition("/")[2]], named)
    return {name: _inlined(part, named) for name, part in schema.items()}
