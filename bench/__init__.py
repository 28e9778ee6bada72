"""Measurements behind every number in the documents.

engines.py + papers/ ──> experiments ──> runner ──> point (a process each) ──> results/ ──> report, changes

Other commands: `conjunctions` (the engines side by side, or two checkouts), `foundation` (parsing, encoding, single
calls), `spark` (the pipeline), `peers` (other people's engines).
"""
