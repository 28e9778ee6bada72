"""Versions of an index in a directory: Spark builds them, and one process can open them; nothing here imports Spark."""
