"""Publishes what counts in a lake as Delta Lake tables, one a kind, that any engine reads without flowprism.

The commits of the lake stay what counts (`storage.lake.manifest`); the tables follow them. A version is the difference
between what a table's log says and what counts, so it does not matter where an earlier publication was interrupted.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence

from storage.lake.delta.checkpoint import Action
from storage.lake.delta.file_statistics import file_statistics
from storage.lake.delta.table_log import DamagedLogError, TableLog, TableState
from storage.lake.delta.table_schema import metadata_action, protocol_action, schema_text
from storage.lake.kinds import KINDS, Kind
from storage.lake.manifest import Segment
from storage.lake.object_names import SEGMENTS
from storage.lake.object_store import ObjectStore
from storage.lake.snapshot import Snapshot

_CHECKPOINT_VERSIONS = 20  # so many objects are read at most behind a checkpoint
_NS_PER_MS = 1_000_000


class Publication:
    """The tables of a lake in the hands of its compactor."""

    def __init__(self, store: ObjectStore) -> None:
        """Nothing is read yet."""
        self._store = store
        self._states: dict[str, TableState] = {}

    def publish(self, now: Snapshot, time_ns: int) -> None:
        """Have each table say what counts; a table begins with the first records of its kind.

        Raises:
            OSError: a log cannot be read or written; the next call goes on there.
        """
        for name, kind in KINDS.items():
            self._publish(kind, now.of_kind(name), time_ns)

    def remove_covered(self, before_ns: int) -> int:
        """Remove objects of the logs that checkpoints older than a time cover; how many.

        Raises:
            OSError: one could not be removed.
        """
        shortened = [name for name, state in self._states.items() if state.checkpoint > 0]
        return sum(TableLog(self._store, name).remove_covered(before_ns) for name in shortened)

    def _publish(self, kind: Kind, segments: Sequence[Segment], time_ns: int) -> None:
        name, log = kind.schema.name, TableLog(self._store, kind.schema.name)
        state = self._states.pop(name, None) or _read_or_clear(log)  # read again after an error
        root = f"{SEGMENTS}/{name}/"
        counting = {s.file.removeprefix(root): s for s in segments if s.file.startswith(root)}
        actions = _difference(self._store, kind, state, counting, time_ns)
        if actions:
            state = log.add_version(state, actions)
            if state.version - state.checkpoint >= _CHECKPOINT_VERSIONS:
                state = log.add_checkpoint(state, protocol_action())
        self._states[name] = state


def _read_or_clear(log: TableLog) -> TableState:
    """What a log says; one that cannot be read is begun again, since what counts is known without it."""
    try:
        return log.read()
    except DamagedLogError:
        log.clear()
        return TableState()


def _difference(
    store: ObjectStore, kind: Kind, state: TableState, counting: Mapping[str, Segment], time_ns: int
) -> list[Action]:
    """What is to be said so that a log says what counts; nothing where it does."""
    added = [segment for path, segment in counting.items() if path not in state.files]
    removed = [path for path in state.files if path not in counting]
    is_new = state.metadata is None
    if is_new and not added:
        return []
    actions: list[Action] = [protocol_action()] if is_new else []
    if state.metadata is None or state.metadata["schemaString"] != schema_text(kind):
        table_id = str(uuid.uuid4()) if state.metadata is None else state.metadata["id"]
        actions.append(metadata_action(kind, table_id, time_ns // _NS_PER_MS))
    # Engines that follow a table row by row pass over what was only packed. It must not bring records of its own.
    packed_rows = sum(segment.rows for segment in added if segment.group >= 0)
    is_change = packed_rows != sum(_rows(state.files[path]) for path in removed)
    actions += [_remove(path, time_ns, is_change=is_change) for path in sorted(removed)]
    root = f"{SEGMENTS}/{kind.schema.name}/"
    actions += [
        _add(segment, root, statistics, is_change=is_change or segment.group < 0)
        for segment, statistics in zip(added, file_statistics(store, kind, added), strict=True)
    ]
    if not actions:
        return []
    operation = "WRITE" if is_change or not removed else "OPTIMIZE"
    said = {"timestamp": time_ns // _NS_PER_MS, "operation": operation, "engineInfo": "flowprism"}
    return [{"commitInfo": said}, *actions]


def _add(segment: Segment, root: str, statistics: str, *, is_change: bool) -> Action:
    said = {
        "path": segment.file.removeprefix(root),
        "partitionValues": {},
        "size": segment.file_bytes,
        "modificationTime": segment.written_ns // _NS_PER_MS,
        "dataChange": is_change,
        "stats": statistics,
    }
    return {"add": said}


def _remove(path: str, time_ns: int, *, is_change: bool) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": time_ns // _NS_PER_MS, "dataChange": is_change}}


def _rows(added: Mapping[str, str]) -> int:
    return int(json.loads(added["stats"])["numRecords"])
