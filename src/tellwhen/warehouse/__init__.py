"""VERSIONS OF AN INDEX IN A DIRECTORY: what Spark builds, and one process can open; nothing in here imports Spark."""
