"""The systemd unit: of the right form, closed, and true to the service's settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.shipped import UNIT, settings, unit
from tests.house.checkout import ROOT

PROGRAM = "/opt/flowprism/bin/flowprism"
MOST_EXPOSED = "20"  # of 100; what remains is the network, CAP_NET_ADMIN and compiled code


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The unit with a program that this machine has."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine (Debian: systemd)")
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    return path


def analyzed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """systemd-analyze's word."""
    command = ["systemd-analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_is_a_unit(copy: Path) -> None:
    """Systemd has nothing to say against it."""
    done = analyzed("verify", copy)
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, complaints) == (0, [])


def test_it_is_closed(copy: Path) -> None:
    """By systemd's own count of what a service could do."""
    done = analyzed("security", "--offline=true", f"--threshold={MOST_EXPOSED}", copy)
    assert done.returncode == 0, done.stdout[-200:]


def test_variables_are_settings() -> None:
    """Each that begins with FLOWPRISM_ is one; compiled decoders are kept in the cache folder."""
    said = dict(re.findall(r"(\w+)=(\S+)", " ".join(unit()["Environment"])))
    variables = {name: value for name, value in said.items() if name.startswith("FLOWPRISM_")}
    found = settings(ROOT / "deploy" / "compose" / "small.yaml", variables)
    assert str(found.store.folder) == "%S/" + unit()["StateDirectory"][0]
    assert said["NUMBA_CACHE_DIR"] == "%C/" + unit()["CacheDirectory"][0]


def test_settings_are_checked_before_it_starts() -> None:
    """The same file that it is then started with."""
    (before,), (start,) = unit()["ExecStartPre"], unit()["ExecStart"]
    assert before == f"{PROGRAM} config check /etc/flowprism/flowprism.yaml"
    assert start == f"{PROGRAM} serve /etc/flowprism/flowprism.yaml"
