"""PS-Trees (PS-Tree, VLDB 2018), and the engines `pstbloom` and `psthash` that are built on PS-Trees."""
