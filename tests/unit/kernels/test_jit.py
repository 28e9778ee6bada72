"""A kernel is compiled once for every state of its source, and cached in any writable place."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import numba.core.errors
import pytest
from numba.core.compiler_lock import global_compiler_lock

from support import ROOT
from tellwhen.kernels import jit

NOTICE = "tellwhen: compiling kernels, once on this machine"

FIRST_MATCH = "import tellwhen as tw; print(tw.Index().add('a', 'x = 1').match({'x': 1}))"

PROTECTED = """
import os, tempfile
real = tempfile.TemporaryFile

def refusing(*args, dir=None, **kwargs):
    if str(dir).startswith(os.environ["PROTECTED"]):
        raise PermissionError(dir)
    return real(*args, dir=dir, **kwargs)

tempfile.TemporaryFile = refusing
"""
"""Makes a folder look read-only. Permissions would not do: the tests may run as root."""

NO_TEMPORARY_FOLDER = """
import tempfile

def nowhere():
    raise FileNotFoundError("no usable temporary directory")

tempfile.gettempdir = nowhere
"""

KERNEL = """
from tellwhen.kernels.jit import kernel

@kernel
def double(x):
    return 2 * x

print(double(21))
"""


def run(code, environment, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments, "-c", code] if code else [sys.executable, *arguments],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def files(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of the package beside which nothing can be written: a file is where its folder of caches would be."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "src" / "tellwhen", site / "tellwhen", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "tellwhen" / "__pycache__").write_text("")
    return site


def environment(site, temporary, **more):
    """Of a process that uses the copy, and has no home to write to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    return kept | {"PYTHONPATH": str(site), "HOME": "/dev/null", "TMPDIR": str(temporary), **more}


@pytest.fixture(scope="module")
def first(read_only, tmp_path_factory):
    """The first match of a user who can only write temporary files: what it said, and where they are."""
    temporary = tmp_path_factory.mktemp("temporary")
    return run(FIRST_MATCH, environment(read_only, temporary)), temporary


@pytest.mark.slow
def test_the_first_match_says_that_it_compiles(first):
    done, _ = first
    assert done.stdout == "['a']\n"
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(NOTICE)
    assert "tellwhen warm" in done.stderr


@pytest.mark.slow
def test_temporary_files_are_in_one_private_place(first, read_only):
    """The next process finds them there: it compiles nothing, and says nothing."""
    _, temporary = first
    (place,) = temporary.iterdir()
    assert place.name == f"tellwhen-{os.getuid()}"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    before = files(place)
    done = run(FIRST_MATCH, environment(read_only, temporary))
    assert (done.stdout, done.stderr) == ("['a']\n", "")
    assert files(place) == before
    assert list(temporary.iterdir()) == [place]


@pytest.mark.slow
def test_a_warm_cache_that_cannot_be_written_is_copied(first, read_only, tmp_path):
    """As in an image whose cache was filled when it was made."""
    _, temporary = first
    warm = temporary / f"tellwhen-{os.getuid()}"
    before = files(warm)
    done = run(
        PROTECTED + FIRST_MATCH, environment(read_only, tmp_path, NUMBA_CACHE_DIR=str(warm), PROTECTED=str(warm))
    )
    assert (done.stdout, done.stderr) == ("['a']\n", "")
    assert files(warm) == before
    assert set(files(tmp_path / warm.name)) == set(before)


