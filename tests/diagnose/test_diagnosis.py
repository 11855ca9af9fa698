"""One job's findings: who is named, how loudly, since when, and what is left unsaid."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame, concat, empty
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Bool
from datamodel.reports.findings import Finding
from datamodel.telemetry.flows import FLOWS
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.events import events
from diagnose.model.own_time import OwnTime
from reconstruct.jobs.observed_iterations import ObservedIterations
from tests.diagnose.hand_made import DP, MS, PP, SECOND, Op, Ring, fabric, job_view, operations

COUNT, FIRST = 24, 12
APART_S = 0.004  # ranks never compute equally long
Cell = tuple[int, int]


def findings(
    compute_s: Mapping[Cell, float] | None = None,
    slow: Mapping[Cell, float] | None = None,
    place: EndpointLocations | None = None,
    groups: Mapping[str, tuple[tuple[int, ...], ...]] | None = None,
    count: int = COUNT,
) -> list[Finding]:
    """Findings of a ring of six whose iterations take 1 s."""
    ops, edges = Ring(compute_s=compute_s, slow=slow).run(count)
    return diagnose(job_view(ops, edges, place or fabric(6), groups=groups), DiagnosisOptions())


def since(first: int, endpoint: int, value: float, count: int = COUNT) -> dict[Cell, float]:
    """One endpoint's cells from an iteration on."""
    return {(i, endpoint): value for i in range(first, count)}


def test_a_steady_job_has_no_findings() -> None:
    """Nothing is wrong, nothing is said."""
    assert findings() == []


@pytest.mark.parametrize(
    ("extra_s", "grade"), [(0.03, None), (0.06, "info"), (0.12, "warning"), (0.19, "warning"), (0.21, "critical")]
)
def test_severity_is_what_the_iteration_pays(extra_s: float, grade: str | None) -> None:
    """Below 5 % nothing is reported; from 5, 10 and 20 % on it is information, a warning, critical."""
    found = findings(since(FIRST, 3, 0.8 + extra_s))
    assert [f.severity for f in found] == ([grade] if grade else [])
    assert [f.slowdown_ratio for f in found] == ([pytest.approx(1 + extra_s, abs=1e-3)] if grade else [])


def test_a_late_rank_is_a_straggler_since_it_became_late() -> None:
    """It starts with the edge before its first late iteration and is still on."""
    (finding,) = findings(since(FIRST, 3, 1.1))
    _, edges = Ring(compute_s=since(FIRST, 3, 1.1)).run(COUNT)
    assert (finding.kind, finding.subject.type, finding.subject.ids) == ("straggler", "endpoint", ("10.0.0.3",))
    assert (finding.start_ns, finding.end_ns) == (int(edges[FIRST - 1]), None)
    worst = finding.evidence[0]
    assert (worst.where, worst.unit) == ("10.0.0.3", "s")
    assert worst.value - worst.baseline == pytest.approx(0.3, abs=1e-3)


def test_a_straggler_that_recovers_has_an_end() -> None:
    """Its finding closes with the last late iteration."""
    late = {(i, 3): 1.1 for i in range(8, 16)}
    (finding,) = findings(late)
    _, edges = Ring(compute_s=late).run(COUNT)
    assert (finding.start_ns, finding.end_ns) == (int(edges[7]), int(edges[15]))


