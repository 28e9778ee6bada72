"""The commands that read an index: `match`, `top-k`, `explain` and `inspect`."""

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
from tellwhen.cli.console_output import command, err, fail, out, print_json, show_progress
from tellwhen.cli.event_files import EventBatch, read_events
from tellwhen.cli.file_formats import detect_format
from tellwhen.cli.options import JsonOption, SparkOption
from tellwhen.cli.output_files import require_separate_output, to_batch, write_batches
from tellwhen.errors import pluralize
from tellwhen.index.ids import Id
from tellwhen.index.subscriptions import Rejected
from tellwhen.inspect.attribute_coverage import describe_count
from tellwhen.kernels.arrays import I64
from tellwhen.language.literals import is_plain_name

IndexPath = Annotated[Path, typer.Argument(help="The directory of an index.")]
Events = Annotated[
    str, typer.Argument(help="A file of events: JSON lines, CSV, Parquet or Arrow; - is the standard input.")
]
Output = Annotated[str, typer.Option("--output", "-o", help="A file for the result; - is the standard output.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the events, if the file name does not tell it.")
]
OutFormat = Annotated[str | None, typer.Option("--output-format", help="jsonl, csv, parquet or arrow.")]
EventId = Annotated[
    str | None,
    typer.Option(
        "--event-id", help="Attribute with the ids of events; without it, an id is the number of a line or row, from 0."
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Select subscriptions whose payload has name=value; the value is JSON or text."),
]
EventQuarantine = Annotated[
    str | None,
    typer.Option(
        "--quarantine", help="A file for lines that are not events or have no id; without it, such a line is an error."
    ),
]
ATTRIBUTES_SHOWN, PREDICATES_SHOWN = 40, 10


def _parse_where(conditions: list[str] | None) -> dict[str, Any] | None:
    """Return the payload values of `name=value` conditions, with a list for a name that comes several times."""
    values_by_name: dict[str, Any] = {}
    for condition in conditions or ():
        name, sign, text = condition.partition("=")
        if not sign:
            fail(f"--where takes name=value, not {condition}")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        values_by_name.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in values_by_name.items()} or None


def _print_summary(index: tw.Index, events: int, results: str) -> None:
    """Print how many events were read, the results, values of a wrong type, and attributes that no event has."""
    err.print(f"{pluralize(events, 'event')}, {results}", soft_wrap=True)
    stats = index.inspect.get_stats()
    types = index.inspect.get_attributes()
    lines = [
        describe_count(name, wrong, name not in types) + (TIME_HINT if types.get(name) == "time" else "")
        for name, wrong in stats["mismatches"].items()
    ]
    _print_first(lines)
    missing = [
        f"no sampled event has the attribute {name}{f'; did you mean {other}?' if other else ''}"
        for name, other in stats["unseen"].items()
    ]
    _print_first(sorted(missing, key=lambda line: "mean" not in line))


TIME_HINT = "; text is read as a time where the --schema of the index declares a date or a timestamp"
LINES_SHOWN = 5


def _print_first(lines: list[str]) -> None:
    for line in lines[:LINES_SHOWN]:
        err.print(line, soft_wrap=True, markup=False)
    if len(lines) > LINES_SHOWN:
        err.print(f"... and {len(lines) - LINES_SHOWN:,} more")


def _find_exact_columns(index: tw.Index, event_id: str | None) -> set[str]:
    """Return the columns whose integers must stay integers beside fractions, because 1 is not written like 1.0."""
    return {name.partition(".")[0] for name in index.inspect.get_computation_inputs() | {event_id or ""}}


