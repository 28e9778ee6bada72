"""BE-Tree (SIGMOD 2011), and three of the systems that its section 7.2 compares with."""
