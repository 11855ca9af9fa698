"""A job that stops inside an iteration hangs; one that stops after a whole one has ended."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from datamodel.frame import Frame, concat
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Int
from diagnose.hangs.hang_detection import Hang, hang
from diagnose.hangs.hang_findings import hang_finding
from tests.diagnose.hand_made import MS, PP, SECOND, Op, Ring, fabric, job_view, operations

COUNT = 10
LATER = 30 * SECOND


def healthy() -> tuple[Frame, Int]:
    """A ring of four that ran ten iterations of 1 s, each sending 25 MB an iteration."""
    return Ring(members=4).run(COUNT)


def stopped(share: Mapping[int, float], silent_ms: Mapping[int, int]) -> tuple[Frame, Int, dict[int, int]]:
    """The ring, what each member still sent in the iteration after, and when it fell silent after the last edge."""
    ops, edges = healthy()
    begin = int(edges[-1]) + 800 * MS
    extra = [
        Op(e, (e + 1) % 4, begin, int(edges[-1]) + silent_ms[e] * MS, iteration=COUNT, bytes=int(25_000_000 * part))
        for e, part in share.items()
    ]
    last = {e: int(edges[-1]) + ms * MS for e, ms in silent_ms.items()}
    return (concat(OPERATIONS, [ops, operations(extra)]) if extra else ops), edges, last


def judged(share: Mapping[int, float], silent_ms: Mapping[int, int], window_ns: int = LATER) -> Hang | None:
    """The hang of such a ring, the window ending so long after its last edge."""
    ops, edges, last = stopped(share, silent_ms)
    return hang(ops, edges, int(edges[-1]) + window_ns, last)


def test_the_end_of_a_job_is_no_hang() -> None:
    """After a whole iteration nothing is missing, however long the silence."""
    assert judged({}, dict.fromkeys(range(4), 0)) is None


def test_what_was_seen_for_less_time_than_it_is_silent_may_only_pause() -> None:
    """Ten iterations of 6 ms may be messages of one of 1 s; after ten seconds they are none."""
    ops, edges, last = stopped({0: 0.5, 1: 0.5, 3: 0.5}, {0: 900, 1: 900, 2: 0, 3: 900})
    fast = {name: ops[name] // 160 if name.endswith("_ns") else ops[name] for name in OPERATIONS.types}
    given = Frame(OPERATIONS, fast), edges // 160
    silent = {e: at // 160 for e, at in last.items()}
    assert hang(*given, int(given[1][-1]) + SECOND, silent) is None
    found = hang(*given, int(given[1][-1]) + 11 * SECOND, silent)
    assert found is not None
    assert found.culprits == (2,)


def test_an_endpoint_that_its_tensor_group_leaves_behind_is_alone() -> None:
    """Groups of three send to one another; 1 fell silent 3 ms before 0 and 2, and all others nearly with it."""
    ops: list[Op] = []
    edges: list[int] = []
    now = 1_000 * SECOND
    for _ in range(COUNT):
        ops += [Op(e, (e + 3) % 6, now + 800 * MS, now + 900 * MS, len(edges), role=PP) for e in range(6)]
        now += SECOND
        edges.append(now)
    ops += [Op(e, e + 3, now + 800 * MS, now + 850 * MS, COUNT, role=PP, bytes=500_000) for e in (0, 2)]
    last = {0: 850, 1: 847, 2: 850, 3: 848, 4: 848, 5: 848}
    silent = {e: now + ms * MS for e, ms in last.items()}
    given = operations(ops), np.array(edges), now + LATER, silent
    found = hang(*given, ((0, 1, 2), (3, 4, 5)))
    assert found is not None
    assert found.culprits == (1,)


def test_one_host_of_two_is_not_everywhere() -> None:
    """2 and 3 fell silent first, a tensor group on the one host of two: half of all, but one place."""
    ops, edges, last = stopped({0: 0.5, 1: 0.5}, {0: 900, 1: 900, 2: 0, 3: 0})
    given = ops, edges, int(edges[-1]) + LATER, last
    found = hang(*given, ((0, 1), (2, 3)))
    assert found is not None
    assert found.culprits == (2, 3)


def test_a_host_that_goes_on_with_another_job_did_not_wait() -> None:
    """A crash stopped all at once; 0 and 1 were started anew with others 20 s later: 2 and 3 fell silent no earlier."""
    ops, edges, last = stopped({0: 0.5, 1: 0.5}, {0: 900, 1: 900, 2: 890, 3: 890})
    again = last | {e: int(edges[-1]) + 20 * SECOND for e in (0, 1)}
    assert hang(ops, edges, int(edges[-1]) + LATER, again, ((0, 1), (2, 3))) is None


def test_an_iteration_that_ended_with_the_last_byte_may_be_unfinished() -> None:
    """The same stop, its last byte taken for the end of an iteration; not where every operation has begun."""
    ops, edges, last = stopped({3: 0.17, 0: 0.34, 1: 0.5}, {2: 0, 3: 860, 0: 900, 1: 950})
    further = np.append(edges, edges[-1] + 950 * MS)
    found = hang(ops, further, int(further[-1]) + LATER, last)
    assert found is not None
    assert (found.iteration, found.culprits) == (COUNT, (2,))
    ops, edges, last = stopped({2: 0.5, 3: 0.5, 0: 0.5, 1: 0.5}, {2: 850, 3: 860, 0: 900, 1: 950})
    assert hang(ops, further, int(further[-1]) + LATER, last) is None


def test_a_goodbye_is_no_hang() -> None:
    """A last barrier of a few bytes begins no iteration."""
    assert judged(dict.fromkeys(range(4), 4e-6), dict.fromkeys(range(4), 801)) is None


def test_messages_that_run_into_one_another_are_not_missing() -> None:
    """A pause parts what each sends in two, but for 2 in the last iteration; half of the bytes is a message missing."""
    ops, edges = healthy()
    begins = np.unique(ops["start_ns"]).tolist()
    parted = [
        Op(e, (e + 1) % 4, begin, begin + 50 * MS, i, slot, bytes=12_500_000)
        for i, begin in enumerate(begins)
        for e in range(4)
        for slot in (0, 1)
        if (e, i) != (2, COUNT - 1)
    ]
    last = {e: int(edges[-1]) - (10 if e == 2 else 0) * MS for e in range(4)}
    for volume, hangs in ((25_000_000, False), (12_500_000, True)):
        joint = Op(2, 3, begins[-1], begins[-1] + 200 * MS, COUNT - 1, bytes=volume)
        found = hang(operations([*parted, joint]), edges, int(edges[-1]) + LATER, last)
        assert (found is not None) is hangs


def test_a_stopped_rank_is_the_culprit() -> None:
    """2 never sent; 3 could pass on nothing, 0 and 1 got further: all fell silent later than 2."""
    found = judged({3: 0.17, 0: 0.34, 1: 0.5}, {2: 0, 3: 860, 0: 900, 1: 950})
    assert found is not None
    assert (found.iteration, found.culprits, found.sending, found.missing) == (COUNT, (2,), False, 4)
    assert found.silent_ns == LATER - 950 * MS


def test_a_rank_that_stops_while_it_sends_says_so() -> None:
    """2 had sent a third: stuck in communication; what the others finished is not missing."""
    found = judged({2: 0.33, 3: 1.0, 0: 1.0, 1: 1.0}, {2: 820, 3: 1000, 0: 1000, 1: 1000})
    assert found is not None
    assert (found.culprits, found.sending, found.missing) == ((2,), True, 1)


def test_who_is_never_seen_to_send_is_not_seen_to_stop() -> None:
    """1 is behind a switch that exports nothing: what it is sent is due, and 2 is the culprit among the others."""
    ops, edges, last = stopped({3: 0.17, 0: 0.34}, {2: 0, 3: 860, 0: 900, 1: 950})
    del last[1]
    found = hang(ops.take(ops["endpoint"] != 1), edges, int(edges[-1]) + LATER, last)
    assert found is not None
    assert found.culprits == (2,)


def test_ranks_of_one_host_fall_silent_together() -> None:
    """Two that fell silent within 5 % of an iteration, and said nothing since, cannot be told apart."""
    found = judged({0: 0.5, 1: 0.5, 3: 0.1}, {2: 800, 3: 840, 0: 900, 1: 950})
    assert found is not None
    assert found.culprits == (2, 3)


def test_who_says_that_it_is_ready_waits() -> None:
    """3 had nothing to do since the last edge but cleared 2 to send 40 ms later: 2 is stuck, 3 is not."""
    found = judged({0: 0.5, 1: 0.5}, {2: 0, 3: 40, 0: 900, 1: 950})
    assert found is not None
    assert found.culprits == (2,)


def test_two_tensor_groups_are_two_suspects() -> None:
    """Either stopped as one: each is suspected by half, and the finding's subject holds both."""
    stuck = Hang(3, 5 * SECOND, (0, 1, 2, 3), False, LATER, 4)
    ops, edges = healthy()
    finding = hang_finding(job_view(ops, edges, fabric(4), groups={"tp": ((0, 1), (2, 3))}), stuck)
    assert (finding.subject.type, len(finding.subject.ids)) == ("group", 4)
    assert [(s.type, s.ids, s.probability) for s in finding.suspects] == [
        ("group", ("10.0.0.0", "10.0.0.1"), 0.5),
        ("group", ("10.0.0.2", "10.0.0.3"), 0.5),
    ]


