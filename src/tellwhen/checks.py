"""Deprecated name of `tellwhen.testing`; it goes away with version 0.3."""

import warnings

from tellwhen.testing.engine_checks import *  # noqa: F403

warnings.warn("tellwhen.checks is now tellwhen.testing", DeprecationWarning, stacklevel=2)
