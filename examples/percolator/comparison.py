"""Do the subscriptions match what the queries did?"""

import json
from pathlib import Path

from documents import as_event
from folder import read_fields, read_lines

import tellwhen as tw

EXPLAINED_MAX = 5
"""Limit on the differences that are printed."""


def compare(folder: Path, answers: Path) -> int:
    """Compare with the answers of Elasticsearch, and return the number of differences.

    A line of the answers is `{"document": {...}, "ids": [...]}`. Queries in quarantine are not compared.
    """
    fields = read_fields(folder)
    rows = [row for _, row in read_lines(folder / "subscriptions.jsonl")]
    index = tw.Index(schema=fields.schema()).add_many({row["id"]: row["expression"] for row in rows})
    known = {row["id"] for row in rows}
    count = different = refused = 0
    for place, answer in read_lines(answers):
        if not answer.keys() >= {"document", "ids"}:
            raise ValueError(f"{place}: an answer has a document and ids")
        try:
            event = as_event(answer["document"], fields)
        except ValueError as error:
            refused += 1
            print(f"{place}: the document is no event: {error}")
            continue
        count += 1
        expected = known & set(answer["ids"])
        for name in sorted(expected ^ set(index.match(event))):
            different += 1
            if different <= EXPLAINED_MAX:
                print(f"{name} {'should' if name in expected else 'should not'} match {json.dumps(answer['document'])}")
                print(index.explain(name, event))
    print(f"{count:,} documents, {len(known):,} queries: {different or 'no'} answers are different")
    if refused:
        print(f"{refused:,} documents are no events")
    return different
