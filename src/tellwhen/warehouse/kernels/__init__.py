"""Kernels of the placement of subscriptions and of the routing of events."""
