"""What several engines share: conjunctions, stabbing indexes, predicate spaces, selectivity. Not an engine."""
