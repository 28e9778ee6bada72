"""Expr -> ARRAYS and events -> ARRAYS: after this, no engine sees a string, a float or a regular expression.

Expr ──program──> tests of literals ──predicates──> intervals on domains ──subscriptions──> the Store, flat arrays
dict ──events──┐
Arrow ──tables─┴> points on domains, flat arrays
"""
