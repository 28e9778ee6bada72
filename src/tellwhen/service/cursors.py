"""Opaque positions in the listing of subscriptions, from which the next page continues."""

from __future__ import annotations

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

FORMAT = 1
BODY = struct.Struct(">BqQ")
CHECKSUM = struct.Struct(">I")
TEXT_LENGTH = 28


class Cursor(NamedTuple):
    """The ordinal of the last subscription of a page, and the version of the index that the ordinal belongs to.

    The version is 0 for an index of the service itself, whose ordinals stay valid for good, and the number of the
    version for an index that Spark builds.
    """

    ordinal: int
    index_version: int = 0

    def encode(self) -> str:
        """Return the cursor as 28 URL-safe characters. The checksum tells a cursor from an id."""
        body = BODY.pack(FORMAT, self.ordinal, self.index_version)
        return urlsafe_b64encode(body + CHECKSUM.pack(zlib.crc32(body))).decode()

    @classmethod
    def decode(cls, text: str) -> Cursor | None:
        """Return the cursor that `encode` made into this text; None for any other text, such as an id."""
        if len(text) != TEXT_LENGTH:
            return None
        try:
            raw = urlsafe_b64decode(text)
        except (binascii.Error, ValueError):
            return None
        body, checksum = raw[: BODY.size], raw[BODY.size :]
        if checksum != CHECKSUM.pack(zlib.crc32(body)) or body[0] != FORMAT:
            return None
        _, ordinal, index_version = BODY.unpack(body)
        return cls(ordinal, index_version)