@pytest.mark.slow
def test_without_any_place_kernels_are_compiled_in_memory(read_only, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(NO_TEMPORARY_FOLDER + KERNEL)
    done = run("", environment(read_only, tmp_path), str(script))
    assert done.stdout == "42\n"
    assert list(tmp_path.iterdir()) == [script]


@pytest.mark.slow
def test_a_place_that_others_can_write_is_not_used(read_only, tmp_path):
    """What is loaded from a cache is run."""
    place = tmp_path / f"tellwhen-{os.getuid()}"
    place.mkdir()
    place.chmod(0o777)
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    assert run("", environment(read_only, tmp_path), str(script)).stdout == "42\n"
    assert list(place.iterdir()) == []


SOURCES = {
    "kernels/low.py": "from tellwhen.kernels.jit import inline\n\n@inline\ndef low(x):\n    return x + 1\n",
    "kernels/middle.py": "from tellwhen.kernels import low\n",
    "engines/one/kernels.py": "from tellwhen.kernels.middle import (\n    a,\n    b,\n)\n",
    "engines/two/kernels.py": "from tellwhen.kernels import other\n\n\ndef late():\n    from tellwhen import far\n",
    "kernels/other.py": "import numpy\n",
    "kernels/jit.py": "",
    "far.py": "",
}


def fingerprints(root):
    for function in (jit._fingerprint, jit._list_imports):
        function.cache_clear()
    return {name: jit._fingerprint(root / name) for name in SOURCES}


@pytest.mark.parametrize(
    ("changed", "depending"),
    [
        ("kernels/low.py", {"kernels/low.py", "kernels/middle.py", "engines/one/kernels.py"}),
        ("kernels/middle.py", {"kernels/middle.py", "engines/one/kernels.py"}),
        ("kernels/other.py", {"kernels/other.py", "engines/two/kernels.py"}),
        ("engines/one/kernels.py", {"engines/one/kernels.py"}),
        ("__init__.py", set(SOURCES)),
    ],
)
def test_a_change_concerns_what_depends_on_it_and_nothing_else(tmp_path, monkeypatch, changed, depending):
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    (tmp_path / "__init__.py").write_text("")
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    before = fingerprints(tmp_path)
    (tmp_path / changed).write_text(SOURCES.get(changed, "") + "# changed\n")
    after = fingerprints(tmp_path)
    assert {name for name in SOURCES if before[name] != after[name]} == depending


def test_kernels_of_this_package_depend_on_what_they_call():
    scan = jit.PACKAGE / "engines" / "scan" / "kernels.py"
    found = {str(path.relative_to(jit.PACKAGE)) for path in jit._collect_sources(scan)}
    assert {"engines/scan/arrays.py", "kernels/evaluate.py", "kernels/truth.py", "kernels/handover.py"} <= found
    assert not any(name.startswith(("engines/counting", "spark")) for name in found)


CALLS = """
from tellwhen.kernels import one, other
print(one.one(1), sum(one.one.stats.cache_hits.values()))
print(other.other(1), sum(other.other.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_changed_function_is_not_run_from_the_cache(tmp_path):
    """Numba alone would: it notices a change of the kernel's own file only."""
    shutil.copytree(ROOT / "src" / "tellwhen", tmp_path / "tellwhen", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "tellwhen" / "kernels"
    called = "from tellwhen.kernels.jit import inline\n\n@inline\ndef called(x):\n    return x + {}\n"
    calling = "from tellwhen.kernels.jit import kernel\n{}\n\n@kernel\ndef {}(x):\n    return {}\n"
    (kernels / "called.py").write_text(called.format(1))
    (kernels / "one.py").write_text(calling.format("from tellwhen.kernels.called import called", "one", "called(x)"))
    (kernels / "other.py").write_text(calling.format("", "other", "x"))
    here = environment(tmp_path, tmp_path)
    assert run(CALLS, here).stdout == "2 0\n1 0\n"
    assert run(CALLS, here).stdout == "2 1\n1 1\n"
    (kernels / "called.py").write_text(called.format(10))
    assert run(CALLS, here).stdout == "11 0\n1 1\n"


@pytest.mark.slow
def test_bounds_checks_have_a_cache_of_their_own(tmp_path):
    script = tmp_path / "script.py"
    source = KERNEL.replace("2 * x", "x[5]").replace("double(21)", "double(np.zeros(3))")
    script.write_text("import numpy as np\n" + source)
    plain = {name: value for name, value in os.environ.items() if name != "NUMBA_BOUNDSCHECK"}
    plain |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run("", plain, str(script))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=plain | {"NUMBA_BOUNDSCHECK": "1"}
    )
    assert "IndexError" in done.stderr
    assert len(list((tmp_path / "cache" / "kernels").glob("*-script-*"))) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_until_a_function_is_compiled():
    """A child that was forked in the middle would wait for ever for the compiler's lock."""
    holding, done = threading.Event(), []

    def compile_slowly():
        with global_compiler_lock:
            holding.set()
            time.sleep(0.3)
            done.append(True)

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    holding.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(60)  # rather than hang
        with global_compiler_lock:
            os._exit(0 if done else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not global_compiler_lock.is_locked()


def test_compiling_leaves_the_streams_alone(monkeypatch):
    """Numba would swap sys.stdout for all threads while it formats an error in one of them."""

    def refuse(*_, **__):
        raise AssertionError("colorama replaces sys.stdout")

    monkeypatch.setattr("numba.core.errors.init", refuse, raising=False)
    monkeypatch.setattr("numba.core.errors.reinit", refuse, raising=False)
    assert "text" in numba.core.errors.termcolor().errmsg("text")
