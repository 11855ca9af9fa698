"""A run of a collector takes hold of a folder: nobody else writes there, and what a crash left behind goes."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datamodel.errors import InputError
from storage.layout import SEGMENTS, STATE, make_folders, parsed
from storage.manifest import Commit, Manifest, read_manifests

_RETRY_S = 0.1


@dataclass(frozen=True, slots=True)
class Session:
    """A folder in our hands.

    Attributes:
        name: unlike that of any other session, and greater than that of those before it.
        lock: descriptor that holds the folder; every process that may still write keeps a copy of it open.
        workers: how many workers the session before had; 0 where there was none.
        states: name of the state file that each of those workers left.
        removed: how many files that nothing refers to were removed.
        warnings: what is wrong with the folder, in sentences.
    """

    name: str
    lock: int
    workers: int
    states: Mapping[int, str]
    removed: int
    warnings: tuple[str, ...]


def begin(folder: Path, patience_s: float) -> Session:
    """Take hold of `folder`, made where it is missing.

    Args:
        folder: where records are to be kept.
        patience_s: how long to wait for the processes of a collector that was killed to finish writing.

    Raises:
        InputError: another collector writes there, or nobody may.
    """
    try:
        make_folders(folder)
        lock = _lock(folder, patience_s)
        manifests = list(read_manifests(folder))
        states = resumable(manifests)
        removed = _remove_unreferenced(folder, manifests, {commit.state for commit in states.values()})
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}") from None
    warnings = [
        f"{folder}: the manifest of {manifest.writer.name} has {manifest.damaged_lines} damaged lines; "
        f"what they committed is not read"
        for manifest in manifests
        if manifest.damaged_lines
    ]
    workers = max((commit.workers for commit in states.values()), default=0)
    names = {worker: commit.state for worker, commit in states.items()}
    return Session(_new_name(manifests), lock, workers, names, removed, tuple(warnings))


def _lock(folder: Path, patience_s: float) -> int:
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(f"{folder}: another collector writes there") from None
            time.sleep(_RETRY_S)
        else:
            return descriptor


def _new_name(manifests: list[Manifest]) -> str:
    """A name by the clock; where the clock went back, by the newest session."""
    last = max((manifest.writer.session for manifest in manifests), default="")
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return name if name > last else last + "0"


def resumable(manifests: list[Manifest]) -> dict[int, Commit]:
    """Behind which commit each worker can go on: its newest one since the number of workers last changed."""
    found: dict[int, Commit] = {}
    for manifest in reversed(manifests):
        if not manifest.commits:
            continue
        newest = manifest.commits[-1]
        if any(commit.workers != newest.workers for commit in found.values()):
            break
        found.setdefault(newest.writer.worker, newest)
    return found


def _remove_unreferenced(folder: Path, manifests: list[Manifest], states: set[str]) -> int:
    """Remove the segments behind their writer's newest commit, and all states but those in `states`.

    A manifest with damaged lines may have named more than can be read; its writer's files all stay.
    """
    newest = {manifest.writer: manifest.commits[-1].number for manifest in manifests if manifest.commits}
    damaged = {manifest.writer for manifest in manifests if manifest.damaged_lines}
    removed = 0
    for kind in (SEGMENTS, STATE):
        for path in (folder / kind).iterdir():
            named = parsed(path.name)
            if named is None or named[0] in damaged:
                continue
            writer, number = named
            if number > newest.get(writer, 0) or (kind == STATE and path.name not in states):
                path.unlink()
                removed += 1
    return removed
