"""From an Elasticsearch percolator to tellwhen: what are its queries as expressions, and do they answer the same?

    python examples/percolator                                             a small export that is made up
    python examples/percolator export http://localhost:9200 alerts folder  mapping.json and queries.ndjson
    python examples/percolator convert folder                              subscriptions.jsonl and quarantine.jsonl
    python examples/percolator answers http://localhost:9200 alerts folder documents.ndjson          answers.ndjson
    python examples/percolator compare folder folder/answers.ndjson        what is different, and why

The guide to it is docs/howto/percolator.md.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from comparison import compare
from convert import convert, convert_folder
from documents import as_event, as_events
from export import answers, export
from judge import differences
from made_up import PROPERTIES, QUERIES, hits, listings
from mapping import Fields

import tellwhen as tw


def demo() -> None:
    """Convert the small export, compare the answers, and show what is different."""
    fields = Fields.from_properties(PROPERTIES)
    subscriptions, quarantined, _ = convert(fields, hits())
    print(f"{len(subscriptions)} of {len(QUERIES)} queries are converted:")
    for row in subscriptions:
        print(f"  {row['id']:<13} {row['expression']}")
    print("the others:")
    for row in quarantined:
        print(f"  {row['id']:<13} {row['reason']}")

    index = tw.Index(schema=fields.schema()).add_many({row["id"]: row["expression"] for row in subscriptions})
    documents = list(listings(500, random.Random(4)))
    wrong = differences(index, fields, QUERIES, documents)
    print(f"{len(documents)} documents, {len(index)} queries: {len(wrong) or 'no'} answers are different")
    for name, document, expected in wrong[:5]:
        print(f"  {name} should be {expected} of {document}")

    naive = tw.Index().add("not city", "NOT city = 'Rome'")
    events, _ = as_events(documents, fields)
    right, few = (sum("not city" in one.match(event) for event in events) for one in (index, naive))
    print(f"'not city' matches {right} documents; NOT city = 'Rome' only {few}, being undefined without a city")

    print("why does 'two of three' not match a document?")
    print(index.explain("two of three", as_event({"tags": ["balcony"], "city": "Oslo", "price": 1200}, fields)))


def parser() -> argparse.ArgumentParser:
    """The commands of the script."""
    found = argparse.ArgumentParser(
        "python examples/percolator", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = found.add_subparsers(dest="command")
    exporting = commands.add_parser("export", help="write the mapping and the queries of an index to a folder")
    converting = commands.add_parser("convert", help="convert an exported folder")
    answering = commands.add_parser("answers", help="ask Elasticsearch which queries match documents")
    comparing = commands.add_parser("compare", help="compare the subscriptions with such answers")
    for command in (exporting, answering):
        command.add_argument("url")
        command.add_argument("index")
    for command in (exporting, converting, answering, comparing):
        command.add_argument("folder", type=Path)
    for command in (converting, answering):
        command.add_argument("--field", default="", help="the percolator field, if there are several")
    answering.add_argument("documents", type=Path)
    comparing.add_argument("answers", type=Path)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    given = parser().parse_args(arguments)
    try:
        if given.command == "export":
            export(given.url, given.index, given.folder)
        elif given.command == "convert":
            convert_folder(given.folder, given.field)
        elif given.command == "answers":
            answers(given.url, given.index, given.folder, given.documents, given.field)
        elif given.command == "compare":
            if compare(given.folder, given.answers):
                sys.exit(1)
        else:
            demo()
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
