"""Engines of other people, on the same workload files as ours: `python -m bench.peers`.

workload ──> files ──> a process per engine ──> answers, checked against the truth ──> times that count
"""
