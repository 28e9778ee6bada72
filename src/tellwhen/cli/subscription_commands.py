"""`tellwhen validate`, `build` and `convert`: files of subscriptions in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import tellwhen as tw
from tellwhen.cli.console_output import FAILED, Doing, command, fail, json_line, out, progress, told
from tellwhen.cli.input_files import declared, format_of, subscriptions, unused_hint
from tellwhen.cli.input_files import events as read_events
from tellwhen.cli.options import JsonOption, SparkOption
from tellwhen.cli.output_files import refuse_same, rejected, write
from tellwhen.errors import pluralize
from tellwhen.index.subscriptions import Rejected
from tellwhen.inspect.validation import Finding
from tellwhen.persistence.paths import resolve_path

Files = Annotated[list[str], typer.Argument(help="Files of subscriptions; - is the standard input.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="jsonl, csv, parquet, arrow or text, if the name does not tell.")
]
SchemaOption = Annotated[Path | None, typer.Option("--schema", help='A JSON file of types: {"price": "float"}.')]
StrictOption = Annotated[bool, typer.Option("--strict", help="Refuse attributes that the schema does not declare.")]


def declared_schema(file: Path | None, strict: bool) -> tw.Schema:
    if file is None:
        if strict:
            fail("--strict needs a --schema")
        return tw.Schema()
    try:
        return tw.Schema(json.loads(file.read_text()), strict=strict)
    except (ValueError, RecursionError) as error:
        fail(f"{file}: {error}")


def _all(files: list[str], form: str | None, doing: Doing, faults: list[Rejected] | None = None) -> Iterator[Any]:
    """The subscriptions of all files; afterwards, they are indexed."""
    unused: Counter[str] = Counter()
    for file in files:
        for row in subscriptions(file, form, faults, unused):
            doing.advance(1)
            yield row
    for name, count in unused.items():
        told.print(f"{name} is not used ({pluralize(count, 'row')}): {unused_hint(name)}", markup=False)
    doing.now("indexing")


@command
def validate(
    files: Files,
    schema: SchemaOption = None,
    strict: StrictOption = False,
    lint: Annotated[bool, typer.Option(help="Also tell what is probably not meant.")] = True,
    against: Annotated[Path | None, typer.Option(help="An index that they are to be added to.")] = None,
    form: FormatOption = None,
    as_json: JsonOption = False,
    spark: SparkOption = None,
) -> None:
    """Check files of subscriptions: what is wrong with which one, and where. Exits with 1 if there are errors.

    Example: tellwhen validate rules.jsonl --schema types.json
    """
    if spark is not None:
        if against is not None or not lint:
            fail("with --spark, errors are looked for, and nothing else: no --against, no --no-lint")
        from tellwhen.cli.spark_commands import validate_on_spark

        report = validate_on_spark(spark, files, declared_schema(schema, strict), form)
        _told(report, as_json)
        return
    index = None if against is None else tw.Index.load(against)
    types = None if index is not None and schema is None and not strict else declared_schema(schema, strict)
    with progress("subscriptions") as doing:
        faults: list[Rejected] = []
        report = tw.validate(_all(files, form, doing, faults), types, lint=lint, against=index)
        unread = [Finding.error(one) for one in faults]
        report = tw.Report(report.subscriptions + len(unread), unread + report.findings)
    _told(report, as_json)


def _told(report: tw.Report, as_json: bool) -> None:
    if as_json:
        for one in report.findings:
            json_line(one._asdict())
    else:
        out.print(str(report), markup=False, soft_wrap=True)
    if report.of("error"):
        raise typer.Exit(FAILED)


@command
def build(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory of the index.")],
    engine: Annotated[str, typer.Option(help="See `tellwhen engines`.")] = "auto",
    schema: SchemaOption = None,
    strict: StrictOption = False,
    quarantine: Annotated[
        str | None, typer.Option(help="A file for faulty subscriptions; without it, one is an error.")
    ] = None,
    replace: Annotated[bool, typer.Option(help="Of an id that comes twice, the last one counts.")] = False,
    observe: Annotated[str | None, typer.Option(help="A file of typical events, by which the engine chooses.")] = None,
    form: FormatOption = None,
    as_json: JsonOption = False,
    spark: SparkOption = None,
) -> None:
    """Build an index of files of subscriptions, in a directory.

    Example: tellwhen build rules.jsonl more.csv -o index --quarantine faulty.jsonl
    """
    resolve_path(output)  # an error before the work, not after it
    if quarantine is not None:
        format_of(quarantine, None, "--output-format")
        refuse_same(quarantine, *files)
        if not Path(quarantine).resolve().parent.is_dir():
            fail(f"{quarantine}: No such file or directory")
    types = declared(files, form) if schema is None and not strict else declared_schema(schema, strict)
    if spark is not None:
        if replace or quarantine is None:
            fail("with --spark, say --quarantine for faulty subscriptions, and for all but one of an id; not --replace")
        from tellwhen.cli.spark_commands import build_on_spark

        built, faulty = build_on_spark(spark, files, output, engine, types, observe, form)
    else:
        built, faulty = _built(files, output, engine, types, observe, form, replace, quarantine is not None)
    if quarantine is not None:
        write([rejected(faulty)], quarantine)
    if as_json:
        json_line({"subscriptions": built, "quarantined": len(faulty), "index": str(output)})
    else:
        told.print(f"{pluralize(built, 'subscription')} in {output}", soft_wrap=True)
        if faulty:
            told.print(f"{pluralize(len(faulty), 'faulty one')} in {quarantine}", soft_wrap=True)


def _built(
    files: list[str], output: Path, engine: str, schema: tw.Schema, observe: str | None, form: str | None,
    replace: bool, has_quarantine: bool,
) -> tuple[int, list[Rejected]]:  # fmt: skip
    index, faulty = tw.Index(engine, schema), []
    with progress("subscriptions") as doing:
        if has_quarantine:
            faults: list[Rejected] = []
            faulty = index.add_valid(_all(files, form, doing, faults), replace=replace) + faults
        else:
            try:
                index.add_many(_all(files, form, doing), replace=replace)
            except tw.DuplicateId as error:
                fail(f"{str(error).partition(';')[0]}; with --replace the last one counts")
        if observe is not None:
            doing.now("looking at events")
            for some in read_events(observe):
                index.optimize_for(some.events)
        doing.now("building the index")
        index.rebuild()
        doing.now("saving")
        index.save(output)
    return len(index), faulty


@command
def convert(
    source: Annotated[str, typer.Argument(help="A file of subscriptions, or the directory of an index.")],
    target: Annotated[str, typer.Argument(help="A file: .jsonl, .csv, .parquet or .arrow.")],
    form: FormatOption = None,
    output_format: Annotated[str | None, typer.Option("--output-format", help="Of the target, if it is -.")] = None,
) -> None:
    """Write subscriptions in another format: those of a file, or of an index.

    Example: tellwhen convert index rules.parquet
    """
    if source != "-" and Path(source).is_dir():
        index = tw.Index.load(source)
    else:
        with progress("subscriptions") as doing:
            index = tw.Index(schema=declared([source], form)).add_many(_all([source], form, doing))
    table = index.to_arrow()
    kind = format_of(target, output_format, "--output-format")
    if kind in ("csv", "jsonl") and (index.schema.types or index.schema.strict):
        told.print(
            f"{kind} cannot note the declared types: `tellwhen inspect INDEX --schema` writes them, and "
            "`build --schema` takes them",
            soft_wrap=True,
        )
    if kind == "csv":  # which has no maps
        weights = [None if one is None else json.dumps(dict(one)) for one in table["weights"].to_pylist()]
        table = table.set_column(3, "weights", pa.array(weights, pa.string()))
    count = write(table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)], target, output_format)
    told.print(f"{pluralize(count, 'subscription')} in {target}", soft_wrap=True)