def test_silence_of_the_feed_is_not_silence_of_the_job() -> None:
    """When the window ends with the job's last byte, or within three iterations of it, nothing is concluded."""
    share, silent = {0: 0.5, 1: 0.5}, {2: 0, 3: 1, 0: 900, 1: 950}
    assert judged(share, silent, 950 * MS) is None
    assert judged(share, silent, 950 * MS + 2_900 * MS) is None
    assert judged(share, silent, 950 * MS + 3_100 * MS) is not None


def test_the_first_missing_operation_counts() -> None:
    """A pipeline 0 > 1 > 2: 1 has the message and does not pass it on; that 2 sends nothing is no fault of 2."""
    ops: list[Op] = []
    edge, edges = 1_000 * SECOND, []
    for i in range(COUNT + 1):
        whole = i < COUNT
        ops.append(Op(0, 1, edge + 100 * MS, edge + 200 * MS, iteration=i, role=PP))
        if whole:
            ops.append(Op(1, 2, edge + 300 * MS, edge + 400 * MS, iteration=i, role=PP))
            ops.append(Op(2, 1, edge + 600 * MS, edge + 700 * MS, iteration=i, role=PP))
            edge += 700 * MS
            edges.append(edge)
    last = {0: edge + 200 * MS, 1: edge - 300 * MS, 2: edge}
    found = hang(operations(ops), np.array(edges), edge + LATER, last)
    assert found is not None
    assert (found.culprits, found.missing) == ((1,), 2)


