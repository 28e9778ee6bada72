"""Events -> POINTS on domains: the flat arrays that kernels match.

dict ─────────────────────────────────────────events──┐
Arrow, pandas, polars ──frames──columns──────tables───┴──> points on domains
"""
