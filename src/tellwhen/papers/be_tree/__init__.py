"""BE-Tree (SIGMOD 2011) and the systems that its section 7.2 compares with."""
