"""`tellwhen match`, `top-k`, `explain` and `inspect`: questions to an index."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

import tellwhen as tw
from tellwhen.cli.console_output import command, fail, json_line, out, progress, told
from tellwhen.cli.input_files import Some, format_of
from tellwhen.cli.input_files import events as read_events
from tellwhen.cli.options import JsonOption, SparkOption
from tellwhen.cli.output_files import refuse_same, rejected, write
from tellwhen.errors import pluralize
from tellwhen.index.ids import Id
from tellwhen.index.subscriptions import Rejected
from tellwhen.kernels.arrays import I64
from tellwhen.language.literals import IS_NAME

IndexPath = Annotated[Path, typer.Argument(help="The directory of an index.")]
Events = Annotated[
    str, typer.Argument(help="A file of events: JSON lines, CSV, Parquet or Arrow; - is the standard input.")
]
Output = Annotated[str, typer.Option("--output", "-o", help="A file for the result; - is the standard output.")]
FormatOption = Annotated[str | None, typer.Option("--format", help="Of the events, if the name does not tell.")]
OutFormat = Annotated[str | None, typer.Option("--output-format", help="jsonl, csv, parquet or arrow.")]
EventId = Annotated[
    str | None,
    typer.Option(
        "--event-id", help="The attribute that events are called by; else the number of their line or row, from 0 on."
    ),
]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="name=value of the payloads; values are JSON, or text.")
]
EventQuarantine = Annotated[
    str | None,
    typer.Option(
        "--quarantine", help="A file for lines that are no event, or have no id; without it, one is an error."
    ),
]
ATTRIBUTES_SHOWN, PREDICATES_SHOWN = 40, 10


def _where(given: list[str] | None) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for one in given or ():
        name, sign, text = one.partition("=")
        if not sign:
            fail(f"--where takes name=value, not {one}")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()} or None


def _tell(index: tw.Index, total: int, found: str) -> None:
    told.print(f"{pluralize(total, 'event')}, {found}", soft_wrap=True)
    stats = index.inspect.get_stats()
    types = index.inspect.get_attributes()
    lines = [
        f"{name}: {pluralize(wrong, 'value')} of a wrong type{TIME_HINT if types[name] == 'time' else ''}"
        if name in types
        else f"{name} has no value in {pluralize(wrong, 'event')}: a part is of a wrong type, or there is no result"
        for name, wrong in stats["mismatches"].items()
    ]
    _some(lines)
    near = [
        f"no event that was looked at has {name}{f'; did you mean {other}?' if other else ''}"
        for name, other in stats["unseen"].items()
    ]
    _some(sorted(near, key=lambda line: "mean" not in line))


TIME_HINT = "; text is read as a time where the --schema of the index declares a date or a timestamp"
LINES_SHOWN = 5


def _some(lines: list[str]) -> None:
    for line in lines[:LINES_SHOWN]:
        told.print(line, soft_wrap=True, markup=False)
    if len(lines) > LINES_SHOWN:
        told.print(f"... and {len(lines) - LINES_SHOWN:,} more")


def _exact(index: tw.Index, event_id: str | None) -> set[str]:
    """Columns whose integers must stay integers beside fractions: 1 is not written like 1.0."""
    return {name.partition(".")[0] for name in index.inspect.get_computation_inputs() | {event_id or ""}}


class _Reading:
    """Goes through the events of a file, and counts them; faulty ones go to the quarantine, if there is one."""

    def __init__(self, path: str, form: str | None, quarantine: str | None, exact: set[str], named: str | None) -> None:
        self._path, self._form, self._quarantine, self._exact, self._named = path, form, quarantine, exact, named
        self._faults: list[Rejected] | None = None if quarantine is None else []
        self.total = 0
        if quarantine is not None:
            format_of(quarantine, None, "--output-format")

    def __iter__(self) -> Iterator[Some]:
        with progress("events") as doing:
            for some in read_events(self._path, self._form, self._faults, self._exact, self._named):
                yield some
                self.total += len(some.events)
                doing.advance(len(some.events))
        if self._quarantine is not None and self._faults is not None:
            write([rejected(self._faults)], self._quarantine)
            told.print(f"{pluralize(len(self._faults), 'faulty event')} in {self._quarantine}", soft_wrap=True)

    def answered(self, tables: Callable[[Any], Iterable[pa.Table]]) -> Iterator[pa.RecordBatch]:
        """What is found, in batches: at least one, which may be empty, since a file has columns without rows, too."""
        schema: pa.Schema | None = None
        is_empty = True
        for some in self:
            for table in tables(some.events):
                for batch in (table if self._named else _numbered(table, some.numbers)).to_batches():
                    # Text may be of two types of Arrow, by the form of the events.
                    schema = batch.schema if is_empty else schema
                    is_empty = False
                    yield batch if batch.schema == schema else batch.cast(schema)
                schema = table.schema if is_empty else schema
        if is_empty:
            yield pa.RecordBatch.from_pylist([], schema or next(iter(tables([]))).schema)


def _numbered(table: pa.Table, numbers: I64) -> pa.Table:
    """Event ids that are positions become those in the file."""
    return table.set_column(0, "event_id", pa.array(numbers[table["event_id"].to_numpy()]))


@command
def match(
    index: IndexPath,
    events: Events,
    output: Output = "-",
    event_id: EventId = None,
    where: Where = None,
    payload: Annotated[list[str] | None, typer.Option(help="A name in the payloads that becomes a column.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Only how many subscriptions each event matches.")] = False,
    form: FormatOption = None,
    output_format: OutFormat = None,
    quarantine: EventQuarantine = None,
    spark: SparkOption = None,
) -> None:
    """Which subscriptions does each event satisfy? Rows of event_id and subscription_id.

    Example: tellwhen match index events.jsonl -o matches.parquet
    """
    if count and payload:
        fail("--count gives numbers, and no --payload")
    if spark is not None:
        if where or payload or count or quarantine:
            fail("not for --spark: --where, --payload, --count, --quarantine; join its matches with your own table")
        from tellwhen.cli.spark_commands import EventsFile, Target, match_on_spark

        match_on_spark(spark, index, EventsFile(events, form, event_id), Target(output, output_format))
        return
    refuse_same(output, events)
    refuse_same(quarantine, events, output)
    opened, wanted = tw.Index.load(index), _where(where)
    reading = _Reading(events, form, quarantine, _exact(opened, event_id), event_id)

    def tables(some: Any) -> Iterator[pa.Table]:
        if count:
            yield opened.count_many(some, event_id=event_id, where=wanted)
            return
        for batch in opened.match_batches(some, event_id=event_id, where=wanted, payload=payload or False):
            yield pa.Table.from_batches([batch])

    rows = write(reading.answered(tables), output, output_format)
    _tell(opened, reading.total, pluralize(rows, "count") if count else pluralize(rows, "match", "matches"))


@command
def top_k(
    index: IndexPath,
    events: Events,
    k: Annotated[int, typer.Option("-k", help="How many of each event.")] = 10,
    relaxed: Annotated[bool, typer.Option(help="Not all of an expression need be true: what is, counts.")] = False,
    output: Output = "-",
    event_id: EventId = None,
    where: Where = None,
    form: FormatOption = None,
    output_format: OutFormat = None,
    quarantine: EventQuarantine = None,
    spark: SparkOption = None,
) -> None:
    """The best k subscriptions of each event: rows of event_id, rank, subscription_id and score.

    Example: tellwhen top-k index events.jsonl -k 5
    """
    if spark is not None:
        if where or quarantine:
            fail("--where and --quarantine are not for --spark: join its answers with your own table")
        from tellwhen.cli.spark_commands import EventsFile, Target, top_k_on_spark

        top_k_on_spark(spark, index, EventsFile(events, form, event_id), Target(output, output_format), k, relaxed)
        return
    refuse_same(output, events)
    refuse_same(quarantine, events, output)
    opened, wanted = tw.Index.load(index), _where(where)
    reading = _Reading(events, form, quarantine, _exact(opened, event_id), event_id)

    def tables(some: Any) -> list[pa.Table]:
        return [opened.top_k_many(some, k, relaxed=relaxed, event_id=event_id, where=wanted)]

    rows = write(reading.answered(tables), output, output_format)
    _tell(opened, reading.total, pluralize(rows, "row"))


def one_event(text: str) -> dict[str, Any]:
    """An event that is given as JSON, in a file (@name), or on the standard input (-)."""
    if text == "-":
        text = sys.stdin.read() if sys.stdin is not None else ""
    elif text.startswith("@"):
        text = Path(text[1:]).read_text(encoding="utf-8", errors="replace")
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        is_file = len(text) < 256 and Path(text).is_file()
        fail(f"{text} is a file: write @{text}" if is_file else f"an event is a JSON object, @file or -: {error}")
    if not isinstance(event, dict):
        fail(f"an event is a JSON object, not {text[:60]}")
    return event


def known_id(index: tw.Index, text: str) -> Id:
    """An id of the index as it is given on the command line: a string, or else an integer."""
    if text in index:
        return text
    number = int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
    return number if number is not None and number in index else text


@command
def explain(
    index: IndexPath,
    id: Annotated[str, typer.Argument(help="The id of a subscription.")],
    event: Annotated[str, typer.Argument(help="An event: JSON, @file, or - for the standard input.")],
    as_json: JsonOption = False,
) -> None:
    """Why does a subscription match an event, or why not?

    Example: tellwhen explain index cheap '{"price": 12}'
    """
    opened = tw.Index.load(index)
    found = opened.explain(known_id(opened, id), one_event(event))
    if as_json:
        json_line(_as_json(found))
    else:
        out.print(str(found), markup=False, soft_wrap=True)


def _as_json(explanation: Any) -> dict[str, Any]:
    parts = [_as_json(part) for part in explanation.parts]
    return {
        "expression": str(explanation.expression),
        "value": explanation.value,
        "note": explanation.note,
        "parts": parts,
    }


PLAN_KEYS = (
    "engine", "subscriptions", "parts", "bands", "over_budget", "always", "expected", "observed", "matched",
    "is_counted", "computed", "is_held_up",
)  # fmt: skip
"""JSON keys of the fields of an `EngineDescription`, in their order."""


@command
def inspect(
    index: IndexPath,
    as_json: JsonOption = False,
    schema: Annotated[bool, typer.Option("--schema", help="Only the declared types, as --schema takes them.")] = False,
) -> None:
    """What is in an index: sizes, attributes, the heaviest predicates, and how the engine finds its subscriptions.

    Example: tellwhen inspect index
    """
    opened = tw.Index.load(index)
    if schema:
        json_line(opened.schema.types)
        return
    stats, engine, types = opened.inspect.get_stats(), opened.inspect.describe_engine(), opened.inspect.get_types()
    heavy = opened.inspect.find_costly_predicates(PREDICATES_SHOWN)
    if as_json:
        asked = [one._asdict() for one in heavy]
        plan = dict(zip(PLAN_KEYS, engine, strict=True))
        json_line({"stats": stats, "types": types, "heaviest": asked, "plan": plan})
        return
    out.print(f"{pluralize(len(opened), 'subscription')}, engine {stats['engine']}")
    sizes = Table("", "", show_header=False)
    for name, value in stats["bytes"].items():
        sizes.add_row(name, f"{value / 1e6:,.1f} MB" if value >= 1e6 else f"{value / 1e3:,.1f} KB")
    for name in ("attributes", "domains", "predicates"):
        sizes.add_row(name, f"{stats[name]:,}")
    out.print(sizes)
    table = Table("attribute", "type")
    given = {name: kind for name, kind in types.items() if IS_NAME(name)}
    for name, kind in list(given.items())[:ATTRIBUTES_SHOWN]:
        table.add_row(escape(name), kind)
    out.print(table)
    more = len(given) - ATTRIBUTES_SHOWN, len(types) - len(given)
    for count, what in zip(more, ("more", "that are computed, or written in quotes"), strict=True):
        if count > 0:
            out.print(f"... and {count:,} {what}")
    predicates = Table("heaviest predicates", "subscriptions", "events")
    predicates.columns[1].justify = predicates.columns[2].justify = "right"
    for predicate, count, share in heavy:
        predicates.add_row(escape(predicate), f"{count:,}", "" if share is None else f"{share:.1%}")
    out.print(predicates)
    out.print(str(engine), markup=False, soft_wrap=True)
