"""How large may an expression be? The limits that keep hostile input cheap to refuse."""

from __future__ import annotations

TEXT_CHARACTERS_MAX = 1 << 20
"""Characters in the text of one expression that a user gives as text or JSON."""

STORED_TEXT_CHARACTERS_MAX = 1 << 25
"""Characters in the text of one that is made in Python."""

DEPTH_MAX = 100
"""Levels of nesting: parentheses, NOT, and the operators above a predicate."""

PREDICATES_MAX = 50_000
"""Predicates in one expression, counted with repetition."""

LIST_CONSTANTS_MAX = 1 << 20
"""Constants in one IN list."""

STRING_CHARACTERS_MAX = 1 << 16
"""Characters in one string constant."""

PATTERN_CHARACTERS_MAX = 4_096
"""Characters in one LIKE, CONTAINS or MATCHES pattern."""

NAME_CHARACTERS_MAX = 1_024
"""Characters in an attribute's name."""

EVENT_OBJECTS_MAX = 10_000
"""Nested objects in one event."""

INTEGER_MAX = (1 << 62) - 1
"""Integers are exact up to this magnitude; beyond it a number is a double."""

COMPUTED_CHARACTERS_MAX = 1 << 24
"""Characters in a string that is computed; one that would be longer is undefined."""

COMBINATIONS_MAX = 10_000
"""Combinations of the members of several lists for which one value is computed; with more it is undefined."""
