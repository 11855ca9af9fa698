"""Keeping a lake from the command line: a round, or one every few seconds, and a table of what there is."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing

import typer

from datamodel.errors import InputError
from flowprism.compaction_loop import format_round, run_compaction
from storage.lake.compactor import Compactor
from storage.lake.kinds import KINDS
from storage.lake.object_store import ObjectStore, open_store
from storage.lake.retention import DEFAULT_LIMITS, Limit
from storage.lake.snapshot import Snapshot, snapshot

_LIMIT = re.compile(r"(?P<kind>[a-z]+)=(?P<age>\d{1,6})(?P<unit>[hd])(?:,(?P<size>\d{1,9})(?P<prefix>[MGT])i?B?)?")
_UNITS_NS = {"h": 3_600_000_000_000, "d": 86_400_000_000_000}
_PREFIXES = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_limits(said: Sequence[str], *, forever: bool) -> dict[str, Limit]:
    """How long each kind is kept.

    Args:
        said: `KIND=AGE[,SIZE]` each, e.g. `flows=2d,200G`.
        forever: whether kinds that are not named are kept for ever, and not as long as usual.

    Raises:
        InputError: one of them is not of that form, or names no kind.
    """
    found: dict[str, Limit] = {} if forever else dict(DEFAULT_LIMITS)
    for text in said:
        match = _LIMIT.fullmatch(text)
        if match is None or match["kind"] not in KINDS:
            raise InputError(f"--limit {text}: expected KIND=AGE[,SIZE], e.g. flows=2d,200G; kinds: {', '.join(KINDS)}")
        size = int(match["size"]) * _PREFIXES[match["prefix"]] if match["size"] else None
        found[match["kind"]] = Limit(int(match["age"]) * _UNITS_NS[match["unit"]], size)
    return found


def compact_lake(location: str, kept: Mapping[str, Limit], every_s: float | None) -> None:
    """Tend a lake once, or until SIGTERM or Ctrl-C.

    Raises:
        InputError: it is no lake, another compactor is at work there, or it cannot be written.
    """
    store = open_store(location)
    try:
        if every_s is None:
            _once(store, kept)
        else:
            _repeatedly(store, kept, every_s)
    except OSError as error:
        raise InputError(f"{error.filename or store.name}: {error.strerror or error}") from None
    typer.echo(format_snapshot(snapshot(store)))


def _once(store: ObjectStore, kept: Mapping[str, Limit]) -> None:
    with closing(Compactor(store, kept)) as compactor:
        for line in format_round(compactor.run_round()):
            _tell(line)


def _repeatedly(store: ObjectStore, kept: Mapping[str, Limit], every_s: float) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_compaction(store, kept, every_s, stop, _tell)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def format_snapshot(now: Snapshot) -> str:
    """A line for each kind: records, segments, bytes."""
    lines = [f"{'kind':12}{'records':>16}{'segments':>10}{'packed':>8}{'MB':>12}{'bytes a record':>16}"]
    for kind in KINDS:
        segments = now.of_kind(kind)
        rows, size = sum(s.rows for s in segments), sum(s.file_bytes for s in segments)
        packed = sum(s.group >= 0 for s in segments)
        each = f"{size / rows:.1f}" if rows else "-"
        lines.append(f"{kind:12}{rows:>16,}{len(segments):>10,}{packed:>8,}{size / 1e6:>12,.1f}{each:>16}")
    return "\n".join(lines)
