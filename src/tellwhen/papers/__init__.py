"""Reproductions of the five papers that the product does not use, one folder for each paper."""
