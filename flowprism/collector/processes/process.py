"""Processes of the collector: how the supervisor starts one, and what each does first."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
# Tables of a commit are large enough for glibc to give them back to the system and to fetch empty pages for the next;
# keeping them makes decoding a tenth faster. The peak is the same.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
_HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGTTIN, signal.SIGTTOU)


def start(
    module: str, plan: Mapping[str, object], descriptors: Iterable[int], *, keeps_memory: bool = False
) -> subprocess.Popen[bytes]:
    """Run `module` as a process of its own.

    It reads its plan from its standard input and reports on its standard output. It is a fresh
    interpreter, not a fork: nothing of the supervisor's state is in it but the descriptors passed on.

    Args:
        module: what to run; it calls `begin` first.
        plan: what it is to do; JSON-able.
        descriptors: open files that it inherits, under the same numbers.
        keeps_memory: it needs as much again and again, and does not give it back in between.
    """
    kept = _KEEP_MEMORY if keeps_memory else {}
    environment = {**kept, **os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)  # the child lets them through once it can handle them
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=tuple(descriptors),
            env=environment,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if process.stdin is not None:
        try:
            process.stdin.write(json.dumps({**plan, "supervisor": os.getpid()}).encode())
            process.stdin.close()
        except BrokenPipeError:  # it has died already, which the supervisor will notice
            pass
    if process.stdout is not None:
        os.set_blocking(process.stdout.fileno(), False)
    return process


def begin(on_terminate: Any) -> dict[str, Any]:  # noqa: ANN401 - what signal.signal takes
    """First thing in such a process: its plan, with signals in order.

    Ctrl-C is left to the supervisor, as are requests for more or fewer workers, which by default stop a process and may
    go to a whole group of processes. When the supervisor dies this process gets SIGTERM.

    Args:
        on_terminate: handler for SIGTERM.
    """
    for number in (signal.SIGINT, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, on_terminate)
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)
    plan: dict[str, Any] = json.load(sys.stdin)
    if os.getppid() != plan["supervisor"]:
        sys.exit("flowprism collect: the supervisor has gone")
    return plan


def print_message(text: str) -> None:
    """Say what a person should know, in one line on stderr."""
    sys.stderr.write(f"flowprism collect: {' '.join(text.split())}\n")
    sys.stderr.flush()
