"""Reject functions and modules whose names do not say what they do: `python -m tools.lint_names [FOLDER ...]`.

- A function starts with a verb (`merge_segments`) and a predicate with is_, has_, can_ or needs_. So the first word is
  not a past participle (`merged`), and the whole name is not a pronoun, a preposition or an adverb (`of`, `together`).
- A module is named by a noun (`segments`), so its name is none of these words either.
- A property is a value: it may be named by any of them (`index.removed`).

`ALLOWED` lists the accepted exceptions with their reasons.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDERS = ("src", "bench", "docs", "examples", "tools")

ALLOWED = {
    "between": "col('price').between(20, 40), as in SQL, Spark and ibis",
    "computed.py": "computed attributes; SQL has computed columns",
    "ranked.py": "ranked publish/subscribe is the term of the VLDB 2008 paper",
    "relaxed.py": "relaxed matching is the term of the VLDB 2008 paper",
}
"""Accepted names and the reasons: terms of the field. Functions are without leading underscores, modules with `.py`."""
ALLOWED_MAX = 20

IRREGULAR_PARTICIPLES = frozenset(
    "beaten begun bent bitten blown born borne bought bound broken brought built burnt caught chosen dealt done "
    "drawn driven dug eaten fallen fed felt flown forgotten found frozen given gone grown heard held hidden kept "
    "known laid lain led left lent lost made meant met paid ridden risen said seen sent shaken shown slept sold "
    "sought sped spent spoken spun stolen stood struck stuck sung sunk swept sworn taken taught thought thrown told "
    "torn understood woken won worn woven written".split()
)
VERBS_IN_ED = frozenset("bleed breed embed exceed proceed speed succeed".split())
WORDS_WITHOUT_CONTENT = frozenset(
    "about above across after again ahead all alone along also anew anyhow anyway apart around as aside at away "
    "back before behind below beneath beside besides between beyond both by down during each either else every for "
    "from here how in into it its more most near none of off on once one only other others out over own rest same "
    "since so still straight such that them then there these they this those through to together under until up "
    "upon what when where which while who whom whose why with within without yet".split()
)


class Fault(NamedTuple):
    """A rejected name and where it is defined."""

    path: Path
    line: int
    name: str
    problem: str


def lint_names(folders: Sequence[Path], allowed: Mapping[str, str]) -> list[Fault]:
    """Return the rejected names in all Python files of the folders."""
    faults: list[Fault] = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            faults += _lint_module_name(path)
            faults += _lint_functions(path)
    return [fault for fault in faults if fault.name.strip("_") not in allowed]


def find_unused(folders: Sequence[Path], allowed: Mapping[str, str]) -> list[str]:
    """Return the accepted names that no file in the folders would need to have accepted."""
    needed = {fault.name.strip("_") for fault in lint_names(folders, {})}
    return sorted(set(allowed) - needed)


def is_participle(name: str) -> bool:
    """Return whether the first word of a name is a past participle."""
    first = name.strip("_").split("_")[0].lower()
    is_regular = first.endswith("ed") and len(first) > 4 and first not in VERBS_IN_ED
    return is_regular or first in IRREGULAR_PARTICIPLES


def is_without_content(name: str) -> bool:
    """Return whether the whole name is a pronoun, a preposition or an adverb."""
    return name.strip("_").lower() in WORDS_WITHOUT_CONTENT


def _lint_module_name(path: Path) -> Iterator[Fault]:
    name = path.stem
    if is_without_content(name) or ("_" not in name and is_participle(name)):
        yield Fault(path, 1, path.name, "does not say what the module contains; take a noun")


def _lint_functions(path: Path) -> Iterator[Fault]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_property(node):
            continue
        if is_participle(node.name):
            yield Fault(path, node.lineno, node.name, "starts with a participle; a function starts with a verb")
        elif is_without_content(node.name):
            yield Fault(path, node.lineno, node.name, "does not say what the function does; start with a verb")


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a decorator makes the function a property, its setter or its deleter."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any("property" in text or text.endswith((".setter", ".deleter")) for text in decorators)


def main(arguments: list[str]) -> int:
    """Print every rejected name; return the exit code."""
    folders = [Path(name) for name in arguments or FOLDERS]
    faults = lint_names(folders, ALLOWED)
    for fault in faults:
        print(f"{fault.path}:{fault.line}: {fault.name} {fault.problem}")
    if faults:
        print(f"{len(faults)} names rejected: rename them, or accept one in ALLOWED of {__file__} with its reason")
    unused = [] if arguments else find_unused(folders, ALLOWED)
    if unused:
        print(f"ALLOWED in {__file__} has names that no code uses: remove {', '.join(unused)}")
    return int(bool(faults or unused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
