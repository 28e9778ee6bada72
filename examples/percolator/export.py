"""How do the queries of an index become a file of subscriptions?"""

import json
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mapping import Fields
from queries import Converter

import tellwhen as tw

Rows = list[dict[str, Any]]


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    """What Elasticsearch answers."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def pages(url: str, index: str) -> Iterator[Rows]:
    """All documents of an index, a thousand at a time, by the scroll API."""
    page = ask(f"{url}/{index}/_search?scroll=5m", {"size": 1000, "sort": ["_doc"], "query": {"match_all": {}}})
    while hits := page["hits"]["hits"]:
        yield hits
        page = ask(f"{url}/_search/scroll", {"scroll": "5m", "scroll_id": page["_scroll_id"]})


def export(url: str, index: str, folder: Path) -> None:
    """Write the mapping and the queries of an index."""
    url = url.rstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mapping.json").write_text(json.dumps(ask(f"{url}/{index}/_mapping")))
    count = 0
    with (folder / "queries.ndjson").open("w") as file:
        for hits in pages(url, index):
            file.writelines(json.dumps({"_id": hit["_id"], "_source": hit["_source"]}) + "\n" for hit in hits)
            count += len(hits)
            print(f"\r{count:,} queries", end="")
    print()


def convert(fields: Fields, hits: Iterable[dict[str, Any]]) -> tuple[Rows, Rows]:
    """Subscriptions, and the queries that are none, each with the reason.

    What else a document has beside its query becomes the payload.
    """
    (name,) = [path for path, kind in fields.types.items() if kind == "percolator"]
    subscriptions, quarantined = [], []
    for hit in hits:
        payload = {key: one for key, one in hit["_source"].items() if key != name}
        try:
            expression = str(Converter(fields)(hit["_source"][name]))
            subscriptions.append({"id": hit["_id"], "expression": expression, "payload": payload})
        except Exception as error:  # whatever is wrong with a query, the others are converted
            reason = str(error) if isinstance(error, ValueError | tw.TellwhenError) else repr(error)
            quarantined.append({"id": hit["_id"], "query": hit["_source"].get(name), "reason": reason})
    return subscriptions, quarantined


def convert_folder(folder: Path) -> None:
    """Convert what `export` has written."""
    (mapping,) = json.loads((folder / "mapping.json").read_text()).values()
    fields = Fields.of(mapping["mappings"]["properties"])
    with (folder / "queries.ndjson").open() as lines:
        subscriptions, quarantined = convert(fields, map(json.loads, lines))
    for name, rows in (("subscriptions", subscriptions), ("quarantine", quarantined)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "schema.json").write_text(json.dumps(fields.schema().types, indent=1))
    print(f"{len(subscriptions):,} converted, {len(quarantined):,} in quarantine; next:")
    print(f"  tellwhen validate {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict")
    print(f"  tellwhen build {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict -o {folder}/index")
