"""Diagnostics of an index, of subscriptions and of events: what is wrong, slow or unused."""
