"""How large may an expression be? The limits that keep hostile input cheap to refuse."""

from __future__ import annotations

TEXT = 1 << 20
"""Characters in the text of one expression that a user gives as text or JSON."""

STORED = 1 << 25
"""Characters in the text of one that is made in Python."""

DEPTH = 100
"""Levels of nesting: parentheses, NOT, and the operators above a predicate."""

PREDICATES = 50_000
"""Predicates in one expression, counted with repetition."""

MEMBERS = 1 << 20
"""Constants in one IN list."""

STRING = 1 << 16
"""Characters in one string constant."""

PATTERN = 4_096
"""Characters in one LIKE, CONTAINS or MATCHES pattern."""

NAME = 1_024
"""Characters in an attribute's name."""

OBJECTS = 10_000
"""Nested objects in one event."""

INTEGER = (1 << 62) - 1
"""Integers are exact up to this magnitude; beyond it a number is a double."""

COMPUTED = 1 << 24
"""Characters in a string that is computed; one that would be longer is undefined."""

COMBINATIONS = 10_000
"""Combinations of the members of several lists for which one value is computed; with more it is undefined."""
