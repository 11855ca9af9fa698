"""Blocks of a ring that say what no kernel would: nothing outside them is pointed at, every packet is accounted for."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.live.ring_block import BROKEN, MARKS, MERGED, PACKET_HEAD_BYTES, TAGS_STRIPPED, Marks, index_block
from capture.tables.frame_index import INDEX, Index
from capture.tables.read_buffer import as_array


def packet(frame: bytes, step: int, *, status: int = 1, wire_bytes: int = 0, time: tuple[int, int] = (7, 8)) -> bytes:
    """A packet head and its frame, filled up to `step` bytes; 0: the last one, not filled up."""
    head = struct.pack("=6IHH20x", step, *time, len(frame), wire_bytes or len(frame), status, PACKET_HEAD_BYTES, 62)
    return (head + frame).ljust(step, b"\xee")


def indexed(block: bytes, packets: int, rows: int = 100) -> tuple[Index, Marks, int]:
    """Rows, marks and packets left after indexing a ring of one block whose packets begin at its start."""
    index, marks = np.zeros(rows, INDEX), np.zeros(MARKS, np.int64)
    data = as_array(block)
    count, _, left = index_block(data, 0, len(block), packets, 1, 3, index, marks)
    return index[:count], marks, left


def test_packets_are_found() -> None:
    """Every packet's place, time and sizes are those of its head."""
    block = packet(b"a" * 30, 80, wire_bytes=1500) + packet(b"b" * 20, 0, time=(9, 10))
    index, marks, left = indexed(block, 2)
    assert index.tolist() == [(48, 7_000_000_008, 30, 1500, 1, 3), (128, 9_000_000_010, 20, 20, 1, 3)]
    assert (marks.tolist(), left) == ([0, 0, 0], 0)


def test_index_that_is_full() -> None:
    """Where the index has no more rows, the packets that are left are told."""
    block = packet(b"a", 64) * 3
    index, marks, left = indexed(block, 3, rows=2)
    assert (len(index), left, marks.sum()) == (2, 1, 0)


def test_marks() -> None:
    """Frames whose tag was removed, and frames merged out of several packets, are counted."""
    block = packet(b"a", 64, status=1 | 1 << 4) + packet(b"a", 64, status=1 | 1 << 4 | 1 << 8) + packet(b"a", 64)
    _, marks, _ = indexed(block, 3)
    assert (marks[TAGS_STRIPPED], marks[MERGED], marks[BROKEN]) == (2, 1, 0)


@pytest.mark.parametrize("block", [
    packet(b"a", 64) + packet(b"a", 1 << 20)[:64] + packet(b"a", 0),
    packet(b"a", 64) + packet(b"a", 0) + packet(b"a", 0),
    packet(b"a", 64) + packet(b"a", 64) + packet(b"a" * 10, 0)[:-1],
])  # fmt: skip
def test_contradictions_are_counted(block: bytes) -> None:
    """A head that leads out of the block, or a frame that ends outside, gives up what follows, once."""
    index, marks, left = indexed(block, 3)
    assert len(index) == 2
    assert (marks[BROKEN], left) == (1, 0)


@given(st.binary(max_size=400), st.integers(0, 5), st.integers(1, 4))
def test_any_bytes_are_survived(block: bytes, packets: int, rows: int) -> None:
    """Whatever the bytes, frames lie inside the block and every packet is indexed, given up or left."""
    index, marks, left = indexed(block, packets, rows)
    ends = index["offset"] + index["captured_bytes"]
    assert (ends <= len(block)).all()
    assert (index["captured_bytes"] >= 0).all()
    assert len(index) + marks[BROKEN] + left == packets
