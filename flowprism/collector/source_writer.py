"""What the process of a source keeps: its records go into the folder, its account to the supervisor."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows
from flowprism.collector.processes import process
from storage.lake.lake_writer import CommitBatch, LakeWriter, read_state
from storage.lake.object_names import Writer
from storage.lake.object_store import redact_address

CANNOT_STORE, REFUSED = 3, 4  # exit codes: of a folder that cannot be written, of a source that cannot be read
_AGAIN_S = 1.0
_TELL_S = 0.5
_MOST_WARNINGS = 100
_WATCH_S = 0.5
_ORPHAN_S = 20.0  # how long a source may take to store what it holds once the supervisor has gone


class SourceWriter:
    """One source's place in the folder.

    Attributes:
        totals: sums over all commits of the session, by name.
        state: what the newest commit of the session remembers; None before the first.
    """

    def __init__(self, plan: Mapping[str, Any], stopped: Callable[[], bool]) -> None:
        """Go on behind the newest commit.

        Args:
            plan: see `flowprism.collector.processes.source_process`.
            stopped: whether the process is to end.

        Raises:
            OSError: the folder cannot be used.
            InputError: the newest commit's state cannot be read.
        """
        lake = plan["out"]
        self._store = LakeWriter(lake, Writer(plan["session"], plan["worker"]), plan["workers"])
        self._stopped = stopped
        newest = self._store.newest
        self.totals = Counter(newest.totals if newest else {})
        self.state = read_state(lake, newest.state) if newest else None
        self._before = Counter(newest.rejected if newest else {})
        self._reported_s: float | None = 0.0  # None once the supervisor is gone

    def rejected(self, now: Mapping[str, int]) -> dict[str, int]:
        """What was left out in the whole session, given what this process left out."""
        return dict(sorted((self._before + Counter(now)).items()))

    def commit(self, flows: Flows, until: int, state: bytes, rejected: Mapping[str, int]) -> None:
        """Make records durable. While the folder cannot be written it is tried again, until the process is to end.

        Args:
            flows: the records; `totals` are to hold them already, except for their number.
            until: packets or records of the session that are contained in this commit or an earlier one.
            state: what must be remembered behind them.
            rejected: what this process has left out so far.

        Raises:
            OSError: they cannot be written, and the process is to end.
        """
        self.totals["flows"] += len(flows)
        batch = CommitBatch(
            until, (flows.frame,), flows.addresses, state, (), dict(self.totals), self.rejected(rejected)
        )
        complained = False
        while True:
            try:
                self._store.commit(batch)
            except OSError as error:
                if self._stopped():
                    raise
                if not complained:
                    process.print_message(f"{error.filename or 'the folder'}: {error.strerror or error}; trying again")
                complained = True
                time.sleep(_AGAIN_S)
            else:
                return

    def report(
        self, account: Callable[[], Mapping[str, object]], warnings: Callable[[], Sequence[str]], *, force: bool = False
    ) -> None:
        """Report progress to the supervisor, at most twice a second unless forced."""
        now = time.monotonic()
        if self._reported_s is None or (now - self._reported_s < _TELL_S and not force):
            return
        said = {**account(), "totals": self.totals, "warnings": list(warnings())[:_MOST_WARNINGS]}
        self._reported_s = now if _said(said) else None


def until_terminated(work: Callable[[dict[str, Any], Callable[[], bool]], None]) -> None:
    """The whole life of a source's process: its plan, its work until SIGTERM or until it ends, and what went wrong.

    It does not outlive its supervisor by more than `_ORPHAN_S`, even where a client waits for a broker that is away
    and lets no signal through.

    Args:
        work: given the plan and a question whether to stop, it keeps what the source sends.
    """
    stop = threading.Event()
    plan = process.begin(lambda *_: stop.set())
    threading.Thread(target=_end_orphaned, args=(plan["supervisor"],), daemon=True).start()
    try:
        work(plan, stop.is_set)
    except OSError as error:
        process.print_message(
            f"{error.filename or redact_address(plan['out'])}: records cannot be stored: {error.strerror or error}"
        )
        sys.exit(CANNOT_STORE)
    except InputError as error:
        refuse(str(error))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come twice, also while the interpreter closes down


def _end_orphaned(supervisor: int) -> None:
    """End the process when its supervisor has been gone for a while: signals are handled by the main thread only."""
    while os.getppid() == supervisor:
        time.sleep(_WATCH_S)
    time.sleep(_ORPHAN_S)
    os._exit(CANNOT_STORE)


def refuse(text: str) -> None:
    """End the process: its source cannot be read, for this reason."""
    _said({"refused": text})
    sys.exit(REFUSED)


def _said(account: Mapping[str, object]) -> bool:
    """Send to the supervisor; returns whether it could be reached."""
    try:
        sys.stdout.write(json.dumps(account) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        return False
    return True
