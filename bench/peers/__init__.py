"""Measurements of other people's engines on the same workload files: `python -m bench.peers`.

workload ──> files ──> a process per engine ──> matches, compared with the truth ──> times
"""
