"""The Makefile: what it offers is documented, and it says plainly what a machine lacks."""

import re
import subprocess
from pathlib import Path

from tests.house.checkout import ROOT

FAKE_PYTHON = """#!/bin/sh
case "$2" in
    *version_info\\[:2\\]\\ \\<*) exit {supported} ;;
    *ensurepip*) exit {venv} ;;
    *) echo 3.12 ;;
esac
"""


def targets() -> set[str]:
    """Targets of the Makefile that a person calls."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    return set(phony[1].split())


def fake_python(folder: Path, name: str, *, supported: bool, venv: bool) -> None:
    """Put a Python of the given shortcomings into `folder`."""
    path = folder / name
    path.write_text(FAKE_PYTHON.format(supported=int(not supported), venv=int(not venv)))
    path.chmod(0o755)


def find_python(path: Path, chosen: str = "") -> subprocess.CompletedProcess[str]:
    """Run .ci/find-python on a machine whose programs all lie in `path`."""
    environment = {"PATH": str(path), "PYTHON": chosen}
    return subprocess.run(
        ["/bin/sh", ROOT / ".ci" / "find-python"], env=environment, capture_output=True, text=True, check=False
    )


def test_help_prints_every_target() -> None:
    """`make` alone lists every target with what it does."""
    printed = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in printed.splitlines() if line.startswith("make ")} >= targets()


def test_every_target_is_documented() -> None:
    """README or CONTRIBUTING names every target, and no target that is not there."""
    pages = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", pages, re.MULTILINE))
    assert named == targets()


def test_a_visitor_installs_what_running_needs_and_nothing_else(tmp_path: Path) -> None:
    """On a fresh clone `make run` takes neither the tools of tests nor minutes of compiling; tests take both."""
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / ".venv").mkdir()

    def would_run(target: str) -> str:
        return subprocess.run(["make", "-n", "-C", tmp_path, target], capture_output=True, text=True, check=True).stdout

    run, test = would_run("run"), would_run("test")
    assert "--editable '.'\n" in run.replace(";", "\n")
    assert "[dev]" not in run
    assert "precompile" not in run
    assert "--collect-only" not in run
    assert "NUMBA_DISABLE_JIT=1 .venv/bin/python -m flowprism.demo out" in run
    assert "--editable '.[dev]'" in test
    assert "flowprism.precompile" in test
    assert "--collect-only" in test.partition("flowprism.precompile")[0]
    (tmp_path / ".venv" / "installed").touch()
    assert "NUMBA_DISABLE_JIT" not in would_run("run")


def test_continuous_integration_runs_our_own_commands() -> None:
    """.ci/run calls make targets, and the three that a change must pass are among them."""
    called = set(re.findall(r"^timed make (\S+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE))
    assert {"check", "test", "test-slow"} <= called <= targets()


def test_what_test_leaves_to_check_is_run_there() -> None:
    """Continuous integration runs both, and each test once."""
    (left,) = re.findall(r"pytest .*--ignore (\S+)", (ROOT / "Makefile").read_text())
    assert (ROOT / left).is_dir()
    printed = subprocess.run(["make", "-n", "-C", ROOT, "check"], capture_output=True, text=True, check=True).stdout
    assert f"pytest -q {left} -m" in printed


def test_newest_usable_python_is_taken(tmp_path: Path) -> None:
    """A newer Python that cannot make a virtualenv is passed over for an older one that can."""
    fake_python(tmp_path, "python3.13", supported=True, venv=False)
    fake_python(tmp_path, "python3.11", supported=True, venv=True)
    assert find_python(tmp_path).stdout == "python3.11\n"


def test_chosen_python_is_taken(tmp_path: Path) -> None:
    """PYTHON= decides where several would do."""
    fake_python(tmp_path, "python3.13", supported=True, venv=True)
    fake_python(tmp_path, "python3.12", supported=True, venv=True)
    assert find_python(tmp_path, "python3.12").stdout == "python3.12\n"


def test_missing_venv_is_one_line(tmp_path: Path) -> None:
    """Where Python comes without venv, one line says which package brings it."""
    fake_python(tmp_path, "python3", supported=True, venv=False)
    found = find_python(tmp_path)
    message = "error: python3 has no venv module; on Debian and Ubuntu: apt-get install python3.12-venv\n"
    assert (found.returncode, found.stdout, found.stderr) == (1, "", message)


def test_wrong_python_is_one_line(tmp_path: Path) -> None:
    """Where no supported Python is found, one line says which are and where it looked."""
    fake_python(tmp_path, "python3", supported=False, venv=True)
    found = find_python(tmp_path)
    message = "error: flowprism needs Python 3.11, 3.12 or 3.13, found none in: PATH; name one with PYTHON=\n"
    assert (found.returncode, found.stdout, found.stderr) == (1, "", message)
