"""Expr -> ARRAYS: after this, no engine sees a string, a float or a regular expression.

Expr ──program──> literals ──predicates──> intervals on domains ──store──> flat arrays ──normal_form──> conjunctions
"""