def test_flapping_is_one_finding() -> None:
    """What comes and goes three times is told once, from its first beginning on, and says so."""
    late = {(i, 3): 1.1 for i in range(36) if i // 6 % 2}
    (finding,) = findings(late, count=36)
    _, edges = Ring(compute_s=late).run(36)
    assert (finding.kind, finding.cause, finding.subject.ids) == ("straggler", "flap", ("10.0.0.3",))
    assert (finding.start_ns, finding.end_ns) == (int(edges[5]), None)
    assert "came and went 3 times" in finding.summary


def observed(whole: Bool, lost: tuple[int, ...]) -> ObservedIterations:
    """Iterations of which no record is missing while exporters are heard."""
    return ObservedIterations(whole, lost, np.zeros_like(whole), np.zeros_like(whole))


def seen_for(first: int, end: int, lost: tuple[int, ...] = ()) -> list[Finding]:
    """Findings where 3 is late from iteration 12 on, and some exporter is heard in some iterations only."""
    late = since(FIRST, 3, 1.1)
    ops, edges = Ring(compute_s=late).run(COUNT)
    whole = np.arange(COUNT)
    watched = observed((whole >= first) & (whole < end), lost)
    return diagnose(replace(job_view(ops, edges, fabric(6)), observed=watched), DiagnosisOptions())


def test_an_outage_is_no_slow_period() -> None:
    """Four iterations that look twice as long, and 3 late in them, where records are missing: nothing is said of it."""
    late = {(n, 3): 1.1 for n in range(12, 16)}
    ops, edges = Ring(compute_s=late).run(COUNT)
    view, number = job_view(ops, edges, fabric(6)), np.arange(COUNT)
    assert diagnose(view, DiagnosisOptions())
    whole = np.ones(COUNT, np.bool_)
    seen = ObservedIterations(whole, (), ~whole, (number >= 12) & (number < 17))
    assert diagnose(replace(view, observed=seen), DiagnosisOptions()) == []


def test_ranks_are_compared_while_all_are_seen() -> None:
    """As long as that holds iterations before and after, the same is found, since the same time."""
    (finding,) = seen_for(4, COUNT)
    _, edges = Ring(compute_s=since(FIRST, 3, 1.1)).run(COUNT)
    assert (finding.kind, finding.subject.ids) == ("straggler", ("10.0.0.3",))
    assert (finding.start_ns, finding.end_ns) == (int(edges[FIRST - 1]), None)


@pytest.mark.parametrize(("first", "end"), [(0, FIRST), (0, 3)])
def test_what_is_slow_while_some_are_not_seen_has_no_place(first: int, end: int) -> None:
    """Who is late may wait for one that is not seen; that iterations take longer is known all the same."""
    (finding,) = seen_for(first, end)
    _, edges = Ring(compute_s=since(FIRST, 3, 1.1)).run(COUNT)
    assert (finding.kind, finding.severity, finding.subject.type) == ("regression", "info", "job")
    assert finding.start_ns == int(edges[FIRST - 1])


@pytest.mark.parametrize("whole", [False, True])
def test_a_job_that_stops_where_it_began_has_ended(whole: bool) -> None:
    """2 sends nothing after the last edge: a hang, unless all moved whole iterations that are cut at another place."""
    ops, edges = Ring(members=4).run(10)
    begin = int(edges[-1]) + 800 * MS
    further = [Op(e, (e + 1) % 4, begin, begin + 50 * MS, 10, bytes=12_500_000) for e in (0, 1, 3)]
    window_end_ns = int(edges[-1]) + 30 * SECOND
    view = job_view(concat(OPERATIONS, [ops, operations(further)]), edges, fabric(4), window_end_ns=window_end_ns)
    view = replace(view, stops_where_begun=whole)
    found = diagnose(view, DiagnosisOptions())
    assert [f.kind for f in found] == ([] if whole else ["hang"])
    last = events(view, empty(FLOWS), int(edges[0]), hangs=bool(found))[-1:]
    assert [e.detail for e in last] == (["last traffic of the job, after a whole iteration"] if whole else [])


@pytest.mark.parametrize("lost", [(), (2,)])
def test_who_was_lost_before_the_silence_may_be_its_cause(lost: tuple[int, ...]) -> None:
    """2 was not seen for three iterations when all stopped: its silence is no hang, and of a hang it is a suspect."""
    ops, edges = Ring(members=4).run(10)
    begin = int(edges[-1]) + 800 * MS
    further = [Op(e, (e + 1) % 4, begin, begin + 50 * MS, 10, bytes=12_500_000) for e in (0, 1)]
    gone = (ops["endpoint"] == 2) & (ops["iteration"] >= 7)
    ended, hung = ops.take(~gone), concat(OPERATIONS, [ops.take(~gone), operations(further)])
    watched = observed(np.arange(10) < 7, lost)

    def found(seen: Frame) -> list[Finding]:
        view = job_view(seen, edges, fabric(4), window_end_ns=int(edges[-1]) + 30 * SECOND)
        return [f for f in diagnose(replace(view, observed=watched), DiagnosisOptions()) if f.kind == "hang"]

    assert [f.subject.ids for f in found(ended)] == ([] if lost else [("10.0.0.2",)])
    (finding,) = found(hung)
    assert "10.0.0.2" in finding.subject.ids
    assert (len(finding.suspects) > 1) == bool(lost)


def test_two_places_are_two_findings() -> None:
    """First one rank is late, later another: each has its own time."""
    found = findings({(i, 1 if i < 16 else 4): 1.1 for i in range(8, COUNT)} | {(i, 4): 1.3 for i in range(16, COUNT)})
    assert [(f.kind, f.subject.ids[0]) for f in found] == [("straggler", "10.0.0.1"), ("straggler", "10.0.0.4")]
    assert found[0].start_ns < found[1].start_ns


def test_a_tensor_group_is_named_as_one() -> None:
    """Ranks that share one look alike from the fabric: the group is the subject, its members are suspects."""
    late = since(FIRST, 2, 1.1) | since(FIRST, 3, 1.1)
    place = fabric(6, hosts=("h0", "h0", "h1", "h1", "h2", "h2"))
    groups = {"tp": ((0, 1), (2, 3), (4, 5))}
    ring = {e: (e + 2) % 6 for e in range(6)}  # two rings of three, one for each place in the tensor group
    ops, edges = Ring(compute_s=late).run(COUNT)
    ops = ops.replace(peer=np.array([ring[int(e)] for e in ops["endpoint"]]))
    (finding,) = diagnose(job_view(ops, edges, place, groups=groups), DiagnosisOptions())
    assert (finding.subject.type, finding.subject.group) == ("group", "tp")
    assert finding.subject.ids == ("10.0.0.2", "10.0.0.3")
    assert {s.ids: s.probability for s in finding.suspects} == {("10.0.0.2",): 0.5, ("10.0.0.3",): 0.5}
    assert "h1" in finding.summary


def test_everybody_slower_is_a_regression() -> None:
    """All ranks compute a quarter of a second longer, in step: the job is named, no machine is."""
    (finding,) = findings({(i, e): 1.05 + APART_S * e for i in range(FIRST, COUNT) for e in range(6)})
    assert (finding.kind, finding.subject.type, finding.severity) == ("regression", "job", "critical")
    assert finding.slowdown_ratio == pytest.approx(1.25, abs=0.03)


def test_who_all_begin_at_one_moment_wait_for_one_another() -> None:
    """Nobody knows for whom: of six that compute for themselves some are always a little later. That wakes nobody."""
    (finding,) = findings({(i, e): 1.05 for i in range(FIRST, COUNT) for e in range(6)})
    assert (finding.kind, finding.severity) == ("regression", "info")


def test_in_a_ring_of_two_nobody_knows_whether_everybody_is_slower() -> None:
    """Each waits for the other, whoever is late: that wakes nobody, where a ring of three late ones would."""
    for members, severity in ((2, "info"), (3, "critical")):
        late = {(i, e): 1.05 + APART_S * e for i in range(FIRST, COUNT) for e in range(members)}
        ops, edges = Ring(members=members, compute_s=late).run(COUNT)
        (finding,) = diagnose(job_view(ops, edges, fabric(members)), DiagnosisOptions())
        assert (finding.kind, finding.severity) == ("regression", severity)


def test_a_late_rank_and_its_predecessor_are_not_everybody() -> None:
    """Two of three: in a rendezvous ring 1 cannot send before 2 is ready, so 2 alone is the cause."""
    ops, edges = Ring(members=3, compute_s=since(FIRST, 1, 1.1) | since(FIRST, 2, 1.1)).run(COUNT)
    place = fabric(3, hosts=("a", "b", "c"))
    (finding,) = diagnose(job_view(ops, edges, place), DiagnosisOptions())
    assert (finding.kind, finding.subject.ids) == ("straggler", ("10.0.0.2",))


def test_what_comes_and_goes_shows_in_the_iterations_that_are_slow() -> None:
    """Half of the time 3 is late, for one or two iterations: the median of a slow stretch may be one without it."""
    late = {(i, 3): 1.2 for i in (12, 14, 15, 18, 19, 21, 23)}
    assert {(f.kind, f.subject.ids) for f in findings(late)} == {("straggler", ("10.0.0.3",))}


def test_one_of_two_pipelines_that_computes_longer_is_not_everybody() -> None:
    """The first stage of the second one takes 300 ms more before each of four messages; the first one has none late."""
    ops, edges, now = [], [], 1_000 * SECOND
    for i in range(COUNT):
        clock = [now, now]
        for batch, chain in ((b, c) for b in range(4) for c in (0, 1)):
            clock[chain] += (500 if chain and i >= FIRST else 200) * MS
            for e in (2 * chain, 2 * chain + 1):
                ops.append(Op(e, e + 4, clock[chain], clock[chain] + MS, i, slot=batch, role=PP))
                ops.append(Op(e + 4, e, clock[chain] + 200 * MS, clock[chain] + 201 * MS, i, slot=batch, role=PP))
            clock[chain] += 201 * MS
        now = max(clock) + 50 * MS
        ops += [Op(e, e ^ 2, now, now + 100 * MS, i) for e in range(8)]
        now += 100 * MS
        edges.append(now)
    groups = {"tp": ((0, 1), (2, 3), (4, 5), (6, 7)), "pp": ((0, 4), (1, 5), (2, 6), (3, 7))}
    place = fabric(8, hosts=("a", "a", "b", "b", "c", "c", "d", "d"))
    view = job_view(operations(ops), np.array(edges), place, stage={e: e // 4 for e in range(8)}, groups=groups)
    (finding,) = diagnose(view, DiagnosisOptions())
    assert (finding.kind, finding.subject.ids) == ("straggler", ("10.0.0.2", "10.0.0.3"))


def test_a_slow_link_is_a_link_and_no_straggler() -> None:
    """Rank 3 starts on time and sends three times as long: its link or that of 4, which one ring cannot tell."""
    (finding,) = findings(slow=since(FIRST, 3, 3.0))
    assert finding.kind == "slow_link"
    assert {s.ids for s in finding.suspects} == {("10.0.0.3",), ("10.0.0.4",)}
    assert finding.slowdown_ratio == pytest.approx(1.4, abs=1e-3)


def next_to_a_slow_link(compute_s: Mapping[Cell, float], own_s: Mapping[Cell, float]) -> list[Finding]:
    """A ring of six whose own times are known; 0 sends five times as long in the second half."""
    slow = since(FIRST, 0, 5.0)
    ops, edges = Ring(compute_s=compute_s, slow=slow).run(COUNT)
    own = 0.8 + np.random.default_rng(1).normal(0, 1e-4, (6, COUNT))
    for (i, e), seconds in own_s.items():
        own[e, i] = seconds
    place = fabric(6, switches=("leaf",) * 6, hosts=tuple("abcdef"))
    view = replace(job_view(ops, edges, place), own=OwnTime(np.arange(6), own * SECOND))
    return diagnose(view, DiagnosisOptions())


def test_a_late_rank_next_to_a_slow_link_is_named_as_well() -> None:
    """The link holds everybody up for 0.8 s; 3 computes for 0.2 s more before it sends anything."""
    late = since(FIRST, 3, 1.0)
    found = {f.kind: f for f in next_to_a_slow_link(late, late)}
    assert set(found) == {"slow_link", "straggler"}
    assert found["straggler"].subject.ids == ("10.0.0.3",)
    assert found["straggler"].slowdown_ratio == pytest.approx(2.0 / 1.8, abs=0.01)


@pytest.mark.parametrize(
    ("late", "cause"),
    [(range(14, 28), None), ((5, 9, 11, 18, 24), "sporadic"), ((*range(1, 28, 2), 4, 12), "sporadic")],
    ids=["from then on", "now and then", "more often than not"],
)
def test_a_rank_is_late_in_some_iterations_of_many_lengths(late: Collection[int], cause: str | None) -> None:
    """All compute a quarter more or less; 3 computes for 20 % more in some iterations, and is named once."""
    random = np.random.default_rng(1)
    own_s = 0.8 * np.exp(random.normal(0, 0.25, 28)) * np.exp(random.normal(0, 0.003, (6, 28)))
    own_s[3, [*late]] *= 1.2
    ops, edges = Ring(compute_s={(i, e): float(own_s[e, i]) for i in range(28) for e in range(6)}).run(28)
    view = replace(job_view(ops, edges, fabric(6)), own=OwnTime(np.arange(6), own_s * SECOND))
    (finding,) = diagnose(view, DiagnosisOptions())
    assert (finding.kind, finding.subject.ids, finding.cause) == ("straggler", ("10.0.0.3",), cause)
    assert finding.slowdown_ratio == pytest.approx(1.16, abs=0.02)


def test_who_waits_for_a_slow_link_is_no_late_rank() -> None:
    """What 3 does takes longer by its own time, but it sends its first message as early as ever."""
    assert [f.kind for f in next_to_a_slow_link({}, since(FIRST, 3, 1.0))] == ["slow_link"]


def test_what_comes_on_top_of_a_slow_period_is_told_apart() -> None:
    """2 is late from iteration 6 on, 5 by more from 14 on: two findings, the first of which goes on."""
    one, other = findings({**since(6, 2, 0.95), **since(14, 5, 1.4)})
    assert [(f.subject.ids, f.cause, f.end_ns) for f in (one, other)] == [
        (("10.0.0.2",), None, None),
        (("10.0.0.5",), None, None),
    ]
    assert other.slowdown_ratio == pytest.approx(1.6 / 1.15, abs=0.01)


def test_a_single_long_iteration_is_no_finding() -> None:
    """Nor are several that stand alone."""
    assert findings({(i, e): 5.0 for i in (7, 13, 19) for e in range(6)}) == []


def test_a_rank_that_was_always_late_is_named() -> None:
    """Without a better time to compare with, its peers are the measure; what it costs is its excess over theirs."""
    (finding,) = findings(since(0, 3, 1.1))
    assert (finding.kind, finding.subject.ids, finding.end_ns) == ("straggler", ("10.0.0.3",), None)
    assert finding.slowdown_ratio == pytest.approx(1.3 / 1.0, abs=0.01)


def always(kinds: list[tuple[int, int, float]], role: int) -> list[Finding]:
    """Of a job in whose every iteration these send: who, to whom, and after how many seconds."""
    begins = [1_000 * SECOND + round(i * 1.5 * SECOND) for i in range(COUNT)]
    ops = [
        Op(a, b, begin + round(s * SECOND), begin + round(1.4 * SECOND), i, role=role, bytes=round((1.4 - s) * 1e9))
        for i, begin in enumerate(begins) for a, b, s in kinds
    ]  # fmt: skip
    edges = np.array(begins) + round(1.4 * SECOND)
    return diagnose(job_view(operations(ops), edges, fabric(8)), DiagnosisOptions())


def test_the_root_of_a_tree_sends_when_all_others_have() -> None:
    """It is compared with nobody: there is one. Of a leaf that begins as late there are others to compare it with."""
    tree = [*((e, 0, 0.8) for e in range(1, 8)), *((0, e, 1.2) for e in range(1, 8))]
    assert always(tree, DP) == []
    (finding,) = always([(7, 0, 1.2) if sent[0] == 7 else sent for sent in tree], DP)
    assert finding.subject.ids == ("10.0.0.7",)


def test_pairs_that_take_turns_in_no_pipeline_are_not_compared() -> None:
    """Nobody knows which of them should begin together."""
    turns = [(e, e ^ 1, 0.8 + 0.4 * (e < 2) + 0.05 * (e % 2)) for e in range(8)]
    assert always(turns, PP) == []


def test_another_one_late_each_time_is_an_uneven_load() -> None:
    """When waiting for a changing last rank costs a tenth of the iteration, the work is uneven and no machine is.

    The sixth that is 200 ms late would be 33 ms late with the rest: 167 ms of 1.2 s are lost.
    """
    changing = {(i, i * 5 % 6): 1.0 for i in range(COUNT)}
    (finding,) = findings(changing)
    assert (finding.kind, finding.cause, finding.subject.type) == ("imbalance", "load", "job")
    assert finding.slowdown_ratio == pytest.approx(1.2 / (1.2 - 0.167), abs=0.01)
    assert findings(dict.fromkeys(changing, 0.88)) == []


def test_few_iterations_are_not_compared() -> None:
    """Five say nothing, however late a rank is."""
    assert findings(since(2, 3, 2.0, count=5), count=5) == []


def test_findings_come_by_time_with_ids_of_their_own() -> None:
    """Sorted by start; no two share an id; all say what to do."""
    late = {(i, 1): 1.2 for i in range(6, 12)} | {(i, 4): 1.4 for i in range(18, COUNT)}
    found = findings(late)
    assert len({f.id for f in found}) == len(found) == 2
    assert [f.start_ns for f in found] == sorted(f.start_ns for f in found)
    assert all(f.summary and f.action for f in found)


def test_the_same_rank_late_now_and_then_is_sporadic() -> None:
    """Slow in iterations 6, 11, 15 and 20: a straggler since the first of them, that comes and goes by itself."""
    late = {(i, 3): 1.2 for i in (6, 11, 15, 20)}
    (finding,) = findings(late)
    _, edges = Ring(compute_s=late).run(COUNT)
    assert (finding.kind, finding.cause, finding.subject.ids) == ("straggler", "sporadic", ("10.0.0.3",))
    assert finding.start_ns == int(edges[5])
    assert finding.slowdown_ratio == pytest.approx(1.4, abs=0.01)


def test_another_rank_late_now_and_then_is_jitter() -> None:
    """Each time another one: nobody is to blame."""
    assert findings({(6, 1): 1.2, (11, 3): 1.2, (15, 5): 1.2, (20, 0): 1.2}) == []


def two_stages(hosts: str, rest_ms: int, pass_ms: int) -> list[Finding]:
    """Of four pipelines of two stages, in some of whose iterations the first stage rests or computes longer twice."""
    ops, edges, now = [], [], 1_000 * SECOND
    for i in range(COUNT):
        rest, longer = (rest_ms, pass_ms) if i in {6, 12, 18} else (0, 0)
        now += (200 + rest) * MS
        for batch in range(2):
            now += longer * MS
            ops += [Op(e, e + 4, now, now + MS, i, slot=batch, role=PP) for e in range(4)]
            ops += [Op(e + 4, e, now + 200 * MS, now + 201 * MS, i, slot=batch, role=PP) for e in range(4)]
            now += 300 * MS
        ops += [Op(e, e ^ 2, now, now + 100 * MS, i) for e in range(8)]
        now += 100 * MS
        edges.append(now)
    groups = {"tp": ((0, 1, 2, 3), (4, 5, 6, 7)), "pp": ((0, 4), (1, 5), (2, 6), (3, 7))}
    stage = {e: e // 4 for e in range(8)}
    view = job_view(operations(ops), np.array(edges), fabric(8, hosts=tuple(hosts)), stage=stage, groups=groups)
    return diagnose(view, DiagnosisOptions())


def test_a_host_that_rests_is_no_straggler_one_whose_passes_take_longer_is() -> None:
    """600 ms in silence before the first message, as for a checkpoint; or 300 ms more before each of two."""
    assert two_stages("aaaabbbb", rest_ms=600, pass_ms=0) == []
    (finding,) = two_stages("aaaabbbb", rest_ms=0, pass_ms=300)
    assert (finding.kind, finding.cause) == ("straggler", "sporadic")
    assert finding.subject.ids == ("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3")


def test_a_first_stage_that_rests_as_a_whole_is_no_straggler() -> None:
    """Both tensor groups of it begin 1 s late now and then, as after a checkpoint: neither of them stands out.

    Of one micro-batch no stage's compute is known.
    """
    ops, edges, now = [], [], 1_000 * SECOND
    for i in range(COUNT):
        now += (1_200 if i in {6, 12, 18} else 200) * MS
        ops += [Op(e, e + 4, now, now + MS, i, role=PP) for e in range(4)]
        ops += [Op(e + 4, e, now + 300 * MS, now + 301 * MS, i, role=PP) for e in range(4)]
        ops += [Op(e, e ^ 2, now + 600 * MS, now + 700 * MS, i) for e in range(8)]
        now += 700 * MS
        edges.append(now)
    place = fabric(8, hosts=("a", "a", "b", "b", "c", "c", "d", "d"))
    groups = {"tp": ((0, 1), (2, 3), (4, 5), (6, 7)), "pp": ((0, 4), (1, 5), (2, 6), (3, 7))}
    stage = {e: e // 4 for e in range(8)}
    view = job_view(operations(ops), np.array(edges), place, stage=stage, groups=groups)
    assert diagnose(view, DiagnosisOptions()) == []


def test_ranks_late_all_over_are_no_stragglers() -> None:
    """Three of nine, apart in the ring, became late at once: something else did it."""
    late = {(i, e): 1.1 for i in range(FIRST, COUNT) for e in (0, 3, 6)}
    ops, edges = Ring(members=9, compute_s=late).run(COUNT)
    place = fabric(9, hosts=tuple(f"h{n}" for n in range(9)))
    (finding,) = diagnose(job_view(ops, edges, place), DiagnosisOptions())
    assert (finding.kind, finding.severity) == ("regression", "info")
