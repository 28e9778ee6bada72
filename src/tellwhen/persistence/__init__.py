"""ARRAYS <-> FILES: a directory that is whole or absent."""
