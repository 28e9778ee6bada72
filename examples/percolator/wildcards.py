"""How are the wildcards and regular expressions of a query written in an expression?"""

import re

SPECIAL = frozenset("~&@#<>")
"""Operators of Lucene that RE2 has not. Without flags, they are characters."""


def like(wildcard: str) -> str:
    """A wildcard as a pattern for LIKE, with ! to escape."""
    found = []
    for part in re.findall(r"\\.|.", wildcard, re.S):
        sign = part[-1]
        found.append({"*": "%", "?": "_"}.get(part, f"!{sign}" if sign in "%_!" else sign))
    return "".join(found)


def re2(lucene: str, flags: str = "ALL") -> str:
    """A regular expression of Lucene in RE2's syntax."""
    found: list[str] = []
    before = "("
    for part in re.findall(r"\\.|\"[^\"]*\"|\[(?:\\.|[^\]])*\]|\{[^}]*\}|.", lucene, re.S):
        is_repeat = part in ("*", "+", "?") or part[0] == "{"
        if is_repeat and (before in ("(", "|", "*", "+", "?") or before[0] == "{"):
            raise ValueError(f"{before}{part} in a regular expression, which has another meaning in RE2")
        found.append(part if is_repeat else one_part(part, flags))
        before = part
    return "".join(found)


def one_part(part: str, flags: str) -> str:
    """A character, a class or a quotation."""
    if part in SPECIAL and flags != "NONE":
        raise ValueError(f"{part} in a regular expression")
    if len(part) > 1 and part[0] == '"':
        return re.escape(part[1:-1])
    if part[0] == "\\":
        return convert_escape(part)
    if part[0] == "[":
        if "[" in part[1:].replace("\\[", ""):
            raise ValueError(f"[ in {part}, a class of a regular expression")
        return re.sub(r"\\.", lambda one: convert_escape(one[0]), part, flags=re.S)
    return re.escape(part) if part in SPECIAL or part in "^$" else part


def convert_escape(part: str) -> str:
    """Convert a backslash and a character: the character stands for itself, except for a few classes."""
    return part if part[-1] in "dwsDWS" else re.escape(part[-1])
