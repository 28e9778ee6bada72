"""How do the queries and answers of an index come out of Elasticsearch?

ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD, are read from the environment.
"""

import base64
import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from folder import Rows, choose_field, read_fields, read_lines


def headers() -> dict[str, str]:
    """What a request says of itself, and of who asks."""
    found = {"Content-Type": "application/json"}
    if key := os.environ.get("ELASTICSEARCH_API_KEY"):
        found["Authorization"] = f"ApiKey {key}"
    elif user := os.environ.get("ELASTICSEARCH_USER"):
        both = f"{user}:{os.environ.get('ELASTICSEARCH_PASSWORD', '')}"
        found["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
    return found


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    """What Elasticsearch answers."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers())) as answer:
        return json.load(answer)


def pages(url: str, index: str, query: dict[str, Any], source: bool = True) -> Iterator[Rows]:
    """All hits of a query, a thousand at a time, by the scroll API."""
    asked = {"size": 1000, "sort": ["_doc"], "query": query, "_source": source}
    page = ask(f"{url}/{index}/_search?scroll=5m", asked)
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
        for hits in pages(url, index, {"match_all": {}}):
            file.writelines(json.dumps({"_id": hit["_id"], "_source": hit["_source"]}) + "\n" for hit in hits)
            count += len(hits)
            print(f"\r{count:,} queries", end="")
    print()


def answers(url: str, index: str, folder: Path, documents: Path, name: str = "") -> None:
    """Write which queries match each document."""
    field = choose_field(read_fields(folder), name)
    with (folder / "answers.ndjson").open("w") as file:
        for _, document in read_lines(documents):
            query = {"percolate": {"field": field, "document": document}}
            ids = [hit["_id"] for hits in pages(url.rstrip("/"), index, query, source=False) for hit in hits]
            file.write(json.dumps({"document": document, "ids": ids}) + "\n")
