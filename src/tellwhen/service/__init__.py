"""An index served over HTTP, with a durable log, API keys, tenants and a web console.

The flow of a request: protocol -> guard -> routes -> bodies -> answers; of a change: durable_index -> journal -> index.
"""

from typing import TYPE_CHECKING

from tellwhen.deprecation import alias_module_names
from tellwhen.service.app import create_app
from tellwhen.service.keys import Key, Keys
from tellwhen.service.serving import BackgroundService, run_in_background, serve
from tellwhen.service.settings import Limits, Timeouts

__all__ = ["BackgroundService", "Key", "Keys", "Limits", "Timeouts", "create_app", "run_in_background", "serve"]

if not TYPE_CHECKING:  # a type checker should report the old name
    __getattr__ = alias_module_names(__name__, {"running": "tellwhen.service.run_in_background"})
