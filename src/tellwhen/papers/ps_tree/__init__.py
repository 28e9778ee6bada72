"""PS-Trees, and what `pstbloom` and `psthash` build on them. Not an engine by itself."""
