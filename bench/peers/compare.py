"""How is one peer measured on one workload? Built, run and checked; its time counts only if its matches are right."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import measured
from bench.peers.process import run
from bench.peers.registry import HERE, Peer
from bench.peers.workload import read_truth

Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Limits on one process; building has the same time limit."""

    seconds: float = 300
    megabytes: float = 6_000


def row(peer: Peer, work: Path, subscriptions: int, limits: Limits) -> Row:
    """Build and run a peer. There is a row in any case; its status says what went wrong."""
    known: Row = {"engine": peer.name, "version": peer.version}
    if peer.missing:
        return known | {"status": "skipped", "note": f"{', '.join(peer.missing)} not found"}
    fault = build(peer, limits)
    if fault:
        return known | {"status": "skipped", "note": f"could not be built: {fault}"}
    ended = run(_filled(peer.start, peer, work), limits.seconds, limits.megabytes)
    if ended.status != "ok":
        return known | {"status": ended.status, "note": ended.detail}
    try:
        said = json.loads(ended.output)
        refused = {id for id, _ in said["refused"]}
        wrong = disagreement(said["matches"], refused, read_truth(work))
    except (ValueError, TypeError, KeyError) as error:
        return known | {"status": "failed", "note": f"its output cannot be read: {error!r}"}
    taken = subscriptions - len(refused)
    known |= {"refused": len(refused), "note": "; ".join(filter(None, (said["notes"], reasons(said["refused"]))))}
    if wrong or not taken:
        return known | {"status": f"wrong: {wrong}" if wrong else "refused all"}
    times = measured(said["micros"])
    grown = said["bytes"]
    return known | {
        "status": "ok",
        "micros": times.median,
        "noise": times.noise,
        "build_seconds": said["build_seconds"],
        "bytes": None if grown is None else grown / taken,
    }


def build(peer: Peer, limits: Limits) -> str:
    """Build a peer in a copy of its folder, where lock files may appear; returns what went wrong."""
    if peer.folder:
        shutil.copytree(HERE / peer.folder, peer.folders["source"], dirs_exist_ok=True)
    for command in peer.build:
        ended = run(_filled(command, peer), limits.seconds, limits.megabytes)
        if ended.status != "ok":
            return ended.detail
    return ""


def _filled(command: tuple[str, ...], peer: Peer, work: Path = Path()) -> list[str]:
    return [part.format(**peer.folders, work=work) for part in command]


def disagreement(matches: list[list[int]], refused: set[int], truth: list[list[int]]) -> str:
    """What is wrong with the matches, refused subscriptions apart; empty if nothing is."""
    if len(matches) != len(truth):
        return f"{len(matches)} answers for {len(truth)} events"
    missing = extra = 0
    for got, wanted in zip(matches, truth, strict=True):
        missing += len(set(wanted) - refused - set(got))
        extra += len(got) - len(set(got) & (set(wanted) - refused))
    total = sum(len(set(wanted) - refused) for wanted in truth)
    return f"{missing} matches missing and {extra} too many, of {total}" if missing or extra else ""


def reasons(refused: list[tuple[int, str]]) -> str:
    """Why subscriptions were refused, the most frequent reasons first."""
    counted = Counter(reason for _, reason in refused).most_common(3)
    return "; ".join(f"{count:,} refused: {reason}" for reason, count in counted)
