"""Deprecated name of `tellwhen.testing`."""

from tellwhen.deprecation import warn_deprecated
from tellwhen.testing.engine_checks import *  # noqa: F403

warn_deprecated("tellwhen.checks", "tellwhen.testing")
