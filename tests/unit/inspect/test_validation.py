"""Reports of validation: errors, warnings and hints with their subscriptions."""

import pytest

import tellwhen as tw


def test_validate_tells_what_is_wrong_and_what_is_not_meant():
    texts = {
        "never": "x BETWEEN 5 AND 1",
        "empty": "x > 5 AND y = 1 AND x < 3",
        "or": "(x = 1 AND x = 2) OR (y > 5 AND NOT y > 4)",
        "always": "x = 1 OR TRUE",
        "fine": "x > 5 AND x < 7 OR y = 1",
        "same": "y = 1 OR (x < 7 AND x > 5)",
        "list": "x IN (1, 2)",
        "turned": "x IN (2, 1)",
        "trap": "a = 1 AND NOT (tag = 't' OR b > 1)",
        "bool": "NOT sold",
        "typed": "z = 'one'",
        "null": "x = 1 OR x = NULL",
        "folded": "DATE '2026-01-01' + 1 > 5 OR y = 1",
        "covered": "x > 5 OR y = 2 OR x > 3",
        "absorbed": "x > 5 AND y = 2 OR y IN (2, 3) AND z = 1 OR y IN (1, 2)",
        "twice": "x = 7 OR y = 8 AND x < 0 OR x = 7",
        "apart": "x > 5 OR x < 3 OR y = 2 OR y = '2'",
        "prefix": "a STARTS WITH 'ab' OR a STARTS WITH 'a' OR a = 'b'",
        "family": "lower(x) = 5 OR y > 2",
        "case": "lower(city) IN ('Rome', 'OSLO') AND upper(city) = 'ROME'",
        "text": "day > '2026-01-31'",
        "digits": "price < '5'",
        "cased": "lower(city) <> 'Rome' AND length(x) > 2 AND day > 'monday'",
    }
    report = tw.validate([*texts.items(), ("fine", "x = 1"), ("broken", "x = "), "zz"], schema={"z": "int"})
    assert report.subscriptions == 26
    assert [one.id for one in report.get_findings("error")] == ["typed", "fine", "broken", None]
    assert report.get_findings("error")[2].position == 4
    assert {one.id: one.reason for one in report.get_findings("warning")} == {
        "never": "the expression is never true",
        "empty": "no single value of x makes the expression true",
        "or": "the expression can only be true if an attribute has several values (a list)",
        "always": "the expression is always true",
        "same": "equivalent to subscription 'fine'",
        "turned": "equivalent to subscription 'list'",
        "null": "a part is undefined for every event: NULL, or a computation on constants that has no result",
        "folded": "a part is undefined for every event: NULL, or a computation on constants that has no result",
        "covered": "x > 5 can be deleted: x > 3 is true whenever it is",
        "absorbed": "x > 5 AND y = 2 can be deleted: y IN (1, 2) is true whenever it is",
        "twice": "x = 7 can be deleted: x = 7 is true whenever it is",
        "prefix": "a STARTS WITH 'ab' can be deleted: a STARTS WITH 'a' is true whenever it is",
        "family": "lower(x) = 5 is never true: lower(x) is a string, and 5 a number",
        "case": "lower(city) is never 'Rome'; did you mean 'rome'?",
        "text": "day > '2026-01-31' compares strings in alphabetical order; to compare a time, write DATE '2026-01-31'",
        "digits": "price < '5' compares strings in alphabetical order; to compare a number, write 5",
    }
    assert len(report.get_findings("warning")) == 16  # of two branches that are the same, one is told
    assert [(one.id, one.reason) for one in report.get_findings("hint")] == [
        (
            "trap",
            "NOT tag = 't' is undefined for events without tag; to match these, write tag HAS NONE ('t')",
        )
    ]
    assert tw.validate(texts, lint=False).findings == []
    assert str(report).startswith("26 subscriptions: 4 errors, ")
    index = tw.Index(schema={"z": "int"}).add_many({"old": "x IN (2, 1)", "list": "y = 1"})
    known = tw.validate({"list": "y = 1", "new": "x IN (1, 2)", "typed": "z = 'one'"}, index=index)
    assert [(one.kind, one.id, one.reason) for one in known.findings][1:] == [
        ("warning", "new", "equivalent to subscription 'old'")
    ]
    assert known.findings[0].kind == "error"
    with pytest.raises(tw.ArgumentError, match="index must be a tellwhen.Index"):
        tw.validate({}, index={})
    many = tw.validate((n, "x >") for n in range(100))
    assert "... and 80 more" in str(many)


def test_the_old_names_of_a_report_warn():
    with pytest.warns(DeprecationWarning, match="use ValidationReport.get_findings"):
        assert len(tw.validate({"a": "x >"}).of("error")) == 1
    with pytest.warns(DeprecationWarning, match="use index="):
        tw.validate({"a": "x > 1"}, against=tw.Index())
    with pytest.warns(DeprecationWarning, match="use tellwhen.ValidationReport"):
        assert tw.Report is tw.ValidationReport
