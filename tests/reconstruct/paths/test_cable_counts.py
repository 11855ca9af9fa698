"""Bytes of cables by the counters of their interfaces."""

from __future__ import annotations

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.telemetry.counters import NO_READINGS, PORT_COUNTERS, PortReadings
from reconstruct.paths.cable_counts import cable_counts
from reconstruct.paths.cable_ends import CableEnds

LINKS = (Link(a="leaf", b="spine", a_port=1, b_port=7), Link(a="leaf", b="spine", a_port=2, b_port=8))
SWITCHES = {"10.0.0.1": "leaf", "10.0.0.2": "spine"}
# Of each reading its time, the code of its exporter, its interface, and bytes received and sent.
ROWS = (
    (0, 0, 1, 0, 1_000),
    (5, 0, 1, 10, 3_000),
    (9, 0, 1, 30, 7_000),
    (2, 1, 7, 5_000, 100),
    (6, 1, 7, 9_000, 300),
    (3, 0, 2, -1, 800),
    (8, 0, 2, -1, 50),
    (4, 1, 8, 600, -1),
    (6, 1, 8, 900, -1),
    (1, 0, 9, 5, 5),
    (7, 0, 9, 9, 9),
)


def test_a_cable_has_what_leaves_by_its_interface_or_else_what_enters() -> None:
    """Between its own first and last reading of the window; a counter that began again is left for the other end's."""
    order = np.random.default_rng(3).permutation(len(ROWS))
    time, exporter, interface, received, sent = np.array(ROWS)[order].T
    columns = {"time_ns": time, "sampler_address": exporter, "interface": interface, "priority": np.full(len(ROWS), -1)}
    frame = Frame(PORT_COUNTERS, columns | {"in_bytes": received, "out_bytes": sent})
    found = cable_counts(PortReadings(frame, ("10.0.0.1", "10.0.0.2")), SWITCHES, LINKS, (0, 8))
    rows = zip(*(found[name].tolist() for name in ("cable", "start_ns", "end_ns", "bytes")), strict=True)
    assert sorted(rows) == [(0, 0, 5, 2_000), (1, 2, 6, 200), (2, 4, 6, 300)]


def test_no_readings_are_no_counts() -> None:
    """Most feeds have none."""
    assert len(cable_counts(NO_READINGS, SWITCHES, LINKS, (0, 8))) == 0


def test_an_exporter_that_is_unknown_names_no_cable() -> None:
    """Its code is no place in the book: the last address there may be a switch's."""
    frame = Frame(PORT_COUNTERS, {"time_ns": [1, 1], "sampler_address": [-1, 0], "interface": [1, 1]})
    assert CableEnds.of(LINKS).cables(frame, ("10.0.0.1",), SWITCHES, "out", "interface").tolist() == [-1, 0]
