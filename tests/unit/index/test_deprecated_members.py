"""Old names of Index: each warns, names its replacement, and returns what that returns."""

import pytest

import tellwhen as tw
from tellwhen.deprecation import REMOVAL_VERSION

EVENT = {"x": 5, "Y": 1}


@pytest.fixture
def index():
    rows = [("a", "x > 1", 2.0, {"x": 0.5}, {"to": "ann"}), ("b", "x + 1 > 2 OR y = 'z'")]
    return tw.Index().add_many(rows)


CALLS = {
    "Index.match(payload=...)": (lambda i: i.match(EVENT, payload=True), lambda i: i.match_with_payloads(EVENT)),
    "Index.match(payload=...) ": (
        lambda i: i.match(EVENT, payload=["to"]),
        lambda i: i.match_with_payloads(EVENT, fields=["to"]),
    ),
    'Index.count_many(by="subscription")': (
        lambda i: i.count_many([EVENT], by="subscription"),
        lambda i: i.count_by_subscription([EVENT]),
    ),
    'Index.add_many(errors="quarantine")': (
        lambda i: i.add_many({"c": "x >"}, errors="quarantine"),
        lambda i: i.add_valid({"c": "x >"}),
    ),
    "Index.exists()": (lambda i: i.exists(EVENT), lambda i: i.has_match(EVENT)),
    "Index.score()": (lambda i: i.score("a"), lambda i: i.get_subscription("a").score),
    "Index.weights()": (lambda i: i.weights("a"), lambda i: i.get_subscription("a").weights),
    "Index.text()": (lambda i: i.text("a"), lambda i: i.get_subscription("a").expression),
    "Index.payload()": (lambda i: i.payload("a"), lambda i: i.get_payload("a")),
    "Index.payload_values()": (
        lambda i: i.payload_values("to", ["b", "a"]),
        lambda i: i.get_payload_values("to", ["b", "a"]),
    ),
    "Index.texts()": (lambda i: list(i.texts()), lambda i: list(i.iter_texts())),
    "Index.plan()": (lambda i: i.plan(), lambda i: i.inspect.describe_engine()),
    "Index.heaviest()": (lambda i: i.heaviest(1), lambda i: i.inspect.find_costly_predicates(1)),
    "Index.mentioning()": (
        lambda i: i.mentioning("x", constant=1),
        lambda i: i.inspect.find_mentions("x", constant=1),
    ),
    "Index.unmatched_attributes()": (
        lambda i: i.unmatched_attributes([EVENT]),
        lambda i: i.inspect.check_attributes([EVENT]),
    ),
    "Index.stats()": (lambda i: i.stats(), lambda i: i.inspect.get_stats()),
    "Index.types": (lambda i: i.types, lambda i: i.inspect.get_types()),
    "Index.attributes": (lambda i: i.attributes, lambda i: i.inspect.get_attributes()),
    "Index.computed_from": (lambda i: i.computed_from, lambda i: i.inspect.get_computation_inputs()),
    "Index.observe()": (lambda i: i.observe([EVENT]).profile.events, lambda i: i.profile.events),
    "Index.adapt()": (
        lambda i: [i.match(EVENT), i.adapt().profile.events],
        lambda i: [["a", "b"], i.profile.events],
    ),
}


@pytest.mark.parametrize("old", CALLS)
def test_an_old_name_warns_and_returns_the_same(index, old):
    call_old, call_new = CALLS[old]
    with pytest.warns(DeprecationWarning, match="is deprecated and will be removed") as caught:
        got = call_old(index)
    assert got == call_new(index)
    (warning,) = caught
    assert str(warning.message).startswith(
        f"{old.strip()} is deprecated and will be removed in tellwhen {REMOVAL_VERSION}"
    )
    assert warning.filename == __file__


def test_values_that_were_never_allowed_are_refused(index):
    with pytest.raises(tw.ArgumentError, match="errors must be 'raise' or 'quarantine'"):
        index.add_many({}, errors="ignore")
    with pytest.raises(tw.ArgumentError, match="by must be 'event' or 'subscription'"):
        index.count_many([], by="day")


def test_the_old_name_of_a_function_is_still_imported(index, tmp_path):
    index.save(tmp_path / "index", note={"offset": 3})
    with pytest.warns(DeprecationWarning, match="use tellwhen.read_note instead"):
        from tellwhen import saved_note
    assert saved_note(tmp_path / "index") == tw.read_note(tmp_path / "index") == {"offset": 3}


def test_remove_many_passes_over_unknown_ids_on_request(index):
    with pytest.raises(tw.UnknownId):
        index.remove_many(["a", "gone"])
    assert list(index) == ["a", "b"]
    assert list(index.remove_many(["a", "gone", "a"], missing="ignore")) == ["b"]
    with pytest.raises(tw.ArgumentError, match="missing must be 'raise' or 'ignore'"):
        index.remove_many([], missing="skip")
