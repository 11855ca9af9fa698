"""Past windows from the command line: look at each again, print what differs, and count."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from datamodel.errors import InputError
from flowprism.rendering.units import plural, utc
from flowprism.service.backfill.rerun import RerunWindow, rerun_windows
from flowprism.service.config.settings import Policy, Settings
from flowprism.service.config.settings_file import load_settings
from storage.database.connection import Database

SAME, DIFFERS, NOT_COMPARED = "same", "differs", "cannot be compared"
NEW, FILLED = "never scanned", "never scanned, kept now"


def backfill_windows(file: Path | None, begin: str, until: str, policy: str, *, fill: bool) -> int:
    """Compare a policy's past windows, print what differs as it is found, and return the exit code.

    Raises:
        FlowprismError: a time, the policy or the settings cannot be used, or the database cannot be read.
    """
    if not begin:
        raise InputError("--from TIME is missing: since when windows are to be looked at again, e.g. 2026-01-31T12:00Z")
    from_ns, until_ns = _time_ns("--from", begin), _time_ns("--until", until) if until else time.time_ns()
    settings = load_settings(file, os.environ)
    wanted = _policy(settings, policy)
    with closing(Database(settings.store.database)) as database:
        counts = _print_windows(rerun_windows(settings, database, wanted, from_ns, until_ns, fill=fill))
    if not counts:
        raise InputError(f"policy {wanted.name} has no window that ends from {utc(from_ns)} until {utc(until_ns)}")
    parts = [f"{count} {what}" for what, count in counts.items()]
    sys.stdout.write(f"policy {wanted.name}, {plural(counts.total(), 'window')}: {', '.join(parts)}\n")
    return 2 if counts[NOT_COMPARED] else 1 if counts[DIFFERS] else 0


def _print_windows(found: Iterable[RerunWindow]) -> Counter[str]:
    """Print a line for each difference; windows by what came of them."""
    counts: Counter[str] = Counter()
    for one in found:
        what = _outcome(one)
        counts[what] += 1
        end = utc(one.window.end_ns)
        if one.problem:
            _say(f"{end}  {what}: {one.problem}")
        elif not one.was_kept:
            _say(f"{end}  {what}")
        for each in one.differences:
            of = f"job {each.job}: " if each.job else ""
            _say(f"{end}  {of}{each.what}: {each.then} -> {each.now}")
    return counts


def _outcome(one: RerunWindow) -> str:
    if one.problem:
        return NOT_COMPARED
    if not one.was_kept:
        return FILLED if one.filled else NEW
    return DIFFERS if one.differences else SAME


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _policy(settings: Settings, name: str) -> Policy:
    for policy in settings.scans.policies:
        if not name or policy.name == name:
            return policy
    known = ", ".join(policy.name for policy in settings.scans.policies)
    raise InputError(f"--policy {name}: there is no such policy; there is {known}")


def _time_ns(option: str, text: str) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text}: expected a time such as 2026-01-31T12:00Z") from None
    moment = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
