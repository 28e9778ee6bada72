"""Containers of flat arrays: growing arrays, lists of lists, texts, batches of events, nested NamedTuples."""
