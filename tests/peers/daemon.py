"""Programs that run inside a namespace for as long as a test needs them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.capture.live.namespaces import Namespace

PATIENCE_S = 60.0


@contextmanager
def daemon(
    space: Namespace,
    command: Sequence[str],
    log: Path,
    ready: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """A program from when it is `ready` on; then it is told to end, and made to where it does not.

    Args:
        space: the namespace it runs in.
        command: it and its arguments; it must stay in the foreground.
        log: takes what it says.
        ready: whether it has started.
        environment: variables besides ours.
    """
    full = ["ip", "netns", "exec", space.name, *command]
    with log.open("w") as out:
        process = subprocess.Popen(full, stdout=out, stderr=out, env=os.environ | dict(environment or {}))
    try:
        until = time.monotonic() + PATIENCE_S
        while not ready():
            assert process.poll() is None, f"{command[0]} ended: {log.read_text()}"
            assert time.monotonic() < until, f"{command[0]} does not start: {log.read_text()}"
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
