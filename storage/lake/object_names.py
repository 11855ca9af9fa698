"""How a flow lake is laid out, and what the names in it say.

    segments/KIND/HOUR/SESSION-wWORKER-NUMBER.parquet             records of one kind of one commit
    segments/KIND/HOUR/gGROUP/SESSION-wWORKER-NUMBER-PART.parquet  packed: of one hour and one group of exporters
    segments/KIND/_delta_log/                                     its table for other engines: `storage.lake.delta`
    manifest/SESSION-wWORKER/NUMBER.json                          one object a commit, see `storage.lake.manifest`
    checkpoint/NUMBER.json.zst                                    the commits so far in one object
    state/SESSION-wWORKER-NUMBER.state                            what decoding must remember after that commit

A session is one run of a writer; a worker counts its commits from 1. No name is used twice and nothing is
renamed, so that the same layout works in an object store. Folders of flowprism 0.1 have `segments/NAME.parquet` and
`manifest/SESSION-wWORKER.log` instead; they are read as they are, and new commits are added next to them.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storage.lake.object_store import LocalStore, sync_folder

SEGMENTS, STATE, MANIFEST, CHECKPOINT = "segments", "state", "manifest", "checkpoint"
EXPORTER_GROUPS = 4

_NAME = re.compile(r"(?P<session>[0-9A-Za-z]+)-w(?P<worker>\d+)(?:-(?P<number>\d+))?(?:-[0-9a-z]+)?\.[a-z]+")
_COMMIT = re.compile(rf"{MANIFEST}/(?P<session>[0-9A-Za-z]+)-w(?P<worker>\d+)/(?P<number>\d+)\.json")
_CHECKPOINT = re.compile(rf"{CHECKPOINT}/(\d+)\.json\.zst")


@dataclass(frozen=True, slots=True, order=True)
class Writer:
    """A writer: one worker of one run."""

    session: str
    worker: int

    @property
    def name(self) -> str:
        """How the names of its files begin."""
        return f"{self.session}-w{self.worker}"


COMPACTOR = Writer("keeper", 0)  # packs segments and removes old ones; one process at a time


def segment_name(writer: Writer, number: int, kind: str, start_ns: int) -> str:
    """Name of the segment of `kind` that belongs to a commit and begins at `start_ns`."""
    return f"{SEGMENTS}/{kind}/{hour_name(start_ns)}/{writer.name}-{number:08d}.parquet"


def packed_name(number: int, kind: str, start_ns: int, group: int, part: int) -> str:
    """Name of the packed segment of a commit of the compactor."""
    return f"{SEGMENTS}/{kind}/{hour_name(start_ns)}/g{group}/{COMPACTOR.name}-{number:08d}-{part:04d}.parquet"


def hour_name(time_ns: int) -> str:
    """The hour a time lies in, UTC, e.g. "2026-01-31T23"."""
    return str(np.datetime64(time_ns, "ns").astype("datetime64[h]"))


def group_of(exporter: str) -> int:
    """The group of exporters that one belongs to, 0 to `EXPORTER_GROUPS` - 1; "" (unknown) is an exporter too."""
    return zlib.crc32(exporter.encode()) % EXPORTER_GROUPS


def state_name(writer: Writer, number: int) -> str:
    """Name, inside the folder of states, of the state that belongs to a commit."""
    return f"{writer.name}-{number:08d}.state"


def commit_name(writer: Writer, number: int) -> str:
    """Name of a commit's object."""
    return f"{MANIFEST}/{writer.name}/{number:012d}.json"


def checkpoint_name(number: int) -> str:
    """Name of a checkpoint."""
    return f"{CHECKPOINT}/{number:012d}.json.zst"


def parse_name(name: str) -> tuple[Writer, int] | None:
    """Parse a file name into writer and commit (0 where none is named); None for other files."""
    match = _NAME.fullmatch(name.rpartition("/")[2])
    if match is None:
        return None
    return Writer(match["session"], int(match["worker"])), int(match["number"] or 0)


def parse_commit_name(name: str) -> tuple[Writer, int] | None:
    """Whose commit the object of this name is, and which; None where it is none."""
    match = _COMMIT.fullmatch(name)
    return None if match is None else (Writer(match["session"], int(match["worker"])), int(match["number"]))


def parse_checkpoint_name(name: str) -> int | None:
    """The number of the checkpoint of this name; None where it is none."""
    match = _CHECKPOINT.fullmatch(name)
    return None if match is None else int(match[1])


def make_folders(folder: Path) -> None:
    """Have `folder` and what belongs into it."""
    for name in (SEGMENTS, STATE, MANIFEST, CHECKPOINT):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in (folder, folder.parent):
        sync_folder(path)


def is_store(store: object) -> bool:
    """Whether a local folder, given as its path or its place, is one of collected records."""
    folder = store.folder if isinstance(store, LocalStore) else store
    return isinstance(folder, Path) and (folder / MANIFEST).is_dir()
