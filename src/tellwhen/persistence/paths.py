"""Conversion of paths and `file:` URLs of an index to paths of the local file system."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from tellwhen.errors import FormatError

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(.*)", re.DOTALL)
"""A URL with its scheme. One slash is enough: `Path("s3a://lake/x")` drops the second one.

A drive letter is not a scheme: a scheme has at least two characters.
"""

LOCAL_HOSTS = ("", "localhost")


def resolve_path(path: str | os.PathLike[str]) -> Path:
    """Return the local path that a path or a `file:` URL names; raise FormatError for any other URL.

    >>> resolve_path("file:///data/my%20index").as_posix()
    '/data/my index'
    >>> resolve_path("data/index").as_posix()
    'data/index'
    """
    text = os.fspath(path)
    if "\0" in text:
        raise FormatError(f"{text!r} has a NUL character, which no path can have")
    url = URL.match(text)
    if url is None:
        local = Path(text)
        # `Path` drops the start of "./s3a:/x", which is then taken for a URL when the path is resolved again.
        return local.absolute() if URL.match(os.fspath(local)) else local
    scheme, rest = url.groups()
    if scheme.lower() != "file":
        raise FormatError(
            f"{text}: expected a path on a mounted file system, found a {scheme}: URL. An index is mapped into memory: "
            "copy or mount it, and give the path of the folder"
        )
    if not isinstance(path, str):
        raise FormatError(f"{text}: expected a URL as a str, found a Path, which drops a slash of it; pass a str")
    if rest.startswith("/"):
        host, slash, rest = rest[1:].partition("/")
        if host.lower() not in LOCAL_HOSTS or not slash:
            raise FormatError(
                f"{text}: expected a file: URL without a host, such as file:///data/index, found the host {host!r}. "
                "Mount the file system of that host, and give the path of the folder"
            )
    return Path(unquote(f"/{rest}"))
