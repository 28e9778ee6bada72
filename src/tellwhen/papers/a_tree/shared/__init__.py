"""AND/OR trees, leaf postings and the engine base of `dewey`, `intervalid` and `bop`."""
