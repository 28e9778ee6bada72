"""INDEX x EVENTS -> SLOTS: only @njit functions, only arrays. Knows nothing of text, types or Python objects."""
