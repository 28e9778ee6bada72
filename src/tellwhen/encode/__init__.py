"""Encoder of events into points on domains, as flat arrays that kernels match.

dict ─────────────────────────────────────────events──┐
Arrow, pandas, polars ──frames──columns──────tables───┴──> points on domains
"""
