"""One table's Delta Lake log: reading what it says, and adding versions to it.

A version is one JSON object of actions; now and then a checkpoint holds all of them, so that old versions can go. Both
become visible at once and whole, since engines that read them know no checksum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storage.lake.delta.checkpoint import Action, checkpoint_actions, checkpoint_table
from storage.lake.object_names import SEGMENTS
from storage.lake.object_store import ObjectInfo, ObjectStore

_VERSION = re.compile(r".*/(\d{20})\.json")
_CHECKPOINT = re.compile(r".*/(\d{20})\.checkpoint\.parquet")


class DamagedLogError(ValueError):
    """A log cannot be read: something else than a compactor wrote it, or objects of it were deleted."""


@dataclass(frozen=True, slots=True)
class TableState:
    """What a log says.

    Attributes:
        version: its newest version; -1 before the first.
        metadata: the newest action with the table's columns; None before the first.
        files: the action that added each file that counts, by path.
        checkpoint: version of the newest checkpoint; -1 before the first.
    """

    version: int = -1
    metadata: Mapping[str, Any] | None = None
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checkpoint: int = -1


class TableLog:
    """The log of the table of one kind. One process writes it."""

    def __init__(self, store: ObjectStore, kind: str) -> None:
        """The log next to the segments of `kind`, which need not be there yet."""
        self._store, self._folder = store, f"{SEGMENTS}/{kind}/_delta_log"

    def read(self) -> TableState:
        """What the log says now.

        Raises:
            DamagedLogError: it cannot be read.
            OSError: the store cannot be read.
        """
        found = self._store.list(self._folder)
        checkpoint = max(_numbers(found, _CHECKPOINT), default=-1)
        versions = sorted(number for number in _numbers(found, _VERSION) if number > checkpoint)
        if versions != list(range(checkpoint + 1, checkpoint + 1 + len(versions))):
            raise DamagedLogError(f"{self._store.name}/{self._folder}: versions are missing")
        try:
            actions = self._checkpoint_actions(checkpoint) if checkpoint >= 0 else []
            for version in versions:
                actions += [json.loads(line) for line in self._store.read(self._version_name(version)).splitlines()]
            return _replayed(actions, max([checkpoint, *versions]), checkpoint)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedLogError(f"{self._store.name}/{self._folder}: {error}") from None

    def add_version(self, state: TableState, actions: Sequence[Action]) -> TableState:
        """Add a version behind `state`; the answer is what the log says then.

        Raises:
            OSError: it could not be written; nothing was changed.
        """
        version = state.version + 1
        lines = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
        self._store.replace(self._version_name(version), lines.encode())
        return _replayed(actions, version, state.checkpoint, state)

    def add_checkpoint(self, state: TableState, protocol: Action) -> TableState:
        """Put all that `state` says into one object; the answer is the same state with it.

        Raises:
            OSError: it could not be written.
        """
        table = checkpoint_table(state.files, [protocol, {"metaData": state.metadata}])
        stream = pa.BufferOutputStream()
        pq.write_table(table, stream)
        self._store.replace(f"{self._folder}/{state.version:020d}.checkpoint.parquet", stream.getvalue())
        newest = json.dumps({"version": state.version, "size": table.num_rows})
        self._store.replace(f"{self._folder}/_last_checkpoint", newest.encode())
        return TableState(state.version, state.metadata, state.files, state.version)

    def remove_covered(self, before_ns: int) -> int:
        """Remove what the newest checkpoint covers that is older than a time; how many objects.

        A reader that began before a checkpoint was there still needs what it covers, however old that is.

        Raises:
            OSError: one could not be removed.
        """
        found = self._store.list(self._folder)
        known = max(_numbers((one for one in found if one.modified_ns <= before_ns), _CHECKPOINT), default=0)
        behind = [one.name for one in found if (number := _number(one.name)) is not None and number < known]
        self._store.remove(behind)
        return len(behind)

    def clear(self) -> None:
        """Remove the log.

        An interrupted call leaves no log that can be read, nor a hint at a checkpoint that is gone.

        Raises:
            OSError: it could not be removed.
        """
        hint = f"{self._folder}/_last_checkpoint"
        self._store.remove([hint, *(found.name for found in self._store.list(self._folder) if found.name != hint)])

    def _version_name(self, version: int) -> str:
        return f"{self._folder}/{version:020d}.json"

    def _checkpoint_actions(self, version: int) -> list[Action]:
        content = self._store.read(f"{self._folder}/{version:020d}.checkpoint.parquet")
        try:
            return checkpoint_actions(pq.read_table(pa.BufferReader(content)))
        except (pa.ArrowException, OSError) as error:  # pyarrow says so of damage too; the store has answered
            raise DamagedLogError(f"checkpoint {version}: {error}") from None


def _numbers(found: Iterable[ObjectInfo], pattern: re.Pattern[str]) -> list[int]:
    return [int(match[1]) for one in found if (match := pattern.fullmatch(one.name))]


def _number(name: str) -> int | None:
    """The version that an object of a log belongs to; None for other objects."""
    match = _VERSION.fullmatch(name) or _CHECKPOINT.fullmatch(name)
    return int(match[1]) if match else None


def _replayed(
    actions: Iterable[Action], version: int, checkpoint: int, before: TableState = TableState()
) -> TableState:
    """What a log says after some more actions."""
    metadata, files = before.metadata, dict(before.files)
    for action in actions:
        if "metaData" in action:
            metadata = action["metaData"]
        elif "add" in action:
            files[action["add"]["path"]] = action["add"]
        elif "remove" in action:
            files.pop(action["remove"]["path"], None)
    return TableState(version, metadata, files, checkpoint)
