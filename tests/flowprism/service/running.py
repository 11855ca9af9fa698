"""The service as a user starts it: a real command, its processes, its store."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

COMMAND = (sys.executable, "-c", "from flowprism.cli import main; main()")


def settings(folder: Path, **sections: dict[str, Any]) -> Path:
    """A file of settings: loopback, free ports, the bundled inventory, a window of a minute every ten seconds."""
    said: dict[str, Any] = {
        "store": {"folder": str(folder / "data"), "keep_every_s": 5},
        "collect": {"listen": [f"127.0.0.1:{free_port()}"], "commit_every_s": 1},
        "scans": {
            "inventory": str(files("flowprism.demo") / "inventory.yaml"),
            "settle_s": 2,
            "patience_s": 20,
            "lease_s": 5,
            "policies": [{"name": "soak", "every_s": 10, "window_s": 60}],
        },
        "api": {"port": free_port(socket.SOCK_STREAM)},
        "log": {"level": "warning", "format": "json"},
    }
    for name, section in sections.items():
        said[name] = said.get(name, {}) | section
    path = folder / "flowprism.yaml"
    path.write_text(yaml.safe_dump(said))
    return path


def free_port(kind: socket.SocketKind = socket.SOCK_DGRAM) -> int:
    """A port of the loopback that nobody has now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def command(log: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until the block ends, if it does not end before; what it says is in `log`."""
    with log.open("a") as file:
        running = subprocess.Popen([*COMMAND, *arguments], stdout=file, stderr=file, text=True)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(120)
            except subprocess.TimeoutExpired:
                running.kill()
                raise


def components(service: int) -> dict[str, int]:
    """Part -> process, of those that a service of this process id runs now."""
    found: dict[str, int] = {}
    for pid in children(service):
        name = _read(Path(f"/proc/{pid}/comm")).strip()
        if name.startswith("fp-"):
            found[name.removeprefix("fp-")] = pid
    return found


def children(pid: int) -> list[int]:
    """Processes that a process has started and that are still there."""
    return [int(child) for child in _read(Path(f"/proc/{pid}/task/{pid}/children")).split()]


def memory_bytes(pid: int) -> int:
    """Resident memory of a process and of all that it has started."""
    own = int((_read(Path(f"/proc/{pid}/statm")) or "0 0").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return own + sum(memory_bytes(child) for child in children(pid))


def processor_s(pid: int) -> float:
    """Processor time that a process has spent, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(what: Callable[[], Any], timeout_s: float = 60.0) -> Any:  # noqa: ANN401 - whatever is waited for
    """The first true answer of a question that is asked again and again."""
    deadline_s = time.monotonic() + timeout_s
    while not (answer := what()):
        if time.monotonic() > deadline_s:
            raise TimeoutError(what)
        time.sleep(0.2)
    return answer


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""
