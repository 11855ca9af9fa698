"""A manifest says what was committed, whatever a crash did to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.errors import InputError
from storage.layout import Writer, make_folders, parsed, segment_name, state_name
from storage.manifest import Commit, ManifestLog, Segment, decoded, encoded, path_of, read_manifest, read_manifests

WRITER = Writer("20260101T000000000000Z", 1)


def commit(number: int) -> Commit:
    """A commit with everything in it."""
    segment = Segment("flows", f"segment-{number}", 5, 1234, -1, 1 << 62, {"10.0.0.1": (3, 1 << 60), "": (2, 0)})
    return Commit(WRITER, 2, number, 17, number * 10, (segment,), "state", ("poison",), {"flows": 5}, {"broken": 1})


def written(folder: Path, numbers: range) -> Path:
    """A manifest with these commits."""
    make_folders(folder)
    log = ManifestLog(folder, WRITER)
    for number in numbers:
        log.append(commit(number))
    log.close()
    return path_of(folder, WRITER)


def test_commits_come_back(tmp_path: Path) -> None:
    """What was appended is read, in order and in every detail."""
    path = written(tmp_path, range(1, 4))
    assert read_manifest(path).commits == (commit(1), commit(2), commit(3))
    assert [manifest.writer for manifest in read_manifests(tmp_path)] == [WRITER]


def test_a_torn_line_is_no_commit(tmp_path: Path) -> None:
    """Wherever a crash cuts the file, all whole lines count and nothing is called damaged."""
    path = written(tmp_path, range(1, 3))
    content = path.read_bytes()
    first = len(encoded(commit(1)))
    for size in range(len(content)):
        path.write_bytes(content[:size])
        manifest = read_manifest(path)
        assert (len(manifest.commits), manifest.damaged_lines) == (int(size >= first), 0)


def test_going_on_behind_a_torn_line(tmp_path: Path) -> None:
    """A writer that comes back cuts the torn line off and appends behind the last whole one."""
    path = written(tmp_path, range(1, 3))
    path.write_bytes(path.read_bytes()[:-5])
    written(tmp_path, range(7, 8))
    assert read_manifest(path).commits == (commit(1), commit(7))


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    """A changed byte in the middle costs that commit only, and is counted."""
    path = written(tmp_path, range(1, 4))
    content = bytearray(path.read_bytes())
    content[len(encoded(commit(1))) + 30] ^= 1
    path.write_bytes(content)
    manifest = read_manifest(path)
    assert (manifest.commits, manifest.damaged_lines) == ((commit(1), commit(3)), 1)


@pytest.mark.parametrize("line", [b"", b"\n", b"zzzzzzzz {}\n", b"00000000 \n", b"a3830348 []\n", b"\xff" * 20 + b"\n"])
def test_no_line_is_too_strange(line: bytes) -> None:
    """What is no commit is None, not an exception."""
    assert decoded(line) is None


def test_foreign_names_are_left_alone(tmp_path: Path) -> None:
    """Only names of ours are parsed; a foreign file beside the manifests is no manifest."""
    make_folders(tmp_path)
    (tmp_path / "manifest" / "notes.log").write_text("mine")
    assert list(read_manifests(tmp_path)) == []
    with pytest.raises(InputError, match=r"notes\.log: not the name of a manifest"):
        read_manifest(tmp_path / "manifest" / "notes.log")
    assert parsed(segment_name(WRITER, 12, "flows")) == (WRITER, 12)
    assert parsed(state_name(WRITER, 12)) == (WRITER, 12)
