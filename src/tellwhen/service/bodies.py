"""Parsing of request bodies, and their description in OpenAPI.

Routes call this module instead of FastAPI, which is slower and gives shorter errors for bodies that are not valid JSON.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from tellwhen.index.subscriptions import Rejected
from tellwhen.service import models
from tellwhen.service.answers import check_expression_length
from tellwhen.service.errors import MalformedRequest, TooLarge
from tellwhen.service.settings import Limits

REPORTED_ERRORS_MAX = 3
"""Errors of a body that a message quotes; the others are counted."""
ID_CHARACTERS_MAX = 4_000
"""An id must fit into an address: 4,000 characters are up to 48,000 when %-encoded, and a head has at most 64 KiB."""
SUBSCRIPTIONS_PER_CHUNK = 500
"""Subscriptions that are validated at once. Between chunks, other threads can run."""

Model = TypeVar("Model", bound=BaseModel)
SUBSCRIPTION_LIST = TypeAdapter(list[models.Subscription])


def parse_body(raw: bytes, model: type[Model]) -> Model:
    """Parse a JSON body; raise `MalformedRequest` if it does not have the form of the model."""
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise MalformedRequest(format_errors(error.errors())) from None


class SubscriptionBatch(NamedTuple):
    """A parsed request to add many subscriptions: its valid rows and the malformed ones."""

    rows: list[list[Any]]
    """Valid rows, in the form that `changes.make_addition` takes."""
    replace: bool
    errors: str
    rejected: list[Rejected]
    """Malformed rows; empty unless `errors` is "quarantine"."""


def parse_batch(raw: bytes, limits: Limits) -> SubscriptionBatch:
    """Parse the body of a request that adds many subscriptions, in chunks."""
    try:
        content = from_json(raw)
    except ValueError as error:
        raise MalformedRequest(f"Invalid JSON: {error}") from None
    has_list = isinstance(content, dict) and isinstance(content.get("subscriptions"), list)
    items = content["subscriptions"] if has_list else []
    if len(items) > limits.subscriptions:
        raise TooLarge(f"a request has at most {limits.subscriptions:,} subscriptions; send several requests")
    try:
        request = models.AddManyRequest.model_validate({**content, "subscriptions": []} if has_list else content)
    except ValidationError as error:
        raise MalformedRequest(format_errors(error.errors())) from None
    batch = SubscriptionBatch([], request.replace, request.errors, [])
    for first in range(0, len(items), SUBSCRIPTIONS_PER_CHUNK):
        for fields in _validate_chunk(items[first : first + SUBSCRIPTIONS_PER_CHUNK], first, batch):
            try:
                batch.rows.append(build_row(fields, fields.id, limits))
            except (MalformedRequest, TooLarge) as error:
                if batch.errors == "raise":
                    raise
                batch.rejected.append(
                    Rejected(fields.id, None, None, str(error), fields.score, fields.weights, fields.payload)
                )
    return batch


def build_row(fields: models.SubscriptionFields, id_: Any, limits: Limits) -> list[Any]:
    """Return a subscription as a row of an addition; raise if its id or its expression is too long."""
    if isinstance(id_, str) and len(id_) > ID_CHARACTERS_MAX:
        raise MalformedRequest(
            f"an id has at most {ID_CHARACTERS_MAX:,} characters, not {len(id_):,}: it must fit into an address"
        )
    check_expression_length(fields.expression, limits)
    return [id_, fields.expression, fields.score, fields.weights, fields.payload]


def _validate_chunk(items: list[Any], first: int, batch: SubscriptionBatch) -> list[models.Subscription]:
    """Return the valid subscriptions of a chunk; add the others to the rejected ones of the batch, or raise.

    `first` is the position of the chunk in the request, for error messages.
    """
    try:
        return SUBSCRIPTION_LIST.validate_python(items)
    except ValidationError as error:
        if batch.errors == "raise":
            raise MalformedRequest(format_errors(error.errors(), first, "subscriptions")) from None
    valid = []
    for item in items:
        try:
            valid.append(models.Subscription.model_validate(item))
        except ValidationError as error:
            batch.rejected.append(Rejected.from_row(item, MalformedRequest(format_errors(error.errors()))))
    return valid


def format_errors(errors: Any, first: int = 0, *parents: str) -> str:
    """Return pydantic's errors as one line that says where each error is.

    For errors in a chunk of a list, `parents` are the names of the fields that contain the list, and `first` is the
    position of the chunk in it.
    """
    lines = []
    for error in errors[:REPORTED_ERRORS_MAX]:
        location = [part for part in error["loc"] if part != "body"]
        if parents and location:
            location = [*parents, first + location[0], *location[1:]]
        path = ".".join(map(str, location))
        lines.append(f"{path + ': ' if path else ''}{error['msg']}")
    if len(errors) > REPORTED_ERRORS_MAX:
        lines.append(f"and {len(errors) - REPORTED_ERRORS_MAX} more")
    return "; ".join(lines)


def describe_operation(tag: str, request: type[BaseModel], response: type[BaseModel]) -> dict[str, Any]:
    """Return the options of a route that parses its body itself, so that OpenAPI describes the body."""
    schema = request.model_json_schema()
    inlined = _inline_references(schema, schema.pop("$defs", {}))
    body = {"required": True, "content": {"application/json": {"schema": inlined}}}
    return {"tags": [tag], "openapi_extra": {"requestBody": body}, "response_model": response}


def _inline_references(schema: Any, definitions: dict[str, Any]) -> Any:
    """Replace references by the definitions that they point to.

    OpenAPI resolves references from the top of its document, where FastAPI does not put these definitions. No request
    body contains itself, so this ends.
    """
    if isinstance(schema, list):
        return [_inline_references(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_references(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inline_references(part, definitions) for name, part in schema.items()}
