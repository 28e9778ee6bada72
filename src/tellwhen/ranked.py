"""Deprecated name of `tellwhen.papers.ranked`."""

from tellwhen.deprecation import warn_deprecated
from tellwhen.papers.ranked import *  # noqa: F403

warn_deprecated("tellwhen.ranked", "tellwhen.papers.ranked")
