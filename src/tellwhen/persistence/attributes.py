"""Attributes in a saved index: domains and patterns as JSON, the constants of dictionaries as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes, Domain
from tellwhen.compile.dictionary import Dictionary, SavedDictionary
from tellwhen.compile.patterns import Patterns
from tellwhen.containers.texts import Texts


def describe_attributes(attributes: Attributes) -> dict[str, Any]:
    """Return as JSON the domains by number, the patterns, and the names of the attributes that need FALSE.

    An attribute needs FALSE if some subscription asks whether its value is FALSE, or whether it is present.
    """
    return {
        "domains": [list(domain) for domain in attributes.domains],
        "patterns": [
            [domain, key.pattern, key.zero]
            for domain, key in enumerate(attributes.list_domain_keys())
            if key.kind == "pattern"
        ],
        "asked_false": [name for name, attribute in attributes.by_name.items() if attribute.needs_false],
    }


def collect_dictionary_arrays(attributes: Attributes) -> dict[str, np.ndarray]:
    """Return the constants of all string domains as arrays, ordered by domain and text."""
    domains = [domain for domain, (_, kind) in enumerate(attributes.domains) if kind in LABELLED_KINDS]
    parts = [attributes.get_dictionary(domain).arrays() for domain in domains]
    lengths = [np.diff(start) for start, _, _ in parts]
    return {
        "domain": np.repeat(np.array(domains, np.int32), [len(length) for length in lengths]),
        "label": np.concatenate([np.zeros(0, np.int64), *(labels for _, _, labels in parts)]),
        "start": np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]),
        "text": np.concatenate([np.zeros(0, np.uint8), *(data for _, data, _ in parts)]),
    }


def restore_attributes(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Attributes:
    """Restore the attributes. Each dictionary stays in the arrays until it changes."""
    attributes = Attributes()
    attributes.domains = [Domain(name, kind) for name, kind in meta["domains"]]
    for number, (name, kind) in enumerate(attributes.domains):
        attribute = attributes.get_or_create(name)
        if kind in LABELLED_KINDS:
            setattr(attribute, kind, _make_dictionary(number, arrays))
        elif kind != "pattern":
            setattr(attribute, kind, number)
            if kind == "presence":
                attributes.presence_domains[name] = number
    for name in meta["asked_false"]:
        attributes.require_false(attributes.get_or_create(name))
    for domain, pattern, zero in meta["patterns"]:
        attribute = attributes.get_or_create(attributes.domains[domain].attribute)
        if attribute.patterns is None:
            attribute.patterns = Patterns()
        attribute.patterns.add(pattern, domain)
        if zero:
            attribute.patterns.zeros.add(domain)
    return attributes


def _make_dictionary(domain: int, arrays: Mapping[str, np.ndarray]) -> Dictionary:
    begin, end = np.searchsorted(arrays["domain"], [domain, domain + 1]).tolist()
    return Dictionary(
        domain, saved=SavedDictionary(Texts(arrays["start"], arrays["text"]), arrays["label"], begin, end)
    )
