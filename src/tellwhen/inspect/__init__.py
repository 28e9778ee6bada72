"""Diagnostics of an index, its subscriptions and its events."""
