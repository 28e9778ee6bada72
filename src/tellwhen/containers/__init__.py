"""CONTAINERS of flat arrays: arrays that grow, lists of lists, many texts, batches of events, nested NamedTuples."""
