"""Attributes and their domains, which are created when a subscription first needs them.

A subscription that compares `x` with a string and another that compares it with a number use two domains. A value of
an event becomes a point on the domains of its own family only, so a predicate is undefined on a value of another type.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from tellwhen.compile.dictionary import Dictionary, LabelMoves
from tellwhen.compile.patterns import Patterns
from tellwhen.kernels.arrays import Predicates
from tellwhen.language.ast import Expr
from tellwhen.language.computation import get_term
from tellwhen.language.literals import get_display_name
from tellwhen.language.terms import AnyMember, Term, get_required_name, is_computed
from tellwhen.language.values import Family

DomainKind = Literal["int", "float", "bool", "time", "string", "reversed", "pattern", "presence"]

FAMILY_BY_KIND: dict[DomainKind, Family | None] = {
    "int": "number", "float": "number", "bool": "bool", "time": "time",
    "string": "string", "reversed": "string", "pattern": "string", "presence": None,
}  # fmt: skip

LABELLED_KINDS: tuple[DomainKind, ...] = ("string", "reversed")
"""Kinds of domains whose points are labels that a dictionary gives to strings."""


class Domain(NamedTuple):
    """The attribute of a domain, and the kind of the domain, which says how values become points."""

    attribute: str
    kind: DomainKind


class DomainKey(NamedTuple):
    """Key that identifies a domain in every store. Its number differs from store to store."""

    attribute: str
    kind: DomainKind
    pattern: str  # regular expression of a domain of kind "pattern"; empty for other kinds
    zero: bool  # whether some subscription needs the point 0: the pattern does not match, or the bool is FALSE


class ComputedAttribute(NamedTuple):
    """An attribute that no event has, and the term that computes it from other attributes."""

    name: str
    term: Term


class Bracket(NamedTuple):
    """A condition on the objects in a list, such as `items[price > 5]`, as an attribute.

    The condition holds if the expression is true of some object in the list; if `is_negated`, if it is false of some.
    """

    name: str
    expression: Expr
    is_negated: bool


class Attribute:
    """The domains of one attribute.

    A domain without labels is its number, or -1 if there is none. A domain with labels is a dictionary, and the pattern
    domains are a `Patterns`; both know their numbers, and are None if there is no such domain.
    """

    __slots__ = ("bool", "float", "int", "name", "needs_false", "patterns", "presence", "reversed", "string", "time")

    def __init__(self, name: str) -> None:
        self.name = name
        self.int = self.float = self.bool = self.time = self.presence = -1
        self.needs_false = False  # whether some subscription asks if the value is FALSE, or if it is present
        self.string: Dictionary | None = None
        self.reversed: Dictionary | None = None
        self.patterns: Patterns | None = None

    @property
    def display_name(self) -> str:
        """Name to show to users: the term of a computed attribute, or the name itself."""
        return get_display_name(self.name)

    @property
    def families(self) -> set[Family]:
        """Families of the constants that subscriptions compare the attribute with."""
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

    @property
    def has_domains(self) -> bool:
        return bool(self.families) or self.presence >= 0

    def rewind(self, domain_count: int) -> None:
        """Drop the domains with numbers from `domain_count` on."""
        for kind in ("int", "float", "bool", "time", "presence"):
            if getattr(self, kind) >= domain_count:
                setattr(self, kind, -1)
        for kind in LABELLED_KINDS:
            dictionary = getattr(self, kind)
            if dictionary is not None:
                dictionary.repair()
                if dictionary.domain >= domain_count:
                    setattr(self, kind, None)
        if self.patterns is not None:
            self.patterns.rewind(domain_count)
            if not self.patterns.domains:
                self.patterns = None


class Attributes:
    """All attributes of a store by name, and all domains by number."""

    __slots__ = (
        "brackets_by_list",
        "by_name",
        "compiled_brackets",
        "computed_by_operand",
        "domains",
        "presence_domains",
    )

    def __init__(self) -> None:
        self.by_name: dict[str, Attribute] = {}
        self.domains: list[Domain] = []
        self.presence_domains: dict[str, int] = {}  # by attribute; an event without the attribute has the point 0
        self.computed_by_operand: dict[str, list[ComputedAttribute]] = {}  # by an attribute that they need
        self.brackets_by_list: dict[str, list[Bracket]] = {}  # by the attribute of the list
        self.compiled_brackets: dict[str, Any] = {}  # the same, compiled by `encode/brackets.py`

    def get_or_create(self, name: str) -> Attribute:
        """Return the attribute with this name; create it if it is missing."""
        attribute = self.by_name.get(name)
        if attribute is None:
            attribute = self.by_name[name] = Attribute(name)
            if is_computed(name):
                self._register_term(attribute)
        return attribute

    def _register_term(self, attribute: Attribute) -> None:
        """Register the term of a computed attribute, so that events are extended by its value."""
        term = get_term(attribute.name)
        if isinstance(term, AnyMember):
            brackets = self.brackets_by_list.setdefault(term.name, [])
            brackets.append(Bracket(attribute.name, term.expression, False))
            if attribute.needs_false:
                brackets.append(Bracket(attribute.name, term.expression, True))
        else:
            self.computed_by_operand.setdefault(get_required_name(term), []).append(
                ComputedAttribute(attribute.name, term)
            )

    def require_false(self, attribute: Attribute) -> None:
        """Record that some subscription asks if the attribute is FALSE, or if it is present."""
        if not attribute.needs_false:
            attribute.needs_false = True
            term = get_term(attribute.name) if is_computed(attribute.name) else None
            if isinstance(term, AnyMember):
                self.brackets_by_list[term.name].append(Bracket(attribute.name, term.expression, True))

    def get_or_create_domain(self, attribute: Attribute, kind: DomainKind) -> int:
        """Return the number of the domain of this kind; create the domain if it is missing."""
        if kind == "pattern":
            raise ValueError("each pattern has its own domain: use get_or_create_pattern()")
        if kind in LABELLED_KINDS:
            dictionary: Dictionary | None = getattr(attribute, kind)
            if dictionary is None:
                dictionary = Dictionary(self._append_domain(attribute, kind))
                setattr(attribute, kind, dictionary)
            return dictionary.domain
        domain: int = getattr(attribute, kind)
        if domain < 0:
            domain = self._append_domain(attribute, kind)
            setattr(attribute, kind, domain)
            if kind == "presence":
                self.presence_domains[attribute.name] = domain
                self.require_false(attribute)
        return domain

    def get_or_create_pattern(self, attribute: Attribute, pattern: str) -> int:
        """Return the number of the Boolean domain of a pattern; create the domain if it is missing."""
        if attribute.patterns is None:
            attribute.patterns = Patterns()
        domain = attribute.patterns.domains.get(pattern)
        if domain is None:
            domain = self._append_domain(attribute, "pattern")
            attribute.patterns.add(pattern, domain)
        return domain

    def list_domain_keys(self) -> list[DomainKey]:
        """Return the keys of all domains, by number. Another thread may add domains meanwhile."""
        patterns = {
            domain: (pattern, domain in attribute.patterns.zeros)
            for attribute in list(self.by_name.values())
            if attribute.patterns is not None
            for pattern, domain in list(attribute.patterns.domains.items())
        }
        keys = []
        for number, domain in enumerate(list(self.domains)):
            attribute = self.by_name.get(domain.attribute)
            needs_false = domain.kind == "bool" and attribute is not None and attribute.needs_false
            keys.append(DomainKey(*domain, *patterns.get(number, ("", needs_false))))
        return keys

    def get_or_create_by_key(self, key: DomainKey) -> int:
        """Return the number of the domain with this key; create the domain if it is missing."""
        attribute = self.get_or_create(key.attribute)
        if key.kind != "pattern":
            if key.kind == "bool" and key.zero:
                self.require_false(attribute)
            return self.get_or_create_domain(attribute, key.kind)
        domain = self.get_or_create_pattern(attribute, key.pattern)
        if key.zero:
            assert attribute.patterns is not None
            attribute.patterns.zeros.add(domain)
        return domain

    def _append_domain(self, attribute: Attribute, kind: DomainKind) -> int:
        self.domains.append(Domain(attribute.name, kind))
        return len(self.domains) - 1

    def get_dictionary(self, domain: int) -> Dictionary:
        """Return the dictionary of a domain whose kind is in LABELLED_KINDS."""
        name, kind = self.domains[domain]
        attribute = self.by_name[name]
        found: Dictionary = getattr(attribute, kind)
        return found

    def copy_with_dictionary(self, dictionary: Dictionary) -> Attributes:
        """Return a copy in which one domain has the given dictionary. Readers keep the unchanged original."""
        name, kind = self.domains[dictionary.domain]
        after = Attributes()
        after.domains = self.domains
        after.by_name = dict(self.by_name)
        changed = copy.copy(self.by_name[name])
        setattr(changed, kind, dictionary)
        after.by_name[name] = changed
        after.presence_domains, after.computed_by_operand = self.presence_domains, self.computed_by_operand
        after.brackets_by_list, after.compiled_brackets = self.brackets_by_list, self.compiled_brackets
        return after

    def add_constants(self, domain: int, texts: Iterable[str]) -> tuple[Attributes, LabelMoves | None]:
        """Add the constants that the dictionary of a domain lacks.

        If a gap between its labels is too small, the domain is relabelled: return a copy with the new dictionary, and
        how the labels moved. Otherwise, return these attributes and None.
        """
        dictionary = self.get_dictionary(domain)
        new = dictionary.find_missing(texts)
        if not new or dictionary.add(new):
            return self, None
        after, moves = dictionary.relabel(new)
        return self.copy_with_dictionary(after), moves

    def extend(self, added: Attributes) -> tuple[Attributes, list[tuple[int, LabelMoves]]]:
        """Add the domains and constants of `added`, the attributes of another store.

        Return the attributes with which events are encoded from now on, and the label moves of the relabelled domains.
        """
        extended, all_moves = self, []
        for number, key in enumerate(added.list_domain_keys()):
            domain = extended.get_or_create_by_key(key)
            if key.kind in LABELLED_KINDS:
                extended, moves = extended.add_constants(domain, added.get_dictionary(number).keys)
                if moves is not None:
                    all_moves.append((domain, moves))
        return extended, all_moves

    def copy_trimmed(self, predicates: Predicates) -> tuple[Attributes, Predicates]:
        """Copy only the domains and constants that the predicates use.

        Return the copy, and the predicates with the domain numbers of the copy.
        """
        used, domain = np.unique(predicates.domain, return_inverse=True)
        owner = np.repeat(domain, np.diff(predicates.start))
        order = np.argsort(owner, kind="stable")
        begin = np.searchsorted(owner[order], np.arange(len(used) + 1))
        after, keys = Attributes(), self.list_domain_keys()
        for number, old in enumerate(used.tolist()):
            key = keys[old]
            after.get_or_create_by_key(key)
            if key.kind in LABELLED_KINDS:
                mine = order[begin[number] : begin[number + 1]]
                ends = np.concatenate([predicates.low[mine], predicates.high[mine]])
                setattr(after.by_name[key.attribute], key.kind, self.get_dictionary(old).copy_trimmed(ends, number))
        return after, predicates._replace(domain=domain.astype(np.int32))

    def rewind(self, domain_count: int) -> None:
        """Drop the domains with numbers from `domain_count` on, and repair what an interrupt has left half done."""
        for name, attribute in list(self.by_name.items()):
            attribute.rewind(domain_count)
            if not attribute.has_domains:
                del self.by_name[name]
        self.presence_domains = {name: a.presence for name, a in self.by_name.items() if a.presence >= 0}
        fresh = Attributes()
        for name, attribute in self.by_name.items():
            if is_computed(name):
                fresh._register_term(attribute)
        # Replaced rather than cleared, since other threads are matching.
        self.computed_by_operand, self.compiled_brackets = fresh.computed_by_operand, {}
        self.brackets_by_list = fresh.brackets_by_list
        del self.domains[domain_count:]
