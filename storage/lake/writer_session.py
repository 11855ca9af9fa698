"""A collector run's exclusive use of a folder; removes what a crash left behind."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datamodel.errors import InputError
from storage.lake.manifest import Commit
from storage.lake.object_names import SEGMENTS, STATE, Writer, make_folders, parse_name
from storage.lake.object_store import LocalStore, ObjectStore, open_store
from storage.lake.snapshot import Snapshot, snapshot

_RETRY_S = 0.1
_NAME_FORMAT = "%Y%m%dT%H%M%S%fZ"
_NAME = re.compile(r"\d{8}T\d{12}Z0*")


@dataclass(frozen=True, slots=True)
class WriterSession:
    """A folder in our hands.

    Attributes:
        name: unlike that of any other session, and greater than that of those before it.
        lock: descriptor that holds the folder; every process that may still write keeps a copy of it open.
        workers: how many workers the session before had; 0 where there was none.
        source_states: names of the state files that sources of earlier sessions left.
        removed: how many files that nothing refers to were removed.
        warnings: what is wrong with the folder, in sentences.
    """

    name: str
    lock: int
    workers: int
    source_states: tuple[str, ...]
    removed: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PastSession:
    """What a session left behind that later ones go on with.

    Attributes:
        name: of the session.
        workers: how many workers shared the exporters.
        states: name of the state file of each worker that committed.
    """

    name: str
    workers: int
    states: Mapping[int, str]


def begin_session(location: Path | str, patience_s: float, home: Path | None = None) -> WriterSession:
    """Take hold of a lake; a folder is made where it is missing.

    Args:
        location: where records are to be kept.
        patience_s: how long to wait for the processes of a collector that was killed to finish writing.
        home: folder of the lock; None for that of the lake, which an object store is not. There the lock holds only
            against collectors of the same home.

    Raises:
        InputError: another collector writes there, or the folder is not writable.
    """
    store, home = open_store(location), Path(location) if home is None else home
    try:
        if isinstance(store, LocalStore):
            make_folders(store.folder)
        home.mkdir(parents=True, exist_ok=True)
        lock = take_lock(home / "lock", patience_s, "another collector writes there")
        now = snapshot(store)
        past, sources = find_resumable(now), _source_states(now)
        states = {state for session in past for state in session.states.values()}
        removed = _remove_unreferenced(store, now, states | set(sources))
    except OSError as error:
        raise InputError(f"{error.filename or store.name}: {error.strerror or error}") from None
    warnings = [
        f"{store.name}: {count} commits of {writer.name} are damaged; what they committed is not read"
        for writer, count in sorted(now.damaged.items())
    ]
    last = max((writer.session for writer in now.heads if _is_collector(writer)), default="")
    workers = past[0].workers if past else 0
    return WriterSession(next_name(last), lock, workers, sources, removed, tuple(warnings))


def take_lock(path: Path, patience_s: float, otherwise: str) -> int:
    """A descriptor that holds a file as long as it is open, here or in a process that inherited it.

    Raises:
        InputError: another process holds it for longer than `patience_s`; `otherwise` says what that means.
        OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(f"{path.parent}: {otherwise}") from None
            time.sleep(_RETRY_S)
        else:
            return descriptor


def next_name(last: str) -> str:
    """The name of a session behind another one: by the clock, or by that one's name where the clock went back."""
    name = datetime.now(UTC).strftime(_NAME_FORMAT)
    return name if name > last else last + "0"


def _is_collector(writer: Writer) -> bool:
    """Whether a session of ours wrote this; others write into a lake too."""
    return _NAME.fullmatch(writer.session) is not None


def find_resumable(now: Snapshot, before: str = "") -> list[PastSession]:
    """What workers can go on with, newest session first.

    An exporter's worker of a session may have left no state, because the session ended before its first commit or the
    exporter sent nothing; then what an older session says holds. So sessions are gone through until one has states of
    all its workers. States are left out where a newer session with as many workers has one of the same worker.

    Args:
        now: the lake.
        before: sessions from this name on do not count; empty: all do.
    """
    by_session: dict[str, dict[int, Commit]] = {}
    for writer, newest in now.heads.items():
        if _is_collector(writer) and writer.worker < newest.workers and not (before and writer.session >= before):
            by_session.setdefault(writer.session, {})[writer.worker] = newest
    found: list[PastSession] = []
    replaced: dict[int, set[int]] = {}
    for name, commits in sorted(by_session.items(), reverse=True):
        workers = next(iter(commits.values())).workers
        states = {worker: commit.state for worker, commit in sorted(commits.items()) if commit.state}
        known = replaced.setdefault(workers, set())
        found.append(PastSession(name, workers, {w: state for w, state in states.items() if w not in known}))
        known.update(states)
        if len(known) == workers:
            break
    return [session for session in found if session.states or session is found[0]]


def _source_states(now: Snapshot) -> tuple[str, ...]:
    """Names of the newest states that mirrors and topics left; their writers have the numbers behind the workers'."""
    newest: dict[int, str] = {}
    for writer, head in sorted(now.heads.items()):
        if _is_collector(writer) and writer.worker >= head.workers and head.state:
            newest[writer.worker - head.workers] = head.state
    return tuple(newest.values())


def _remove_unreferenced(store: ObjectStore, now: Snapshot, states: set[str]) -> int:
    """Remove the segments behind their writer's newest commit, and all states but those in `states`.

    A writer with damaged commits may have named more than can be read; its files all stay.
    """
    behind = [
        found.name
        for found in store.list(SEGMENTS)
        if (named := _ours(found.name, now)) and named[1] > _newest(now, named[0])
    ]
    behind += [
        found.name
        for found in store.list(STATE)
        if _ours(found.name, now) and found.name[len(STATE) + 1 :] not in states
    ]
    store.remove(behind)
    return len(behind)


def _ours(name: str, now: Snapshot) -> tuple[Writer, int] | None:
    """Which collector's commit a file belongs to; None where it is none's, or that of a damaged writer."""
    named = parse_name(name)
    return named if named and _is_collector(named[0]) and named[0] not in now.damaged else None


def _newest(now: Snapshot, writer: Writer) -> int:
    head = now.heads.get(writer)
    return head.number if head else 0
