"""Measurement of one peer on one workload. Its time counts only if its matches are right."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.process import run
from bench.peers.registry import HERE, Peer
from bench.peers.workload import read_truth
from bench.timing import summarize

Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Limits on one process, for building and for running."""

    seconds: float = 300
    megabytes: float = 6_000


def measure_peer(peer: Peer, work: Path, subscriptions: int, limits: Limits) -> Row:
    """Build and run a peer; return a row, whose status says what went wrong."""
    row: Row = {"engine": peer.name, "version": peer.version}
    if peer.missing_tools:
        return row | {"status": "skipped", "note": f"{', '.join(peer.missing_tools)} not found"}
    fault = build(peer, limits)
    if fault:
        return row | {"status": "skipped", "note": f"could not be built: {fault}"}
    result = run(_fill_command(peer.start, peer, work), limits.seconds, limits.megabytes)
    if result.status != "ok":
        return row | {"status": result.status, "note": result.detail}
    try:
        output = json.loads(result.output)
        refused = {id for id, _ in output["refused"]}
        fault = describe_disagreement(output["matches"], refused, read_truth(work))
    except (ValueError, TypeError, KeyError) as error:
        return row | {"status": "failed", "note": f"its output cannot be read: {error!r}"}
    accepted = subscriptions - len(refused)
    row |= {
        "refused": len(refused),
        "note": "; ".join(filter(None, (output["notes"], describe_refusals(output["refused"])))),
    }
    if fault or not accepted:
        return row | {"status": f"wrong: {fault}" if fault else "refused all"}
    times = summarize(output["micros"])
    bytes_grown = output["bytes"]
    return row | {
        "status": "ok",
        "micros": times.median,
        "noise": times.noise,
        "build_seconds": output["build_seconds"],
        "bytes": None if bytes_grown is None else bytes_grown / accepted,
    }


def build(peer: Peer, limits: Limits) -> str:
    """Build a peer in a copy of its folder, because builds write lock files; return what went wrong."""
    if peer.folder:
        shutil.copytree(HERE / peer.folder, peer.folders["source"], dirs_exist_ok=True)
    for command in peer.build:
        result = run(_fill_command(command, peer), limits.seconds, limits.megabytes)
        if result.status != "ok":
            return result.detail
    return ""


def _fill_command(command: tuple[str, ...], peer: Peer, work: Path = Path()) -> list[str]:
    return [part.format(**peer.folders, work=work) for part in command]


def describe_disagreement(matches: list[list[int]], refused: set[int], truth: list[list[int]]) -> str:
    """Count missing and wrong matches, without refused subscriptions; return text, empty if all are right."""
    if len(matches) != len(truth):
        return f"{len(matches)} answers for {len(truth)} events"
    missing = extra = 0
    for got, wanted in zip(matches, truth, strict=True):
        missing += len(set(wanted) - refused - set(got))
        extra += len(got) - len(set(got) & (set(wanted) - refused))
    total = sum(len(set(wanted) - refused) for wanted in truth)
    return f"{missing} matches missing and {extra} too many, of {total}" if missing or extra else ""


def describe_refusals(refused: list[tuple[int, str]]) -> str:
    """Return the most frequent reasons why subscriptions were refused, as text."""
    counted = Counter(reason for _, reason in refused).most_common(3)
    return "; ".join(f"{count:,} refused: {reason}" for reason, count in counted)
