"""How does a query become an expression? Here are the queries of queries; those of one field are in leaves.py."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from expressions import ALWAYS, NEVER, all_of, any_of, at_least
from leaves import Leaves, NotHere
from options import count_required, get_only_member, get_required, members
from values import as_list

import tellwhen as tw

PER_FIELD = {"best_fields": "match", "most_fields": "match", "phrase": "match_phrase"}
PER_FIELD["phrase_prefix"] = "match_phrase_prefix"
OPTIONAL = ("operator", "minimum_should_match", "zero_terms_query", "lenient", "fuzziness", "slop")


@dataclass(frozen=True)
class Converter(Leaves):
    """Queries to expressions."""

    def __call__(self, query: Any) -> tw.Expr:
        kind, body = get_only_member(query)
        converted: Callable[[Any], tw.Expr] | None = getattr(self, f"from_{kind}", None)
        if converted is None:
            raise ValueError(f"there is no expression for {kind}")
        try:
            return converted(body)
        except NotHere:
            return NEVER

    def from_bool(self, body: Any) -> tw.Expr:
        given = members("bool", body, "must", "filter", "should", "must_not", "minimum_should_match")
        parts = [self(query) for clause in ("must", "filter") for query in as_list(given.get(clause))]
        should = as_list(given.get("should"))
        least = count_required(given.get("minimum_should_match", 0), len(should))
        if least > 0 or (should and not parts):  # beside others, `should` only adds to the score
            parts.append(at_least(max(1, least), [self(query) for query in should]))
        definite = replace(self, sure=True)
        return all_of([*parts, *(~definite(query) for query in as_list(given.get("must_not")))])

    def from_nested(self, body: Any) -> tw.Expr:
        path, query = (get_required("nested", body, *names) for names in (("path", "query"), ("query", "path")))
        if path not in self.fields.nested or not path.startswith(self.path):
            raise ValueError(f"{path} is not nested in {self.path[:-1] or 'the mapping'}")
        found = replace(self, path=f"{path}.")(query)
        while path != self.path[:-1]:  # from the inner object to the outer ones
            outer = self.fields.nest_of(path)
            column = tw.col(path.removeprefix(f"{outer}." if outer else ""))
            found, path = self.require_attribute(column, column.any(found)), outer
        return found

    def from_multi_match(self, body: Any) -> tw.Expr:
        given = members("multi_match", body, "query", "fields", "type", *OPTIONAL)
        kind = given.pop("type", "best_fields")
        if kind not in PER_FIELD:
            raise ValueError(f"multi_match of type {kind}")
        names = as_list(given.pop("fields", None))
        if not names:
            raise ValueError("multi_match without fields")
        if kind.startswith("phrase"):
            given.pop("operator", None)
        return any_of(self({PER_FIELD[kind]: {name.partition("^")[0]: given}}) for name in names)

    def from_dis_max(self, body: Any) -> tw.Expr:
        return any_of(map(self, as_list(get_required("dis_max", body, "queries"))))

    def from_match_all(self, body: Any) -> tw.Expr:
        return ALWAYS

    def from_match_none(self, body: Any) -> tw.Expr:
        return NEVER

    # Those that are about scores

    def from_constant_score(self, body: Any) -> tw.Expr:
        return self(get_required("constant_score", body, "filter"))

    def from_boosting(self, body: Any) -> tw.Expr:
        return self(get_required("boosting", body, "positive", "negative", "negative_boost"))

    def from_function_score(self, body: Any) -> tw.Expr:
        if not isinstance(body, dict) or "min_score" in body:
            raise ValueError("a score with min_score")
        return self(body.get("query", {"match_all": {}}))

    from_script_score = from_function_score
