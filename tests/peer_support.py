"""Helpers of the tests of `bench.peers`: the script of a peer, and limits."""

from bench.peers.measurement import Limits

LIMITS = Limits(seconds=30, megabytes=2_000)

FAKE_PEER = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
matches = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
refused = []
{change}
print(json.dumps({{"peer": "fake", "build_seconds": 0.5, "bytes": 1000, "micros": [3.0, 1.0, 2.0], "matches": matches,
                  "refused": refused, "notes": "a fake"}}))
"""
