"""From an Elasticsearch percolator to tellwhen: what are its queries as expressions, and do they answer the same?

    python examples/percolator                                             a small export that is made up
    python examples/percolator export http://localhost:9200 alerts folder  mapping.json and queries.ndjson
    python examples/percolator convert folder                              subscriptions.jsonl and quarantine.jsonl

The guide to it is docs/howto/percolator.md.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from documents import as_event
from export import convert, convert_folder, export
from judge import differences
from made_up import PROPERTIES, QUERIES, hits, listings
from mapping import Fields

import tellwhen as tw


def demo() -> None:
    """Convert the small export, compare the answers, and show what is different."""
    fields = Fields.of(PROPERTIES)
    subscriptions, quarantined = convert(fields, hits())
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
    events = [as_event(document, fields) for document in documents]
    right, few = (sum("not city" in one.match(event) for event in events) for one in (index, naive))
    print(f"'not city' matches {right} documents; NOT city = 'Rome' only {few}, being undefined without a city")

    print("why does 'two of three' not match a document?")
    print(index.explain("two of three", as_event({"tags": ["balcony"], "city": "Oslo", "price": 1200}, fields)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python examples/percolator", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    exporting = commands.add_parser("export", help="write the mapping and the queries of an index to a folder")
    exporting.add_argument("url")
    exporting.add_argument("index")
    exporting.add_argument("folder", type=Path)
    commands.add_parser("convert", help="convert an exported folder").add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "export":
        export(given.url, given.index, given.folder)
    elif given.command == "convert":
        convert_folder(given.folder)
    else:
        demo()


if __name__ == "__main__":
    main()