class _EventReader:
    """Reader of a file of events that counts events and writes faulty lines to the quarantine file."""

    def __init__(
        self, path: str, format_name: str | None, quarantine: str | None, exact_names: set[str], id_name: str | None
    ) -> None:
        self._path, self._format_name, self._quarantine = path, format_name, quarantine
        self._exact_names, self._id_name = exact_names, id_name
        self._faults: list[Rejected] | None = None if quarantine is None else []
        self.total = 0
        if quarantine is not None:
            detect_format(quarantine, None, "--output-format")

    def __iter__(self) -> Iterator[EventBatch]:
        with show_progress("events") as line:
            for batch in read_events(self._path, self._format_name, self._faults, self._exact_names, self._id_name):
                yield batch
                self.total += len(batch.events)
                line.advance(len(batch.events))
        if self._quarantine is not None and self._faults is not None:
            write_batches([to_batch(self._faults)], self._quarantine)
            err.print(f"{pluralize(len(self._faults), 'faulty event')} in {self._quarantine}", soft_wrap=True)

    def compute_results(self, compute: Callable[[Any], Iterable[pa.Table]]) -> Iterator[pa.RecordBatch]:
        """Yield the tables that `compute` returns for each batch of events, as batches of one schema.

        At least one batch is yielded, because the result file has columns even without rows.
        """
        schema: pa.Schema | None = None
        is_empty = True
        for events in self:
            for table in compute(events.events):
                for batch in (table if self._id_name else _replace_positions(table, events.numbers)).to_batches():
                    # Arrow has two types of text; which one it is depends on the form of the events.
                    schema = batch.schema if is_empty else schema
                    is_empty = False
                    yield batch if batch.schema == schema else batch.cast(schema)
                schema = table.schema if is_empty else schema
        if is_empty:
            yield pa.RecordBatch.from_pylist([], schema or next(iter(compute([]))).schema)


def _replace_positions(table: pa.Table, numbers: I64) -> pa.Table:
    """Replace event ids that are positions in a batch by line or row numbers of the file."""
    return table.set_column(0, "event_id", pa.array(numbers[table["event_id"].to_numpy()]))


@command
def match(
    index: IndexPath,
    events: Events,
    output: Output = "-",
    event_id: EventId = None,
    where: Where = None,
    payload: Annotated[list[str] | None, typer.Option(help="Name in the payloads to write as a column.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Write only the number of matches of each event.")] = False,
    format_name: FormatOption = None,
    output_format: OutFormat = None,
    quarantine: EventQuarantine = None,
    spark: SparkOption = None,
) -> None:
    """Find the subscriptions that each event satisfies: rows of event_id and subscription_id.

    Example: tellwhen match index events.jsonl -o matches.parquet
    """
    if count and payload:
        fail("--count and --payload exclude each other")
    if spark is not None:
        if where or payload or count or quarantine:
            fail("--spark takes no --where, --payload, --count and --quarantine; join its matches with your own table")
        from tellwhen.cli.spark_commands import EventsFile, Target, match_on_spark

        match_on_spark(spark, index, EventsFile(events, format_name, event_id), Target(output, output_format))
        return
    require_separate_output(output, events)
    require_separate_output(quarantine, events, output)
    opened, conditions = tw.Index.load(index), _parse_where(where)
    reader = _EventReader(events, format_name, quarantine, _find_exact_columns(opened, event_id), event_id)

    def compute(batch: Any) -> Iterator[pa.Table]:
        if count:
            yield opened.count_many(batch, event_id=event_id, where=conditions)
            return
        for matches in opened.match_batches(batch, event_id=event_id, where=conditions, payload=payload or False):
            yield pa.Table.from_batches([matches])

    rows = write_batches(reader.compute_results(compute), output, output_format)
    _print_summary(opened, reader.total, pluralize(rows, "count") if count else pluralize(rows, "match", "matches"))


@command
def top_k(
    index: IndexPath,
    events: Events,
    k: Annotated[int, typer.Option("-k", help="Number of subscriptions for each event.")] = 10,
    relaxed: Annotated[
        bool, typer.Option(help="Also rank partly true subscriptions, scored by their true parts.")
    ] = False,
    output: Output = "-",
    event_id: EventId = None,
    where: Where = None,
    format_name: FormatOption = None,
    output_format: OutFormat = None,
    quarantine: EventQuarantine = None,
    spark: SparkOption = None,
) -> None:
    """Find the best k subscriptions of each event: rows of event_id, rank, subscription_id and score.

    Example: tellwhen top-k index events.jsonl -k 5
    """
    if spark is not None:
        if where or quarantine:
            fail("--spark takes no --where and --quarantine; join its rows with your own table")
        from tellwhen.cli.spark_commands import EventsFile, Target, top_k_on_spark

        top_k_on_spark(
            spark, index, EventsFile(events, format_name, event_id), Target(output, output_format), k, relaxed
        )
        return
    require_separate_output(output, events)
    require_separate_output(quarantine, events, output)
    opened, conditions = tw.Index.load(index), _parse_where(where)
    reader = _EventReader(events, format_name, quarantine, _find_exact_columns(opened, event_id), event_id)

    def compute(batch: Any) -> list[pa.Table]:
        return [opened.top_k_many(batch, k, relaxed=relaxed, event_id=event_id, where=conditions)]

    rows = write_batches(reader.compute_results(compute), output, output_format)
    _print_summary(opened, reader.total, pluralize(rows, "row"))


