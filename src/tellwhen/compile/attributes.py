"""Which domains does an attribute have? They are created as subscriptions need them.

A subscription that compares `x` with a string and another that compares it with a number use two domains. The value of
an event becomes a point on the domains of its own family, so a predicate on a value of a wrong type is undefined.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, NamedTuple

import numpy as np

from tellwhen.compile.dictionary import Dictionary
from tellwhen.compile.patterns import Patterns
from tellwhen.kernels.arrays import Predicates
from tellwhen.language.ast import Expr
from tellwhen.language.computation import get_term
from tellwhen.language.literals import get_display_name
from tellwhen.language.terms import Each, Term, get_required_name, is_computed
from tellwhen.language.values import Family

DomainKind = Literal["int", "float", "bool", "time", "string", "reversed", "pattern", "presence"]

FAMILY: dict[DomainKind, Family | None] = {
    "int": "number", "float": "number", "bool": "bool", "time": "time",
    "string": "string", "reversed": "string", "pattern": "string", "presence": None,
}  # fmt: skip

LABELLED_KINDS: tuple[DomainKind, ...] = ("string", "reversed")
"""Kinds of domains whose points are labels of a dictionary."""


class Domain(NamedTuple):
    """The attribute of a domain, and how values become points on it."""

    attribute: str
    kind: DomainKind


class DomainKey(NamedTuple):
    """What identifies a domain in every store, whatever its number there."""

    attribute: str
    kind: DomainKind
    pattern: str  # empty for other kinds
    zero: bool  # does some subscription need the strings that do not match the pattern, or whether a bool is FALSE?


class Computed(NamedTuple):
    """An attribute that no event has: it is computed from others."""

    name: str
    term: Term


class Bracket(NamedTuple):
    """`items[price > 5]` as an attribute: is its expression true of an object in the list or, if negated, false?"""

    name: str
    expression: Expr
    is_negated: bool


class Attribute:
    """The domains of one attribute: a number, or -1; a dictionary or patterns, which have numbers, or None."""

    __slots__ = ("asks_false", "bool", "float", "int", "name", "patterns", "presence", "reversed", "string", "time")

    def __init__(self, name: str) -> None:
        self.name = name
        self.int = self.float = self.bool = self.time = self.presence = -1
        self.asks_false = False  # does some subscription ask whether it is FALSE, or whether it is there?
        self.string: Dictionary | None = None
        self.reversed: Dictionary | None = None
        self.patterns: Patterns | None = None

    @property
    def shown(self) -> str:
        """Its name for users: of a computed one, its term."""
        return get_display_name(self.name)

    @property
    def families(self) -> set[Family]:
        """The families of the constants that it is compared with."""
        found: set[Family] = set()
        if self.int >= 0 or self.float >= 0:
            found.add("number")
        if self.bool >= 0:
            found.add("bool")
        if self.time >= 0:
            found.add("time")
        if self.string or self.reversed or self.patterns:
            found.add("string")
        return found

    def rewind(self, domains: int) -> bool:
        """Drop the domains of this number and above; False if none is left."""
        for kind in ("int", "float", "bool", "time", "presence"):
            if getattr(self, kind) >= domains:
                setattr(self, kind, -1)
        for kind in LABELLED_KINDS:
            dictionary = getattr(self, kind)
            if dictionary is not None:
                dictionary.mend()
                if dictionary.domain >= domains:
                    setattr(self, kind, None)
        if self.patterns is not None and not self.patterns.rewind(domains):
            self.patterns = None
        return bool(self.families) or self.presence >= 0


class Attributes:
    """All attributes by name, and all domains by number."""

    __slots__ = ("brackets", "by_name", "computed", "domains", "in_lists", "watched")

    def __init__(self) -> None:
        self.by_name: dict[str, Attribute] = {}
        self.domains: list[Domain] = []
        self.watched: dict[str, int] = {}  # presence domains by attribute: an event without it has the point 0 there
        self.computed: dict[str, list[Computed]] = {}  # by an attribute without which they are undefined
        self.brackets: dict[str, list[Bracket]] = {}  # by list
        self.in_lists: dict[str, Any] = {}  # by list: its brackets, compiled by whoever encodes events

    def of(self, name: str) -> Attribute:
        """The attribute of this name, created if need be."""
        attribute = self.by_name.get(name)
        if attribute is None:
            attribute = self.by_name[name] = Attribute(name)
            if is_computed(name):
                self._compute(attribute)
        return attribute

    def _compute(self, attribute: Attribute) -> None:
        """Note how an attribute is computed."""
        term = get_term(attribute.name)
        if isinstance(term, Each):
            brackets = self.brackets.setdefault(term.name, [])
            brackets.append(Bracket(attribute.name, term.expression, False))
            if attribute.asks_false:
                brackets.append(Bracket(attribute.name, term.expression, True))
        else:
            self.computed.setdefault(get_required_name(term), []).append(Computed(attribute.name, term))

    def ask_false(self, attribute: Attribute) -> None:
        """A subscription asks whether the attribute is FALSE, or whether it is there."""
        if not attribute.asks_false:
            attribute.asks_false = True
            term = get_term(attribute.name) if is_computed(attribute.name) else None
            if isinstance(term, Each):
                self.brackets[term.name].append(Bracket(attribute.name, term.expression, True))

    def domain(self, attribute: Attribute, kind: DomainKind) -> int:
        """The domain of this kind of the attribute, created if need be."""
        if kind == "pattern":
            raise ValueError("a pattern has a domain of its own: use pattern()")
        if kind in LABELLED_KINDS:
            dictionary: Dictionary | None = getattr(attribute, kind)
            if dictionary is None:
                dictionary = Dictionary(self._new(attribute, kind))
                setattr(attribute, kind, dictionary)
            return dictionary.domain
        domain: int = getattr(attribute, kind)
        if domain < 0:
            domain = self._new(attribute, kind)
            setattr(attribute, kind, domain)
            if kind == "presence":
                self.watched[attribute.name] = domain
                self.ask_false(attribute)
        return domain

    def pattern(self, attribute: Attribute, pattern: str) -> int:
        """The Boolean domain of a pattern of the attribute, created if need be."""
        if attribute.patterns is None:
            attribute.patterns = Patterns()
        domain = attribute.patterns.domains.get(pattern)
        if domain is None:
            domain = self._new(attribute, "pattern")
            attribute.patterns.add(pattern, domain)
        return domain

    def domain_keys(self) -> list[DomainKey]:
        """The keys of all domains, by number. Another thread may add some meanwhile."""
        patterns = {
            domain: (pattern, domain in attribute.patterns.zeros)
            for attribute in list(self.by_name.values())
            if attribute.patterns is not None
            for pattern, domain in list(attribute.patterns.domains.items())
        }
        keys = []
        for number, domain in enumerate(list(self.domains)):
            attribute = self.by_name.get(domain.attribute)
            asks_false = domain.kind == "bool" and attribute is not None and attribute.asks_false
            keys.append(DomainKey(*domain, *patterns.get(number, ("", asks_false))))
        return keys

    def add(self, key: DomainKey) -> int:
        """The domain with this key, created if need be."""
        attribute = self.of(key.attribute)
        if key.kind != "pattern":
            if key.kind == "bool" and key.zero:
                self.ask_false(attribute)
            return self.domain(attribute, key.kind)
        domain = self.pattern(attribute, key.pattern)
        if key.zero:
            assert attribute.patterns is not None
            attribute.patterns.zeros.add(domain)
        return domain

    def _new(self, attribute: Attribute, kind: DomainKind) -> int:
        self.domains.append(Domain(attribute.name, kind))
        return len(self.domains) - 1

    def dictionary(self, domain: int) -> Dictionary:
        """The dictionary of a domain of a labelled kind."""
        name, kind = self.domains[domain]
        attribute = self.by_name[name]
        found: Dictionary = getattr(attribute, kind)
        return found

    def with_dictionary(self, dictionary: Dictionary) -> Attributes:
        """A copy in which one domain has another dictionary: readers keep this one."""
        name, kind = self.domains[dictionary.domain]
        after = Attributes()
        after.domains = self.domains
        after.by_name = dict(self.by_name)
        changed = copy.copy(self.by_name[name])
        setattr(changed, kind, dictionary)
        after.by_name[name] = changed
        after.watched, after.computed = self.watched, self.computed
        after.brackets, after.in_lists = self.brackets, self.in_lists
        return after

    def trimmed(self, predicates: Predicates) -> tuple[Attributes, Predicates]:
        """A copy with only the domains and constants that the predicates use, and the predicates in terms of it."""
        used, domain = np.unique(predicates.domain, return_inverse=True)
        owner = np.repeat(domain, np.diff(predicates.start))
        order = np.argsort(owner, kind="stable")
        begin = np.searchsorted(owner[order], np.arange(len(used) + 1))
        after, keys = Attributes(), self.domain_keys()
        for number, old in enumerate(used.tolist()):
            key = keys[old]
            after.add(key)
            if key.kind in LABELLED_KINDS:
                mine = order[begin[number] : begin[number + 1]]
                ends = np.concatenate([predicates.low[mine], predicates.high[mine]])
                setattr(after.by_name[key.attribute], key.kind, self.dictionary(old).trimmed(ends, number))
        return after, predicates._replace(domain=domain.astype(np.int32))

    def rewind(self, domains: int) -> None:
        """Drop the domains of this number and above, and mend what an interrupt has left half done."""
        for name, attribute in list(self.by_name.items()):
            if not attribute.rewind(domains):
                del self.by_name[name]
        self.watched = {name: a.presence for name, a in self.by_name.items() if a.presence >= 0}
        fresh = Attributes()
        for name, attribute in self.by_name.items():
            if is_computed(name):
                fresh._compute(attribute)
        # At once: other threads match.
        self.computed, self.in_lists, self.brackets = fresh.computed, {}, fresh.brackets
        del self.domains[domains:]
