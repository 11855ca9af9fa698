"""The wire form of spans: what comes out is what went in."""

from __future__ import annotations

import json

import numpy as np

from diagnose.patterns.critical_path import critical_path
from flowprism.dashboard.timeline.pack import IterationBlock, Lane, packed
from tests.flowprism.dashboard.timeline.spans import CHAIN, timelines

NUMBERS = (None, 0.5, 0.25, None)


def _read(body: bytes) -> tuple[dict[str, object], dict[str, list[float]]]:
    """As the page's script reads it."""
    length = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + length])
    assert (4 + length) % 8 == 0
    columns = {}
    for place in header["columns"]:
        at = 4 + length + place["offset"]
        assert at % 8 == 0
        columns[place["name"]] = np.frombuffer(body, place["type"], place["length"], at).tolist()
    return header, columns


def _lanes(*numbers: int) -> list[Lane]:
    return [Lane(f"e{n}", f"endpoint {n}", f"10.0.0.{n}", None, 0, ("dp 1",), n == 2, *NUMBERS) for n in numbers]


def _part() -> IterationBlock:
    told = timelines(*CHAIN)
    return IterationBlock(told, ((1, 1_000_000_000, 1_040_000_000),), tuple(critical_path(told.spans)))


def test_lanes_come_in_the_order_of_pictures() -> None:
    """Spans are numbered by lane, not by the store's codes, and lie in order of lane and time."""
    header, columns = _read(packed(_lanes(2, 1), _part(), None))
    assert columns["shown.lane"] == [0] * 5 + [1] * 5
    assert columns["shown.start"] == [0, 10, 12, 30, 32, 0, 10, 12, 30, 32]
    assert columns["shown.peer"][:3] == [1, 1, -1]
    assert [lane["name"] for lane in header["lanes"]] == ["e2", "e1"]  # type: ignore[attr-defined]
    assert header["shown"]["path"][1] == [0, "pp_recv", 10.0, 12.0]  # type: ignore[index]
    assert "other" not in header


def test_spans_of_endpoints_without_a_lane_are_left_out() -> None:
    """One lane: its spans only, and a peer without a lane is nobody."""
    header, columns = _read(packed(_lanes(1), _part(), None))
    assert len(columns["shown.lane"]) == 5
    assert set(columns["shown.peer"]) == {-1}
    assert header["shown"]["path"][1][0] == -1  # type: ignore[index]


def test_what_is_compared_with_keeps_its_own_codes() -> None:
    """The other part's address book may differ: lanes go by address."""
    turned = timelines(*CHAIN)
    other = IterationBlock(
        type(turned)(turned.spans, turned.addresses[::-1], turned.jobs, turned.groups), _part().iterations, ()
    )
    _, columns = _read(packed(_lanes(1, 2), _part(), other))
    other_kinds = columns["other.kind"]
    assert columns["shown.kind"] == other_kinds[5:] + other_kinds[:5]


def test_names_are_kept_whole() -> None:
    """Whatever letters a name has; the header stays aligned."""
    lane = Lane("</script>ä", "≠" * 7, "10.0.0.1", 0, 0, (), False, *NUMBERS)
    header, _ = _read(packed([lane], _part(), None))
    assert header["lanes"][0]["name"] == "</script>ä"  # type: ignore[index]
