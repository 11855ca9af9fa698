"""Sequence numbers of sessions: what is lost, late, repeated, or begins anew."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.live.session_sequence import (
    MOST_SESSIONS,
    NOT_FOLLOWED,
    WINDOW,
    Sessions,
    Totals,
    no_sessions,
    note_sequences,
)
from capture.tables.frame_index import INDEX
from capture.tables.read_buffer import as_array
from tests.capture.frames import ip
from tests.capture.live.gre import erspan_one, erspan_three, erspan_two

COUNTS = ("received", "lost", "missing", "late", "repeated", "stray", "restarts")


def noted(packets: list[bytes]) -> tuple[Sessions, Totals]:
    """The tables after these IP packets."""
    sessions, totals = no_sessions()
    index = np.zeros(len(packets), INDEX)
    lengths = np.array([len(packet) for packet in packets], np.int64)
    index["captured_bytes"] = lengths
    index["offset"] = np.cumsum(lengths) - lengths
    note_sequences(as_array(b"".join(packets)), index, sessions, totals)
    return sessions, totals


def counts(numbers: list[int]) -> dict[str, int]:
    """What one session's packets with these numbers come to; what is zero is left out."""
    sessions, _ = noted([ip(47, erspan_two(b"", 1, n)) for n in numbers])
    (row,) = sessions[sessions["used"] != 0]
    return {name: int(row[name]) for name in COUNTS if row[name]}


@pytest.mark.parametrize("first", [0, 1, 12345, 2**31 - 2, 2**32 - 2])
def test_nothing_missing(first: int) -> None:
    """Numbers without a gap lose nothing, wherever they begin and when they wrap."""
    assert counts([(first + i) % 2**32 for i in range(5000)]) == {"received": 5000}


def test_missing_becomes_lost() -> None:
    """A number that is passed over is missing while it may still come, and lost when the window has left it behind."""
    assert counts([1, 3]) == {"received": 2, "missing": 1}
    assert counts([1, *range(3, 3 + WINDOW - 1)]) == {"received": WINDOW, "missing": 1}
    assert counts([1, *range(3, 3 + WINDOW)]) == {"received": WINDOW + 1, "lost": 1}


def test_reordered_is_not_lost() -> None:
    """Packets that overtake one another within the window are late, not lost."""
    order = list(range(10_000))
    source = random.Random(1)  # noqa: S311 - a shuffle, no secret
    for at in range(1, len(order), 500):  # the first one stays, as counting begins with it
        part = order[at : at + 500]
        source.shuffle(part)
        order[at : at + 500] = part
    order.remove(5000)
    found = counts(order)
    assert found.pop("late") > 5000
    assert found == {"received": 9999, "lost": 1}


def test_long_outage() -> None:
    """A gap longer than the window is lost but for the numbers that may still come."""
    assert counts([1, 100_001]) == {"received": 2, "lost": 100_000 - WINDOW, "missing": WINDOW - 1}


def test_repeated_counts_once() -> None:
    """A packet that comes twice was received once."""
    assert counts([1, 2, 2, 1, 3]) == {"received": 3, "repeated": 2}


def test_restart_is_no_loss() -> None:
    """A source that begins to count anew has lost nothing; what was missing before it stays lost."""
    assert counts([70_000, 70_001, 70_003, 1, 2, 3]) == {"received": 6, "lost": 1, "restarts": 1}
    assert counts([5, 6, 2**31, 2**31 + 1]) == {"received": 4, "restarts": 1}


def test_stray_is_not_followed() -> None:
    """A single number that fits nothing changes nothing."""
    assert counts([70_000, 70_001, 1, 70_002, 2, 70_003]) == {"received": 4, "stray": 2}


def test_sources_and_sessions_are_apart() -> None:
    """Each source has its own sessions, each session its own numbers; type I has none."""
    packets = [
        ip(47, erspan_two(b"", 1, 7), src="192.0.2.1"),
        ip(47, erspan_two(b"", 1, 99), src="192.0.2.2"),
        ip(47, erspan_three(b"", 2, 500), src="192.0.2.1"),
        ip(47, erspan_one(bytes(60)), src="192.0.2.3"),
        ip(47, erspan_two(b"", 1, 8), src="192.0.2.1"),
    ]
    sessions, totals = noted(packets)
    rows = sessions[sessions["used"] != 0]
    assert sorted(rows["received"].tolist()) == [1, 1, 2]
    assert rows["missing"].sum() == 0
    assert totals.tolist() == [3, 0]


def test_options_are_stepped_over() -> None:
    """IP options, a GRE checksum and a key stand before the number."""
    plain = erspan_two(b"", 1, 7)
    full = b"\xb0" + plain[1:4] + bytes(8) + plain[4:]
    sessions, _ = noted([ip(47, full, options=bytes(8)), ip(47, erspan_two(b"", 1, 9))])
    (row,) = sessions[sessions["used"] != 0]
    assert (row["received"], row["missing"]) == (2, 1)


def test_invented_sources_cost_no_memory() -> None:
    """Beyond the most sessions that are followed, packets are only counted, and those followed go on."""
    more = 100
    sources = [f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(MOST_SESSIONS + more)]
    packets = [ip(47, erspan_two(b"", 1, n), src=source) for n in (1, 3) for source in sources]
    sessions, totals = noted(packets)
    assert (sessions["used"] != 0).sum() == MOST_SESSIONS
    assert totals[NOT_FOLLOWED] == 2 * more
    assert sessions["missing"].sum() == MOST_SESSIONS


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=20))
def test_any_bytes_are_survived(packets: list[bytes]) -> None:
    """Whatever the bytes, no more packets are entered than there were, and never more than was read."""
    sessions, totals = noted(packets)
    assert sessions["received"].sum() + sessions["stray"].sum() + totals[NOT_FOLLOWED] <= len(packets)


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3000), min_size=1, max_size=200))
def test_every_packet_is_one_thing(numbers: list[int]) -> None:
    """Every packet was received, repeated or stray; nothing is owed below zero."""
    found = counts(numbers)
    assert sum(found.get(name, 0) for name in ("received", "repeated", "stray")) == len(numbers)
    assert min(found.values()) >= 0
