"""How a folder of collected records is laid out, and what the names in it say.

    segments/  SESSION-wWORKER-NUMBER-KIND.parquet   records of one kind of one commit
    state/     SESSION-wWORKER-NUMBER.state          what decoding must remember after that commit
    manifest/  SESSION-wWORKER.log                   one line a commit, see `storage.manifest`

A session is one run of a collector; a worker counts its commits from 1. No name is used twice and no file is renamed,
so that the same layout works in an object store.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from datamodel.counters import COUNTERS, DROPS
from datamodel.flows import FLOWS

SEGMENTS, STATE, MANIFEST = "segments", "state", "manifest"
KINDS = {schema.name: schema for schema in (FLOWS, COUNTERS, DROPS)}

_NAME = re.compile(r"(?P<session>[0-9A-Za-z]+)-w(?P<worker>\d+)(?:-(?P<number>\d+))?(?:-[a-z]+)?\.[a-z]+")


@dataclass(frozen=True, slots=True, order=True)
class Writer:
    """Who writes: one worker of one run of a collector."""

    session: str
    worker: int

    @property
    def name(self) -> str:
        """How the names of its files begin."""
        return f"{self.session}-w{self.worker}"


def segment_name(writer: Writer, number: int, kind: str) -> str:
    """Name of the segment of `kind` that belongs to a commit."""
    return f"{writer.name}-{number:08d}-{kind}.parquet"


def state_name(writer: Writer, number: int) -> str:
    """Name of the state file that belongs to a commit."""
    return f"{writer.name}-{number:08d}.state"


def parsed(name: str) -> tuple[Writer, int] | None:
    """Who wrote the file of this name, and in which commit (0 for a manifest); None where it is none of ours."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Writer(match["session"], int(match["worker"])), int(match["number"] or 0)


def make_folders(folder: Path) -> None:
    """Have `folder` and what belongs into it."""
    for name in (SEGMENTS, STATE, MANIFEST):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in (folder, folder.parent):
        sync_folder(path)


def is_store(folder: Path) -> bool:
    """Whether `folder` is one of collected records."""
    return (folder / MANIFEST).is_dir()


def sync_folder(folder: Path) -> None:
    """Make the names of the files in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
