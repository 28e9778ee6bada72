"""Saving of named arrays as a directory that is either complete or absent.

arrays by part and name <──> data files <──> manifest with checksums
"""
