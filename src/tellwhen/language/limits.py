"""Limits on the size of expressions and events. They keep hostile input cheap to reject."""

from __future__ import annotations

TEXT_CHARACTERS_MAX = 1 << 20
"""Characters in one expression that a user passes as text or JSON."""

STORED_TEXT_CHARACTERS_MAX = 1 << 25
"""Characters in the text of one expression that is built in Python or read from a saved index."""

DEPTH_MAX = 100
"""Levels of nesting in one expression: parentheses, NOT, and the connectives above a predicate."""

PREDICATES_MAX = 50_000
"""Predicates in one expression, counted with repetition."""

LIST_CONSTANTS_MAX = 1 << 20
"""Constants in one IN list."""

STRING_CHARACTERS_MAX = 1 << 16
"""Characters in one string constant."""

PATTERN_CHARACTERS_MAX = 4_096
"""Characters in one LIKE, CONTAINS or MATCHES pattern."""

NAME_CHARACTERS_MAX = 1_024
"""Characters in the name of an attribute."""

EVENT_OBJECTS_MAX = 10_000
"""Nested objects in one event."""

INTEGER_MAX = (1 << 62) - 1
"""Largest magnitude of an exact integer. A larger number is a double."""

COMPUTED_CHARACTERS_MAX = 1 << 24
"""Characters in a computed string. A longer result is undefined."""

COMBINATIONS_MAX = 10_000
"""Combinations of list members for which a function of several lists is computed. With more it is undefined."""
