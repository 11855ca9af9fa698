"""Running a plan: dynolog's client once a host, all at the same time, and what became of each."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from flowprism.profiles.recording_plan import RecordingPlan

# The client connects, hands its question on and prints the answer; the recording itself goes on without it.
TIMEOUT_S = 15.0
_MATCHED = re.compile(r"Matched (\d+) processes")


@dataclass(frozen=True, slots=True)
class RecordingResult:
    """What became of one host's recording.

    Attributes:
        host: of the inventory.
        processes: that are being recorded.
        problem: why none is; empty: some are.
    """

    host: str
    processes: int
    problem: str


def record(plan: RecordingPlan) -> list[RecordingResult]:
    """Start all recordings; this returns when every host has answered, not when they are done."""
    started = {host: _started(command) for host, command in plan.commands().items()}
    return [_result(host, process) for host, process in started.items()]


def _started(command: list[str]) -> subprocess.Popen[str] | str:
    try:
        return subprocess.Popen(  # noqa: S603 - a fixed program, names checked, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"


def _result(host: str, process: subprocess.Popen[str] | str) -> RecordingResult:
    if isinstance(process, str):
        return RecordingResult(host, 0, process)
    try:
        said, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return RecordingResult(host, 0, f"no answer within {TIMEOUT_S:.0f} s")
    matched = _MATCHED.search(said)
    if process.returncode == 0 and matched is not None and int(matched.group(1)):
        return RecordingResult(host, int(matched.group(1)), "")
    if process.returncode == 0:
        return RecordingResult(host, 0, "no process is registered (KINETO_USE_DAEMON=1, dynolog --enable_ipc_monitor)")
    lines = said.strip().splitlines()
    return RecordingResult(host, 0, lines[-1][:200] if lines else f"exit code {process.returncode}")