@pytest.mark.parametrize(("grouped", "kind"), [(True, "tp"), (False, None)])
def test_a_hang_finding_is_critical_and_still_on(grouped: bool, kind: str | None) -> None:
    """It begins with the last byte; several culprits are a group with suspects, a tensor group if they are one."""
    ops, edges, last = stopped({0: 0.5, 1: 0.5}, {2: 0, 3: 1, 0: 900, 1: 950})
    found = hang(ops, edges, int(edges[-1]) + LATER, last)
    assert found is not None
    groups = {"tp": ((2, 3),)} if grouped else {}
    finding = hang_finding(job_view(ops, edges, fabric(4), groups=groups), found)
    assert (finding.severity, finding.end_ns, finding.start_ns) == ("critical", None, int(edges[-1]) + 950 * MS)
    assert (finding.subject.type, finding.subject.group) == ("group", kind)
    assert {s.ids: s.probability for s in finding.suspects} == {("10.0.0.2",): 0.5, ("10.0.0.3",): 0.5}
    assert finding.slowdown_ratio == pytest.approx(1 + found.silent_ns / SECOND, abs=1e-3)


def test_a_lone_culprit_is_an_endpoint() -> None:
    """With its host, where that is known, and without suspects."""
    ops, edges, last = stopped({3: 0.17, 0: 0.34, 1: 0.5}, {2: 0, 3: 860, 0: 900, 1: 950})
    found = hang(ops, edges, int(edges[-1]) + LATER, last)
    assert found is not None
    finding = hang_finding(job_view(ops, edges, fabric(4, hosts=("h0", "h1", "h2", "h3"))), found)
    assert (finding.subject.type, finding.subject.ids, finding.suspects) == ("endpoint", ("10.0.0.2",), ())
    assert "10.0.0.2 on h2 fell silent first" in finding.summary
    assert finding.cause == "compute"


def test_a_job_that_stops_everywhere_at_once_does_not_hang() -> None:
    """Killed in the middle of an iteration: all four had begun to send, and nobody waits."""
    assert judged(dict.fromkeys(range(4), 0.5), dict.fromkeys(range(4), 900)) is None


@pytest.mark.parametrize("killed", [False, True])
def test_a_large_ring_that_falls_silent_within_moments_ran_up_against_one(killed: bool) -> None:
    """Eight members, silent within moments: those after 3 got a step further each, or all are in step."""
    ops, edges = Ring(members=8).run(COUNT)
    begin = int(edges[-1]) + 800 * MS
    steps = [4 if killed else 2 + min((e - 3) % 8, (3 - e) % 8) for e in range(8)]
    ends = [begin + (40 if killed else 10 * n) * MS for n in steps]
    extra = [Op(e, (e + 1) % 8, begin, ends[e], iteration=COUNT, bytes=1_000_000 * n) for e, n in enumerate(steps)]
    found = hang(concat(OPERATIONS, [ops, operations(extra)]), edges, begin + LATER, dict(enumerate(ends)))
    assert (found.culprits if found is not None else None) == (None if killed else (3,))
