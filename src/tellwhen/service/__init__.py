"""How is an index served? HTTP, with a log that loses nothing, keys, tenants and a console: `tellwhen serve`."""

from tellwhen.service.app import create_app
from tellwhen.service.keys import Keys
from tellwhen.service.serving import running, serve
from tellwhen.service.settings import Limits

__all__ = ["Keys", "Limits", "create_app", "running", "serve"]
