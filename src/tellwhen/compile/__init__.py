"""Compiler of expressions into flat arrays of integers.

Engines see only these arrays: no string, no float and no regular expression.

Expr ──program──> literals ──predicates──> intervals on domains ──store──> flat arrays ──normal_form──> conjunctions
"""
