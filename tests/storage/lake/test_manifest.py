"""A commit comes back in every detail, and damage is told from it."""

from __future__ import annotations

import pytest

from storage.lake.manifest import Commit, Segment, decode_commit, encode_commit
from storage.lake.object_names import Writer

WRITER = Writer("20260101T000000000000Z", 1)


def commit(number: int) -> Commit:
    """A commit with everything in it."""
    sums = {"10.0.0.1": (3, 1 << 60), "": (2, 0)}
    segment = Segment("flows", f"segment-{number}", 5, 1234, -1, 1 << 62, sums, 3, 17)
    totals, rejected = {"flows": 5}, {"broken": 1}
    return Commit(WRITER, 2, number, 17, number * 10, (segment,), "state", ("poison",), totals, rejected, ("old",))


def test_a_commit_comes_back() -> None:
    """What was encoded is decoded, in every detail."""
    assert decode_commit(encode_commit(commit(1))) == commit(1)


def test_every_changed_byte_is_told() -> None:
    """Wherever one byte changes, or the line is cut, there is no commit."""
    line = encode_commit(commit(1))
    assert [n for n in range(len(line)) if decode_commit(line[:n])] == []
    changed = [line[:n] + bytes([line[n] ^ 1]) + line[n + 1 :] for n in range(len(line))]
    # The letter case of a hex digit is the one thing that says nothing.
    assert {decode_commit(other) for other in changed if other[:8].lower() != line[:8].lower()} == {None}


@pytest.mark.parametrize("line", [b"", b"\n", b"zzzzzzzz {}\n", b"00000000 \n", b"a3830348 []\n", b"\xff" * 20 + b"\n"])
def test_no_line_is_too_strange(line: bytes) -> None:
    """What is no commit is None, not an exception."""
    assert decode_commit(line) is None
