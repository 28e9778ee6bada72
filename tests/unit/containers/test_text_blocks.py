"""Compressed texts come back unchanged, also after an interrupt and while another thread rewinds."""

import contextlib
import random
import sys

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.containers.text_blocks import TEXTS_PER_BLOCK, CompressedTexts

pytestmark = pytest.mark.late


def texts_of(texts):
    return [texts[i] for i in range(len(texts))]


def test_texts_come_back_whatever_is_done_to_them():
    rng = random.Random(3)
    texts, known = CompressedTexts(), []
    for _ in range(300):
        choice = rng.random()
        if choice < 0.6:
            fresh = [
                "".join(rng.choices("aé𝒳 =1", k=rng.randint(0, 40))) for _ in range(rng.randint(0, 2 * TEXTS_PER_BLOCK))
            ]
            texts.extend(fresh)
            known += fresh
        elif choice < 0.75:
            count = rng.randint(0, len(known) + 9)
            texts.resize(count)
            known = (known + [""] * 9)[:count] if count > len(known) else known[:count]
            known += [""] * (count - len(known))
        elif choice < 0.85:
            texts = CompressedTexts.restore({name: array.copy() for name, array in texts.arrays().items()})
        elif known:
            which = np.array(rng.choices(range(len(known)), k=rng.randint(0, 200)), dtype=np.int32)
            texts, known = texts.select(which), [known[i] for i in which]
        assert len(texts) == len(known)
        for i in rng.sample(range(len(known)), k=min(len(known), 5)):
            assert texts[i] == known[i]
    assert texts_of(texts) == known


@pytest.mark.parametrize("line", range(1, 12))
def test_an_interrupt_leaves_no_half_block(line):
    """At any line of `extend`, while it compresses."""
    texts, known = CompressedTexts(), [f"text {i}" for i in range(3 * TEXTS_PER_BLOCK)]
    texts.extend(known[:100])
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code is not CompressedTexts.extend.__code__:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            texts.extend(known[100:])
    finally:
        sys.settrace(None)
    texts.resize(100)
    assert texts_of(texts) == known[:100]
    texts.extend(known[100:])
    assert texts_of(texts) == known


def test_a_reader_in_the_middle_of_a_block_that_is_dropped():
    """It may note what it has read only where nobody looks any more."""
    texts = CompressedTexts()
    texts.extend([f"a{i}" for i in range(100)])
    texts.extend([f"y{i}" for i in range(60)])

    class Slow:
        """Meanwhile another thread takes its change back, and makes another one."""

        def __init__(self, codec):
            self.codec = codec

        def compress(self, *given, **named):
            return self.codec.compress(*given, **named)

        def decompress(self, *given, **named):
            raw = self.codec.decompress(*given, **named)
            texts._codec = self.codec
            texts.resize(100)
            texts.extend([f"z{i}" for i in range(60)])
            return raw

    texts._codec = Slow(texts._codec)
    assert texts[50] == "a50"
    assert [texts[i] for i in (0, 99, 100, 127, 128, 159)] == ["a0", "a99", "z0", "z27", "z28", "z59"]


def test_an_index_without_texts_matches_and_does_not_show(tmp_path):
    index = tw.Index(texts=False).add_many((i, f"x = {i % 3}") for i in range(300)).remove(4)
    index.save(tmp_path / "i")
    assert index.match({"x": 1})[:2] == [1, 7]
    for loaded in index, tw.Index.load(tmp_path / "i"):
        assert len(loaded) == 299
        assert 5 in loaded
        assert list(loaded)[:5] == [0, 1, 2, 3, 5]
        for look in (lambda: loaded[5], lambda: list(loaded.iter_texts()), lambda: loaded.explain(5, {"x": 1})):  # noqa: B023
            with pytest.raises(tw.MissingTextsError, match="stores no texts"):
                look()
        assert loaded.add("new", "x = 9").match({"x": 9}) == ["new"]
        loaded.remove("new")
    assert tw.Index().inspect.get_stats().keys() == index.inspect.get_stats().keys()
