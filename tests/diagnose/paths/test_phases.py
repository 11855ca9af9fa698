"""Phases: what the same connections send is one, whatever full cables make of it; other connections begin another."""

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.connections import PAYLOADS
from diagnose.paths.phases import JobCycle, phases

MS = 1_000_000
PERIOD_MS, ITERATIONS = 640, 4


def folded(*sent: tuple[int, int, int, float], size: int) -> list[tuple[float, float, list[float]]]:
    """(begin, end, bytes of each connection) of phases; given are (connection, begin and end in ms, bytes)."""
    rows = [
        (n, (i * PERIOD_MS + a) * MS, (i * PERIOD_MS + b) * MS, size)
        for i in range(ITERATIONS)
        for n, a, b, size in sent
    ]
    columns = {name: np.array(values) for name, values in zip(PAYLOADS.names, zip(*rows, strict=True), strict=True)}
    edges = np.arange(ITERATIONS + 1) * PERIOD_MS * MS
    cycle = JobCycle(np.ones(size, np.bool_), np.stack([edges[:-1], edges[1:]], axis=1))
    found = phases(Frame(PAYLOADS, columns).sort(*PAYLOADS.names), [cycle])
    return [
        (b, e, found.bytes[:, n].round().tolist()) for n, (b, e) in enumerate(zip(found.begin, found.end, strict=True))
    ]


def test_steps_that_full_cables_delay_are_no_phases_of_their_own() -> None:
    """Two channels step in turn; the one on a full cable goes on when the other is done."""
    fast = [(0, 100 + 40 * step, 110 + 40 * step, 10.0) for step in range(4)]
    slow = [(1, 100 + 120 * step, 180 + 120 * step, 10.0) for step in range(4)]
    assert folded(*fast, *slow, size=2) == [(10 / 64, 54 / 64, [40.0, 40.0])]


def test_connections_that_did_not_send_before_begin_a_phase() -> None:
    """A pipeline's, and then those that reduce gradients, however long one of these takes."""
    found = folded((0, 0, 300, 30.0), (1, 320, 400, 80.0), (2, 320, 630, 80.0), size=3)
    assert found == [(0.0, 30 / 64, [30.0, 0.0, 0.0]), (0.5, 63 / 64, [0.0, 80.0, 80.0])]


def test_what_reaches_over_the_edge_of_an_iteration_is_no_phase() -> None:
    """The last bytes of one of two connections of a phase are sent when the next iteration has begun."""
    assert len(folded((0, 0, 5, 1.0), (0, 320, 640, 60.0), (1, 320, 640, 60.0), size=2)) == 1


def test_other_jobs_count_with_what_they_send_while_a_phase_lasts() -> None:
    """One that is busy while the other computes shares nothing with it."""
    rows = [(n, (i * 640 + a) * MS, (i * 640 + a + 160) * MS, 16) for i in range(4) for n, a in ((0, 160), (1, 320))]
    rows += [(2, 0, 2560 * MS, 64)]
    columns = {name: np.array(values) for name, values in zip(PAYLOADS.names, zip(*rows, strict=True), strict=True)}
    edges = np.arange(5) * PERIOD_MS * MS
    steps = np.stack([edges[:-1], edges[1:]], axis=1)
    jobs = [JobCycle(np.arange(3) == n, steps) for n in (0, 1)]
    found = phases(Frame(PAYLOADS, columns).sort(*PAYLOADS.names), jobs)
    assert found.bytes.round(6).tolist() == [[16, 0], [0, 16], [4, 4]]
    assert found.owner.tolist() == [0, 1, -1]


def sampled(draw: int, count: int = 40, late: int = 2) -> tuple[list[tuple[float, float]], np.ndarray, np.ndarray]:
    """(bounds, bytes, own) of phases of two groups of equal connections, the second behind the first, from samples.

    Some samples of each connection are dated into the silence behind the phase, as by an agent that held them.
    """
    random = np.random.default_rng(draw)
    rows = []
    for n in range(count):
        begin = 400 if n < count // 2 else 500
        for i in range(ITERATIONS):
            at = i * PERIOD_MS + begin + np.arange(20) * 5 + random.uniform(0, 5)
            around = [random.exponential(500) + 500 if k in {0, 19} else 1000 for k in range(20)]
            rows += [(n, int(t * MS), 0, int(size)) for t, size in zip(at, around, strict=True)]
        rows += [(n, int((i * PERIOD_MS + 200) * MS), 0, 1000) for i in range(late)] if n % 20 == 0 else []
    columns = {name: np.array(values) for name, values in zip(PAYLOADS.names, zip(*rows, strict=True), strict=True)}
    columns["end_ns"] = columns["start_ns"]
    edges = np.arange(ITERATIONS + 1) * PERIOD_MS * MS
    cycle = JobCycle(np.ones(count, np.bool_), np.stack([edges[:-1], edges[1:]], axis=1))
    found = phases(Frame(PAYLOADS, columns).sort(*PAYLOADS.names), [cycle])
    return list(zip(found.begin.tolist(), found.end.tolist(), strict=True)), found.bytes, found.own


def test_chance_and_late_samples_make_no_phase() -> None:
    """Two phases as of exact records; a connection belongs to the one that it sends in, and equal ones stay equal."""
    for draw in range(5):
        bounds, sent, own = sampled(draw)
        assert np.allclose(bounds, [(400 / 640, 500 / 640), (500 / 640, 600 / 640)], atol=1 / 64)
        assert own.tolist() == [[n < 20, n >= 20] for n in range(40)]
        assert len(np.unique(sent[20:, 1].round(6))) == 1
