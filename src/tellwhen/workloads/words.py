"""English words with their frequencies, from the package wordfreq."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=8)
def list_common_words(count: int, shortest: int = 2, skip: int = 0) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the most common words of the letters a to z, without the first `skip`, and their frequencies."""
    try:
        from wordfreq import top_n_list, word_frequency
    except ImportError as error:
        raise ImportError("this workload uses real words: `pip install 'tellwhen[workloads]'`") from error
    common = top_n_list("en", 3 * (count + skip) + 1000)
    words = [word for word in common if len(word) >= shortest and word.isascii() and word.isalpha()][skip:]
    words = words[:count]
    return tuple(words), np.array([word_frequency(word, "en") for word in words])
