"""The loops of `opindex`: match, build, and the segments of lists."""
