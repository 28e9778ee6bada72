"""The engine and the schema of new tenants, which the service stores in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tellwhen.errors import FormatError, SchemaError
from tellwhen.language.schema import Schema
from tellwhen.service.json_output import replace_json


class TenantDefaults(NamedTuple):
    """Engine and schema of a new tenant's index, and the hash of the saved index that the service was started with."""

    engine: str = "auto"
    schema: Schema = Schema()
    source: str = ""

    @classmethod
    def read(cls, file: Path) -> TenantDefaults:
        """Read a file; return the built-in defaults if it does not exist."""
        try:
            body: Any = json.loads(file.read_bytes())
            return cls(str(body["engine"]), Schema.from_json(body["schema"]), str(body["source"]))
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError, RecursionError, SchemaError):
            raise FormatError(
                f"{file} is damaged; restore it, or delete it and start tellwhen serve with --schema and --engine"
            ) from None

    def update(self, engine: str | None, schema: Schema | None, source: str) -> TenantDefaults:
        """Return defaults with this engine and schema, unless they are None; set the source if it is empty."""
        return TenantDefaults(engine or self.engine, self.schema if schema is None else schema, self.source or source)

    def write(self, file: Path) -> None:
        """Write the file if its content changes."""
        if self != TenantDefaults.read(file):
            replace_json(file, {"format": 1, **self._asdict(), "schema": self.schema.as_json()})
