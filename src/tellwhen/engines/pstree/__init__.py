"""PS-Trees, and what `pstbloom` and `psthash` share. Not an engine by itself."""
