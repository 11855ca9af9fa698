"""The process of a source ends with its supervisor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from flowprism.collector.source_writer import REFUSED
from tests.house.checkout import ROOT

# A source whose client holds the main thread, so that no handler of a signal runs; its number goes to stderr.
DEAF = """
import ctypes, os, signal, sys
from flowprism.collector import source_writer
source_writer._ORPHAN_S = 0.2
def work(plan, stopped):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    print(os.getpid(), file=sys.stderr, flush=True)
    signal.sigwait([signal.SIGUSR1])
source_writer.until_terminated(work)
"""
SUPERVISOR = f"""
import json, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {DEAF!r}], stdin=subprocess.PIPE)
child.stdin.write(json.dumps({{"supervisor": os.getpid()}}).encode())
child.stdin.close()
child.wait()
"""

# A source that cannot be read, and is told to end while its interpreter closes down, when handlers are gone.
REFUSING = """
import os, signal
from datamodel.errors import InputError
from flowprism.collector import source_writer
class Last:
    def __del__(self, kill=os.kill, number=signal.SIGTERM):
        kill(PID, number)
PID = os.getpid()
last = Last()
def work(plan, stopped):
    raise InputError("gone")
source_writer.until_terminated(work)
"""


def test_a_source_that_is_refused_may_be_told_to_end() -> None:
    """It ends as one that was refused, not as one that a signal killed before all was stored."""
    plan = json.dumps({"supervisor": os.getpid()})
    ended = subprocess.run(
        [sys.executable, "-c", REFUSING], cwd=ROOT, input=plan, stdout=subprocess.PIPE, text=True, check=False
    )
    assert (ended.returncode, json.loads(ended.stdout)) == (REFUSED, {"refused": "gone"})


def test_a_source_that_hears_no_signal_ends_soon_after_its_supervisor() -> None:
    """A client that waits for a broker keeps no process alive that nobody supervises."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stderr is not None
        orphan = int(supervisor.stderr.readline())
        supervisor.kill()
        deadline = time.monotonic() + 30
        while Path(f"/proc/{orphan}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
