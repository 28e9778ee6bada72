"""What do indexes of a service begin with? The engine and the schema that were given last are kept, for new tenants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tellwhen.errors import FormatError, SchemaError
from tellwhen.language.schema import Schema
from tellwhen.service.json_output import replace_json


class Chosen(NamedTuple):
    """What a new index has."""

    engine: str = "auto"
    schema: Schema = Schema()
    source: str = ""
    """A hash of the saved index that the service began with."""

    @classmethod
    def read(cls, file: Path) -> Chosen:
        """What the file has; nothing special where there is none."""
        try:
            body: Any = json.loads(file.read_bytes())
            return cls(str(body["engine"]), Schema.from_json(body["schema"]), str(body["source"]))
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError, RecursionError, SchemaError):
            raise FormatError(f"{file} is damaged; restore it, or delete it and give --schema again") from None

    def updated(self, engine: str | None, schema: Schema | None, source: str) -> Chosen:
        return Chosen(engine or self.engine, self.schema if schema is None else schema, self.source or source)

    def write(self, file: Path) -> None:
        if self != Chosen.read(file):
            replace_json(file, {"format": 1, **self._asdict(), "schema": self.schema.as_json()})
