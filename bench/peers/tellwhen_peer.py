"""Process that measures tellwhen as a peer: `python -m bench.peers.tellwhen_peer FOLDER python|encoded ENGINE`.

`python` is `Index.match` of a dict; `encoded` is the engine alone, on encoded events.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tellwhen as tw
from bench.peers.protocol import Match, measure, read_rows
from tellwhen.cli.warm_command import compile_kernels
from tellwhen.containers.batches import split_events
from tellwhen.encode.events import encode


def main(folder: Path, mode: str, engine: str) -> None:
    pairs = [(row["id"], row["expression"]) for row in read_rows(folder, "subscriptions")]
    events = read_rows(folder, "events")
    # A build includes work in the background, but not compiling or loading kernels.
    compile_kernels(engine)
    tw.Index(engine).add_many(pairs[:100]).match(events[0])
    index = tw.Index(engine)

    def build() -> Match:
        index.add_many(pairs).rebuild()
        return index.match

    def build_encoded() -> Match:
        index.add_many(pairs).rebuild()
        reader, attributes = index._shard.engine.reader(), index._shard.store.attributes
        arrays = list(split_events(encode(events, attributes, index.schema)[0]))
        return lambda event: reader.match(arrays[event]).slot  # ids are 0, 1, 2 ..., and so are slots

    if mode == "python":
        measure("tellwhen", events, build, notes="Index.match of a dict")
    else:
        measure("tellwhen", range(len(events)), build_encoded, notes="the engine alone, on encoded events")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
