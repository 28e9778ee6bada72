"""The commands that read files of subscriptions: `validate`, `build` and `convert`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import tellwhen as tw
from tellwhen.cli.console_output import EXIT_FAILED, ProgressLine, command, err, fail, out, print_json, show_progress
from tellwhen.cli.event_files import read_events
from tellwhen.cli.file_formats import detect_format
from tellwhen.cli.options import JsonOption, SparkOption
from tellwhen.cli.output_files import require_separate_output, to_batch, write_batches
from tellwhen.cli.subscription_files import make_column_hint, read_saved_schema, read_subscriptions
from tellwhen.errors import pluralize
from tellwhen.index.subscriptions import Rejected
from tellwhen.inspect.validation import Finding
from tellwhen.persistence.paths import resolve_path

Files = Annotated[list[str], typer.Argument(help="Files of subscriptions; - is the standard input.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, csv, parquet, arrow or text, if the file name does not tell it."),
]
SchemaOption = Annotated[Path | None, typer.Option("--schema", help='A JSON file of types: {"price": "float"}.')]
StrictOption = Annotated[bool, typer.Option("--strict", help="Reject attributes that the schema does not declare.")]


def read_schema_file(file: Path | None, strict: bool) -> tw.Schema:
    if file is None:
        if strict:
            fail("--strict needs a --schema")
        return tw.Schema()
    try:
        types = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        fail(f'{file} is not a schema: expected one JSON object such as {{"price": "float"}}; {error}')
    try:
        return tw.Schema(types, strict=strict)
    except ValueError as error:
        fail(f"{file}: {error}")


def _read_files(
    files: list[str], format_name: str | None, line: ProgressLine, quarantine: list[Rejected] | None = None
) -> Iterator[Any]:
    """Yield the subscriptions of all files; report columns that are not read; then show the step `indexing`."""
    unused: Counter[str] = Counter()
    for file in files:
        for row in read_subscriptions(file, format_name, quarantine, unused):
            line.advance(1)
            yield row
    for name, count in unused.items():
        err.print(f"column {name} is not read ({pluralize(count, 'row')}): {make_column_hint(name)}", markup=False)
    line.start_step("indexing")


@command
def validate(
    files: Files,
    schema: SchemaOption = None,
    strict: StrictOption = False,
    lint: Annotated[bool, typer.Option(help="Also report probable mistakes.")] = True,
    against: Annotated[Path | None, typer.Option(help="Index that the subscriptions will be added to.")] = None,
    format_name: FormatOption = None,
    as_json: JsonOption = False,
    spark: SparkOption = None,
) -> None:
    """Check files of subscriptions, and show each error with its place. Exit with 1 if there are errors.

    Example: tellwhen validate rules.jsonl --schema types.json
    """
    if spark is not None:
        if against is not None or not lint:
            fail("--spark takes no --against and no --no-lint: it only finds errors")
        from tellwhen.cli.spark_commands import validate_on_spark

        report = validate_on_spark(spark, files, read_schema_file(schema, strict), format_name)
        _print_report(report, as_json)
        return
    index = None if against is None else tw.Index.load(against)
    types = None if index is not None and schema is None and not strict else read_schema_file(schema, strict)
    with show_progress("subscriptions") as line:
        faults: list[Rejected] = []
        report = tw.validate(_read_files(files, format_name, line, faults), types, lint=lint, index=index)
        unread = [Finding.from_rejected(fault) for fault in faults]
        report = tw.ValidationReport(report.subscriptions + len(unread), unread + report.findings)
    _print_report(report, as_json)


def _print_report(report: tw.ValidationReport, as_json: bool) -> None:
    """Print the findings; end with `EXIT_FAILED` if there are errors."""
    if as_json:
        for finding in report.findings:
            print_json(finding._asdict())
    else:
        out.print(str(report), markup=False, soft_wrap=True)
    if report.get_findings("error"):
        raise typer.Exit(EXIT_FAILED)


@command
def build(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory of the index.")],
    engine: Annotated[str, typer.Option(help="Engine of the index; see `tellwhen engines`.")] = "auto",
    schema: SchemaOption = None,
    strict: StrictOption = False,
    quarantine: Annotated[
        str | None, typer.Option(help="A file for faulty subscriptions; without it, a faulty one is an error.")
    ] = None,
    replace: Annotated[bool, typer.Option(help="If an id occurs twice, keep its last subscription.")] = False,
    observe: Annotated[
        str | None, typer.Option(help="File of typical events, for which the index is optimized.")
    ] = None,
    format_name: FormatOption = None,
    as_json: JsonOption = False,
    spark: SparkOption = None,
) -> None:
    """Build an index from files of subscriptions, and save it in a directory.

    Example: tellwhen build rules.jsonl more.csv -o index --quarantine faulty.jsonl
    """
    resolve_path(output)  # fail before the work, not after it
    if quarantine is not None:
        detect_format(quarantine, None, "--output-format")
        require_separate_output(quarantine, *files)
        if not Path(quarantine).resolve().parent.is_dir():
            fail(f"{quarantine}: No such file or directory")
    types = read_saved_schema(files, format_name) if schema is None and not strict else read_schema_file(schema, strict)
    if spark is not None:
        if replace or quarantine is None:
            fail("--spark needs --quarantine, for faulty and duplicate subscriptions, and takes no --replace")
        from tellwhen.cli.spark_commands import build_on_spark

        built, faulty = build_on_spark(spark, files, output, engine, types, observe, format_name)
    else:
        built, faulty = _build_index(
            files, output, engine, types, observe, format_name, replace, quarantine is not None
        )
    if quarantine is not None:
        write_batches([to_batch(faulty)], quarantine)
    if as_json:
        print_json({"subscriptions": built, "quarantined": len(faulty), "index": str(output)})
    else:
        err.print(f"{pluralize(built, 'subscription')} in {output}", soft_wrap=True)
        if faulty:
            err.print(f"{pluralize(len(faulty), 'faulty subscription')} in {quarantine}", soft_wrap=True)


def _build_index(
    files: list[str], output: Path, engine: str, schema: tw.Schema, typical_events: str | None, format_name: str | None,
    replace: bool, has_quarantine: bool,
) -> tuple[int, list[Rejected]]:  # fmt: skip
    index, faulty = tw.Index(engine, schema), []
    with show_progress("subscriptions") as line:
        if has_quarantine:
            faults: list[Rejected] = []
            faulty = index.add_valid(_read_files(files, format_name, line, faults), replace=replace) + faults
        else:
            try:
                index.add_many(_read_files(files, format_name, line), replace=replace)
            except tw.DuplicateId as error:
                fail(f"{str(error).partition(';')[0]}; --replace keeps the last one")
        if typical_events is not None:
            line.start_step("reading events")
            for batch in read_events(typical_events):
                index.optimize_for(batch.events)
        line.start_step("building the index")
        index.rebuild()
        line.start_step("saving")
        index.save(output)
    return len(index), faulty


@command
def convert(
    source: Annotated[str, typer.Argument(help="A file of subscriptions, or the directory of an index.")],
    target: Annotated[str, typer.Argument(help="A file: .jsonl, .csv, .parquet or .arrow.")],
    format_name: FormatOption = None,
    output_format: Annotated[
        str | None, typer.Option("--output-format", help="Format of the target, if it is -.")
    ] = None,
) -> None:
    """Convert subscriptions of a file or an index to another format.

    Example: tellwhen convert index rules.parquet
    """
    if source != "-" and Path(source).is_dir():
        index = tw.Index.load(source)
    else:
        with show_progress("subscriptions") as line:
            index = tw.Index(schema=read_saved_schema([source], format_name)).add_many(
                _read_files([source], format_name, line)
            )
    table = index.to_arrow()
    kind = detect_format(target, output_format, "--output-format")
    if kind in ("csv", "jsonl") and (index.schema.types or index.schema.strict):
        err.print(
            f"{kind} cannot hold the declared types: `tellwhen inspect INDEX --schema` writes them, and "
            "`build --schema` reads them",
            soft_wrap=True,
        )
    if kind == "csv":  # CSV has no maps
        weights = [None if pairs is None else json.dumps(dict(pairs)) for pairs in table["weights"].to_pylist()]
        table = table.set_column(3, "weights", pa.array(weights, pa.string()))
    count = write_batches(table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)], target, output_format)
    err.print(f"{pluralize(count, 'subscription')} in {target}", soft_wrap=True)
