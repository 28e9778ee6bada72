"""How do the queries of an index become a file of subscriptions?"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from folder import Rows, choose_field, member, read_fields, read_hits, remove_member, write_rows
from mapping import Fields
from queries import Converter

import tellwhen as tw

SHOWN_MAX = 10
"""Limit on the names that are printed of one kind."""


class Conversion(NamedTuple):
    subscriptions: Rows
    quarantined: Rows
    """The queries that are no subscriptions, each with the reason."""
    remarks: Rows
    """The subscriptions that a person should look at."""


def convert(fields: Fields, hits: Iterable[dict[str, Any]], name: str = "") -> Conversion:
    """Subscriptions from hits. What else a document has beside its query becomes the payload."""
    name = choose_field(fields, name)
    found = Conversion([], [], [])
    for hit in hits:
        source, query, remarks = hit["_source"], member(hit["_source"], name), list[str]()
        try:
            if query is None:
                raise ValueError(f"there is no query in {name}")
            expression = str(Converter(fields, remarks=remarks)(query))
        except (ValueError, tw.TellwhenError) as error:
            found.quarantined.append({"id": hit["_id"], "query": query, "reason": str(error)})
        except Exception as error:  # whatever is wrong with a query, the others are converted
            reason = f"it is not understood ({type(error).__name__}: {error})"
            found.quarantined.append({"id": hit["_id"], "query": query, "reason": reason})
        else:
            payload = remove_member(source, name)
            found.subscriptions.append({"id": hit["_id"], "expression": expression, "payload": payload})
            found.remarks.extend({"id": hit["_id"], "remark": remark} for remark in remarks)
    return found


def convert_folder(folder: Path, name: str = "") -> None:
    """Convert what `export` has written."""
    fields = read_fields(folder)
    found = convert(fields, read_hits(folder / "queries.ndjson"), name)
    write_rows(folder / "subscriptions.jsonl", found.subscriptions)
    write_rows(folder / "quarantine.jsonl", found.quarantined)
    write_rows(folder / "remarks.jsonl", found.remarks)
    (folder / "schema.json").write_text(json.dumps(fields.schema().types, indent=1))
    print(f"{len(found.subscriptions):,} converted, {len(found.quarantined):,} in quarantine")
    if found.remarks:
        print(f"{len(found.remarks):,} to look at, see remarks.jsonl: {shorten([one['id'] for one in found.remarks])}")
    for path, doubts in fields.doubts.items():
        print(f"look at the field {path}, which has {', '.join(doubts)}")
    print("next:")
    print(f"  tellwhen validate {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict")
    print(f"  tellwhen build {folder}/subscriptions.jsonl --schema {folder}/schema.json --strict -o {folder}/index")


def shorten(names: list[str]) -> str:
    """Join the first names, and dots for the others."""
    return ", ".join([*names[:SHOWN_MAX], *(["..."] if len(names) > SHOWN_MAX else [])])