def parse_event(text: str) -> dict[str, Any]:
    """Return the event of an argument: JSON, `@file`, or `-` for the standard input."""
    if text == "-":
        text = sys.stdin.read() if sys.stdin is not None else ""
    elif text.startswith("@"):
        text = Path(text[1:]).read_text(encoding="utf-8", errors="replace")
    try:
        event = json.loads(text)
    except RecursionError:
        fail("the event is nested too deep")
    except ValueError as error:
        is_file = len(text) < 256 and Path(text).is_file()
        fail(f"{text} is a file: write @{text}" if is_file else f"the event is not valid JSON: {error}")
    if not isinstance(event, dict):
        fail(f"an event is a JSON object, not {text[:60]}")
    return event


def resolve_id(index: tw.Index, text: str) -> Id:
    """Return the id of the index that a text of the command line stands for: the string, or else the integer."""
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
    """Show why a subscription matches an event, or why not.

    Example: tellwhen explain index cheap '{"price": 12}'
    """
    opened = tw.Index.load(index)
    explanation = opened.explain(resolve_id(opened, id), parse_event(event))
    if as_json:
        print_json(_to_json(explanation))
    else:
        out.print(str(explanation), markup=False, soft_wrap=True)


def _to_json(explanation: Any) -> dict[str, Any]:
    parts = [_to_json(part) for part in explanation.parts]
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
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the declared types as JSON, in the format that `build --schema` reads."),
    ] = False,
) -> None:
    """Show sizes, attributes and the most expensive predicates of an index, and how its engine finds subscriptions.

    Example: tellwhen inspect index
    """
    opened = tw.Index.load(index)
    if schema:
        print_json(opened.schema.types)
        return
    stats, engine, types = opened.inspect.get_stats(), opened.inspect.describe_engine(), opened.inspect.get_types()
    costly = opened.inspect.find_costly_predicates(PREDICATES_SHOWN)
    if as_json:
        heaviest = [predicate._asdict() for predicate in costly]
        plan = dict(zip(PLAN_KEYS, engine, strict=True))
        print_json({"stats": stats, "types": types, "heaviest": heaviest, "plan": plan})
        return
    out.print(f"{pluralize(len(opened), 'subscription')}, engine {stats['engine']}")
    sizes = Table("", "", show_header=False)
    for name, value in stats["bytes"].items():
        sizes.add_row(name, f"{value / 1e6:,.1f} MB" if value >= 1e6 else f"{value / 1e3:,.1f} KB")
    for name in ("attributes", "domains", "predicates"):
        sizes.add_row(name, f"{stats[name]:,}")
    out.print(sizes)
    table = Table("attribute", "type")
    plain = {name: kind for name, kind in types.items() if is_plain_name(name)}
    for name, kind in list(plain.items())[:ATTRIBUTES_SHOWN]:
        table.add_row(escape(name), kind)
    out.print(table)
    hidden = {"more": len(plain) - ATTRIBUTES_SHOWN, "computed or quoted names": len(types) - len(plain)}
    for kind, count in hidden.items():
        if count > 0:
            out.print(f"... and {count:,} {kind}")
    predicates = Table("costly predicates", "subscriptions", "events")
    predicates.columns[1].justify = predicates.columns[2].justify = "right"
    for predicate, count, share in costly:
        predicates.add_row(escape(predicate), f"{count:,}", "" if share is None else f"{share:.1%}")
    out.print(predicates)
    out.print(str(engine), markup=False, soft_wrap=True)
