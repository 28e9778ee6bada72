"""The index: subscriptions come and go, and events are matched with them."""

from tellwhen.index.index import Index

__all__ = ["Index"]
