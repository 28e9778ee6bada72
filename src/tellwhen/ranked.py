"""Deprecated name of `tellwhen.papers.ranked`; it goes away with version 0.3."""

import warnings

from tellwhen.papers.ranked import *  # noqa: F403

warnings.warn("tellwhen.ranked is now tellwhen.papers.ranked", DeprecationWarning, stacklevel=2)
