"""Reading the commits of a lake: those of each writer in order, from objects or from the logs of flowprism 0.1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from datamodel.errors import InputError
from storage.lake.manifest import Commit, decode_commit
from storage.lake.object_names import MANIFEST, SEGMENTS, Writer, parse_commit_name, parse_name
from storage.lake.object_store import ObjectStore, open_store

_READERS = 8  # an object store answers in tens of milliseconds, and many questions at once


@dataclass(frozen=True, slots=True)
class Manifest:
    """One writer's commits, in order, and how many are damaged or missing (a torn last one is not)."""

    writer: Writer
    commits: tuple[Commit, ...]
    damaged: int


def read_manifests(
    location: ObjectStore | Path | str, covered: Mapping[Writer, int] | None = None
) -> Iterator[Manifest]:
    """The commits of all writers that are not in a checkpoint, in order of session and worker.

    Args:
        location: the lake.
        covered: of each writer, the number of the newest commit that need not be read.

    Raises:
        FileNotFoundError: one went while it was being read; a newer checkpoint holds it.
        InputError: one cannot be read.
    """
    store, covered = open_store(location), covered or {}
    try:
        names = [found.name for found in store.list(MANIFEST)]
        contents = _objects(store, [name for name in names if _is_wanted(name, covered)])
        logs = {name: store.read(name) for name in names if _log_writer(name) is not None}
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{store.name}: its manifest cannot be read: {error.strerror or error}") from None
    by_writer: dict[Writer, dict[int, bytes]] = defaultdict(dict)
    for name, content in contents:
        named = parse_commit_name(name)
        if named is not None:
            by_writer[named[0]][named[1]] = content
    found = [_manifest(writer, lines, covered.get(writer, 0)) for writer, lines in by_writer.items()]
    found += [
        _logged(writer, content, covered.get(writer, 0))
        for name, content in logs.items()
        if (writer := _log_writer(name)) is not None
    ]
    yield from sorted(found, key=lambda manifest: manifest.writer)


def _is_wanted(name: str, covered: Mapping[Writer, int]) -> bool:
    named = parse_commit_name(name)
    return named is not None and named[1] > covered.get(named[0], 0)


def _log_writer(name: str) -> Writer | None:
    """Whose log of flowprism 0.1 this is; None where it is none."""
    named = parse_name(name)
    is_log = name.endswith(".log") and name.count("/") == 1
    return named[0] if is_log and named is not None else None


def _objects(store: ObjectStore, names: Sequence[str]) -> list[tuple[str, bytes]]:
    if len(names) <= 1:
        return [(name, store.read(name)) for name in names]
    with ThreadPoolExecutor(_READERS) as pool:
        return list(zip(names, pool.map(store.read, names), strict=True))


def _manifest(writer: Writer, lines: Mapping[int, bytes], covered: int) -> Manifest:
    """Commits by number. The newest one may be torn, or in the making; any other must be there and whole."""
    commits = {number: decode_commit(line) for number, line in lines.items()}
    last = max(commits)
    whole = tuple(commit for _, commit in sorted(commits.items()) if commit is not None)
    expected = last - covered - (commits[last] is None)
    return Manifest(writer, whole, max(0, expected - len(whole)))


def _logged(writer: Writer, content: bytes, covered: int) -> Manifest:
    """Commits of a log, one a line; names in it were relative to their folders."""
    lines = content.splitlines(keepends=True)
    found = [decode_commit(line) for line in lines]
    if lines and not lines[-1].endswith(b"\n"):
        found.pop()  # torn by a crash: its commit was never confirmed
    commits = [
        replace(commit, segments=tuple(replace(s, file=f"{SEGMENTS}/{s.file}") for s in commit.segments))
        for commit in found
        if commit is not None and commit.number > covered
    ]
    return Manifest(writer, tuple(commits), found.count(None))
