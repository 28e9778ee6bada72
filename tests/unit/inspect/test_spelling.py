"""Hints at names that are probably misspelt."""

import tellwhen as tw


def test_names_that_are_probably_misspelt():
    def hints(*texts, **more):
        return [(one.id, one.reason) for one in tw.validate(dict(enumerate(texts)), **more).get_findings("hint")]

    assert hints("delay > 1", "delay > 2", "dealy > 3") == [
        (2, "no other subscription uses dealy; did you mean delay?")
    ]
    assert hints("delay > 1", "dealy > 3") == [(1, "no other subscription uses dealy; did you mean delay?")]
    assert hints("o.price > 1", "o.price > 2", "O.Price > 3", "o_price > 4") == [
        (2, "no other subscription uses O.Price; did you mean o.price?"),
        (3, "no other subscription uses o_price; did you mean o.price?"),
    ]
    assert hints("item1 = 1", "item2 = 1", "item10 = 1") == []  # all of them are meant
    assert hints("ab = 1", "ac = 1", "delay > 1", "planned > 2") == []
    assert hints("delay > 1", "delay > 2", "delays > 3 OR delays < 1", "delays = 5") == []
    assert hints("station = Basel") == [(0, "Basel is an attribute here; if it is text, write 'Basel'")]
    assert hints("station = Basel", attributes=["Basel"]) == hints("station = Basel", "Basel = 1") == []
    assert hints("at > planned", "lower(name) = other || 'x'") == []
    assert hints("dealy > 1", attributes=["delay"]) == [(0, "no other subscription uses dealy; did you mean delay?")]
    assert hints("dealy > 1", schema={"delay": "int", "dealy": "int"}) == []
    index = tw.Index().add("a", "lower(station) = 'x'")
    assert hints("statoin = 'x'", index=index) == [(0, "no other subscription uses statoin; did you mean station?")]
    assert hints(*(f"{chr(97 + n // 26)}{chr(97 + n % 26)}{'abcdef'} = 1" for n in range(300))) == []  # too many
