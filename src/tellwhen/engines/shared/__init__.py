"""Code that several engines share: bulk building, conjunctions, stabbing indexes, predicate spaces, selectivity."""
