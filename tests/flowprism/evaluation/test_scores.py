"""Marks: perfect reports get full marks, each kind of mistake costs where it should, and the public scorer agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.reports.findings import Finding, Subject, Suspect
from datamodel.reports.report import Iteration, Report, ShownResult
from datamodel.reports.truth import AcceptedSubject, TrueFault, TrueJob, Truth
from flowprism.evaluation.outcome import FaultOutcome, outcome
from flowprism.evaluation.scores import (
    LOWER_IS_BETTER,
    MEANINGS,
    compute_scores,
    match_ends,
    misses_requirement,
    pair_f1,
    score_case,
    weight,
)
from flowprism.rendering.formats.report_json import render_json
from tests.flowprism import sample
from tests.neighbours import SHARED


def truth_of(report: Report) -> Truth:
    """The truth of which `report` is a perfect account: its own jobs, and its loud findings as faults."""
    jobs = tuple(
        TrueJob(
            id=f"true-{job.id}",
            endpoints=job.endpoints,
            layout={k: getattr(job.layout, k) for k in ("tp", "cp", "ep", "dp", "pp") if getattr(job.layout, k)},
            groups={k: getattr(job.groups, k) for k in ("tp", "dp", "pp") if getattr(job.groups, k)},
            iterations=tuple((i.start_ns, i.end_ns) for i in job.iterations),
        )
        for job in report.jobs
    )
    faults = tuple(
        TrueFault(
            kinds=(f.kind,),
            accept=(AcceptedSubject(type=f.subject.type, ids=f.subject.ids),),
            job=f"true-{f.job}",
            start_ns=f.start_ns,
            iteration_ns=1_000_000_000,
        )
        for f in report.findings
        if f.kind != "feed"
    )
    return Truth(jobs=jobs, faults=faults)


@pytest.fixture(scope="module")
def report() -> Report:
    """A report with two jobs and a slow link."""
    return sample.analysis().report


def changed(report: Report, **fields: Any) -> Report:  # noqa: ANN401 -- any field of a report
    """The report with some top-level fields exchanged."""
    return report.model_copy(update=fields)


def test_a_perfect_report_has_full_marks(report: Report) -> None:
    """One for all that should be high, zero for all that should be low; and every mark has a meaning."""
    found = compute_scores(report, truth_of(report))
    assert found == {name: 0.0 if name in LOWER_IS_BETTER else 1.0 for name in MEANINGS}


def test_an_empty_report_earns_nothing(report: Report) -> None:
    """Silence is not wrong, but it is no answer either."""
    found = compute_scores(changed(report, jobs=(), findings=()), truth_of(report))
    assert {
        name: found[name] for name in ("jobs", "sizes", "groups", "stages", "iterations", "faults")
    } == dict.fromkeys(("jobs", "sizes", "groups", "stages", "iterations", "faults"), 0.0)
    assert found["wrong_sizes"] == found["false"] == 0


def test_a_null_size_is_not_wrong_and_a_guess_is(report: Report) -> None:
    """Unknown costs the share of right sizes; a wrong size is counted besides."""
    first, second = report.jobs
    truth = truth_of(report)
    unknown = first.model_copy(update={"layout": first.layout.model_copy(update={"tp": None})})
    guessed = first.model_copy(update={"layout": first.layout.model_copy(update={"tp": 4})})
    assert compute_scores(changed(report, jobs=(unknown, second)), truth)["wrong_sizes"] == 0
    found = compute_scores(changed(report, jobs=(guessed, second)), truth)
    assert found["wrong_sizes"] == 1
    assert found["sizes"] == pytest.approx(8 / 9)


def test_a_reversed_chain_is_no_stage_order(report: Report) -> None:
    """Membership is right, order is not."""
    first, second = report.jobs
    chains = (tuple(reversed(first.groups.pp[0])), *first.groups.pp[1:])
    turned = first.model_copy(update={"groups": first.groups.model_copy(update={"pp": chains})})
    found = compute_scores(changed(report, jobs=(turned, second)), truth_of(report))
    assert found["groups"] == 1
    assert found["stages"] == pytest.approx(7 / 8)


def test_an_invented_kind_of_group_costs(report: Report) -> None:
    """Groups of a kind that the truth's layout says is 1."""
    first, second = report.jobs
    groups = first.groups.model_copy(update={"ep": (first.endpoints[:2],)})
    invented = first.model_copy(update={"groups": groups})
    found = compute_scores(changed(report, jobs=(invented, second)), truth_of(report))
    assert found["groups"] == pytest.approx(4 / 5)


def test_iterations_forgive_a_constant_offset_and_no_miss(report: Report) -> None:
    """Ends a third of an iteration late all match; a missing one lowers F1."""
    truth = truth_of(report)
    moved = tuple(
        job.model_copy(
            update={
                "iterations": tuple(
                    i.model_copy(update={"end_ns": i.end_ns + 280 * sample.MS}) for i in job.iterations[: 30 - n]
                )
            }
        )
        for n, job in enumerate(report.jobs)
    )
    found = compute_scores(changed(report, jobs=moved), truth)
    assert found["iterations"] == pytest.approx((1 + 58 / 59) / 2)
    assert found["timeline"] == 0


def test_an_interval_holds_what_lies_within_two_standard_errors(report: Report) -> None:
    """1.96 of those that an iteration reports, either way; iterations that report none are not counted."""
    job = report.jobs[0]
    told = {1: 10_000_000, 2: 10_000_000, 3: None}
    late = {1: 19_000_000, 2: 0, 3: 0}  # the second iteration then is too short by as much
    steps = tuple(
        i.model_copy(update={"end_ns": i.end_ns + late.get(n, 0), "duration_error_ns": told.get(n)})
        for n, i in enumerate(job.iterations)
    )
    assert score_case(one_job(report, steps), truth_of(report)).jobs[0].within == (True, True)
    longer = (*steps[:1], steps[1].model_copy(update={"end_ns": steps[1].end_ns + 1_000_000}), *steps[2:])
    assert score_case(one_job(report, longer), truth_of(report)).jobs[0].within == (False, False)


def one_job(report: Report, iterations: tuple[Iteration, ...]) -> Report:
    """The report with other iterations of its first job."""
    return changed(report, jobs=(report.jobs[0].model_copy(update={"iterations": iterations}), *report.jobs[1:]))


def test_an_unexplained_warning_is_false_and_a_second_one_a_duplicate(report: Report) -> None:
    """Notes and findings about the feed are neither."""
    slow, feed = report.findings
    elsewhere = slow.model_copy(
        update={"id": "x", "subject": Subject(type="endpoint", ids=("10.3.1.1",)), "suspects": ()}
    )
    note = elsewhere.model_copy(update={"severity": "info"})
    found = compute_scores(changed(report, findings=(slow, slow, elsewhere, note, feed)), truth_of(report))
    assert found["false"] == 1
    assert found["duplicates"] == 1
    assert found["faults"] == 1


def test_the_right_place_with_the_wrong_kind_is_located_only(report: Report) -> None:
    """A straggler reported for a slow link."""
    slow, _ = report.findings
    found = compute_scores(changed(report, findings=(slow.model_copy(update={"kind": "straggler"}),)), truth_of(report))
    assert found["located"] == 1
    assert found["faults"] == 0
    assert found["false"] == 1


def fault_of(report: Report, **changes: Any) -> FaultOutcome:  # noqa: ANN401 -- any field of a finding
    """What the report's slow link comes to when its finding is told otherwise."""
    (link,) = [f for f in report.findings if f.kind == "slow_link"]
    told = [link.model_copy(update=changes), *(f for f in report.findings if f is not link)]
    (fault,) = [f for f in truth_of(report).faults if "slow_link" in f.kinds]
    truth = truth_of(report).model_copy(update={"faults": (fault,)})
    return outcome(changed(report, findings=tuple(told)), truth)[0].faults[0]


def test_a_set_that_holds_the_truth_is_not_the_truth_alone(report: Report) -> None:
    """Nor is one of another place; whose subject it is does not matter for the set."""
    (link,) = [f for f in report.findings if f.kind == "slow_link"]
    own = Suspect(type=link.subject.type, ids=link.subject.ids, probability=0.5)
    other = Suspect(type="endpoint", ids=("192.0.2.1",), probability=0.5)
    both = fault_of(report, suspects=(own, other))
    assert (both.in_set, both.alone) == (True, False)
    alone = fault_of(report, suspects=())
    assert (alone.in_set, alone.alone) == (True, True)
    elsewhere = fault_of(report, subject=Subject(type="endpoint", ids=("192.0.2.1",)), suspects=(other,))
    assert (elsewhere.in_set, elsewhere.alone) == (False, False)


@pytest.mark.parametrize(("severity", "crossed"), [("critical", True), ("warning", True), ("info", False)])
def test_compute_that_is_blamed_for_a_link_crosses(report: Report, severity: str, crossed: bool) -> None:
    """Where somebody is woken up for it; the syndrome is wrong in any case."""
    found = fault_of(report, kind="straggler", severity=severity)
    assert (found.in_set, found.syndrome, found.crossed) == (False, False, crossed)
    assert fault_of(report).syndrome
    assert not fault_of(report).crossed


def test_what_a_feed_is_said_to_hide_is_neither_asked_nor_to_be_claimed(report: Report) -> None:
    """Layouts and links hidden, yet sizes and a link are claimed: claims. Said to be shown, they count as such."""
    truth = truth_of(report)
    open_outcome = outcome(report, truth)[0]
    assert (open_outcome.shown_exact, open_outcome.hidden_claims) == (len(report.jobs), 0)
    assert [fault.shown for fault in open_outcome.faults] == [True]
    items = tuple(ShownResult(what=what, shown=False, why="") for what in ("layout", "slow_link"))
    jobs = [
        job.model_copy(update={"detectability": job.detectability.model_copy(update={"shows": items})})
        for job in report.jobs
    ]
    found = outcome(changed(report, jobs=tuple(jobs)), truth)[0]
    assert (found.shown_exact, found.shown_wrong, found.shown_open) == (0, 0, 0)
    assert [fault.shown for fault in found.faults] == [False]
    assert found.hidden_claims == len(report.jobs) + 1


def test_onset_is_counted_in_iterations(report: Report) -> None:
    """Two and a half iterations late."""
    slow, _ = report.findings
    late = slow.model_copy(update={"start_ns": slow.start_ns + 2_500_000_000})
    assert compute_scores(changed(report, findings=(late,)), truth_of(report))["onset"] == 2.5


@pytest.mark.parametrize(
    ("subject", "suspects", "accepted", "worth"),
    [
        (("endpoint", ["a"]), [], [("endpoint", ["a"], False)], 1),
        (("endpoint", ["a"]), [], [("host", ["a"], False)], 0),
        (("group", ["a", "b"]), ["a", "b"], [("endpoint", ["a"], False)], 1 / 2),
        (("group", ["a", "b", "c", "d"]), [], [("group", ["a"], False)], 1 / 4),
        (("job", ["j"]), [], [("job", "*", False)], 1),
        (("group", ["a"]), [], [("group", ["a", "b"], True)], 1),
        (("group", ["a", "c"]), [], [("group", ["a", "b"], True)], 0),
    ],
)
def test_suspect_sets_are_worth_their_share(
    subject: tuple[str, list[str]], suspects: list[str], accepted: list[tuple[str, list[str], bool]], worth: float
) -> None:
    """One where the subject is accepted, one in n where it is one of n."""
    finding = Finding.model_validate(
        {
            "id": "f", "job": "j", "kind": "straggler", "severity": "critical", "start_ns": 0, "end_ns": None,
            "confidence": 1, "slowdown_ratio": 2, "subject": {"type": subject[0], "ids": subject[1]},
            "suspects": [Suspect(type="endpoint", ids=(s,), probability=0.5) for s in suspects],
            "summary": "", "action": "",
        }
    )  # fmt: skip
    accept = [AcceptedSubject.model_validate({"type": t, "ids": ids, "within": w}) for t, ids, w in accepted]
    assert weight(finding, accept) == worth


def test_needs_know_which_way_is_better() -> None:
    """A need is at least for good marks, at most for bad ones; meeting it exactly is enough."""
    assert not misses_requirement({"jobs": 1.0}, "jobs", 1.0)
    assert misses_requirement({"jobs": 0.99}, "jobs", 1.0)
    assert not misses_requirement({"false": 0}, "false", 0)
    assert misses_requirement({"timeline": 0.004}, "timeline", 0.003)


groups = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=4), max_size=5)


@given(groups, groups)
def test_pair_f1_is_symmetric_and_bounded(one: list[list[str]], other: list[list[str]]) -> None:
    """For sets of groups without repetition F1 does not ask which side is the truth."""
    unique = [[list(g) for g in {frozenset(g) for g in side}] for side in (one, other)]
    assert pair_f1(unique[0], unique[1]) == pytest.approx(pair_f1(unique[1], unique[0]))
    assert 0 <= pair_f1(one, other) <= 1


@given(st.lists(st.integers(min_value=500, max_value=2_000), min_size=3, max_size=40), st.integers(-600, 600))
def test_shifted_ends_all_match(gaps: list[int], offset: int) -> None:
    """Ends that are right but for one offset well below an iteration are all found, each at its own place."""
    true = [sum(gaps[: n + 1]) * 1_000_000 + 10**18 for n in range(len(gaps))]
    hits = match_ends([t + offset * 1_000 for t in true], true)
    assert hits == [(n, n) for n in range(len(true))]


_SCORER = SHARED / "score" / "score.py"


def score(report: Path, truth: Path) -> dict[str, float]:
    """The marks the public scorer gives."""
    command = [sys.executable, str(_SCORER), str(report), str(truth), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def truths() -> list[Path]:
    """Every truth beside the captures and cases."""
    return sorted([*SHARED.glob("captures/*/truth/truth.json"), *SHARED.glob("cases/*/truth.json")])


def imperfect(report: Report, truth: Truth) -> Report:
    """A report on the truth's jobs with a mistake of every sort: sizes, groups, order, ends and findings are off."""
    template = report.jobs[0]
    jobs = []
    for job in truth.jobs:
        sizes = {k: v for k, v in job.layout.items() if k != "dp"} | {"tp": 3}
        groups = {
            kind: [list(reversed(members))[: len(members) if n else 2] for n, members in enumerate(listed)]
            for kind, listed in job.groups.items()
        }
        ends = [{"index": n, "start_ns": s, "end_ns": e + n % 3 * 7_000_000} for n, (s, e) in enumerate(job.iterations)]
        update = {"id": f"r-{job.id}", "endpoints": [*job.endpoints[1:], "10.99.0.1"], "hosts": []}
        made = template.model_dump(mode="json") | update | {"layout": sizes, "groups": groups, "iterations": ends[2:]}
        jobs.append(type(template).model_validate(made))
    findings = []
    for n, fault in enumerate(truth.faults):
        accepted = fault.accept[0]
        ids = ("x",) if accepted.ids == "*" else accepted.ids
        finding = report.findings[0].model_copy(
            update={
                "id": str(n),
                "job": f"r-{fault.job}",
                "kind": fault.kinds[0],
                "start_ns": (fault.start_ns or 0) + 123_456_789,
                "subject": Subject(type="group", ids=(*ids, "y")),
                "suspects": (
                    Suspect.model_validate({"type": accepted.type, "ids": ids, "probability": 0.6}),
                    Suspect(type="endpoint", ids=("y",), probability=0.4),
                ),
            }
        )
        findings += [finding, finding.model_copy(update={"id": f"{n}b", "kind": "regression"})]
    return changed(report, jobs=tuple(jobs), findings=tuple(findings))


@pytest.mark.shared
@pytest.mark.skipif(not _SCORER.exists(), reason="no ../shared with the public scorer")
@pytest.mark.parametrize("path", truths(), ids=lambda p: p.parts[-3] if p.parent.name == "truth" else p.parent.name)
def test_the_public_scorer_agrees(path: Path, report: Report, tmp_path: Path) -> None:
    """On every truth at hand, for a report full of mistakes and for one about other jobs."""
    truth = Truth.model_validate_json(path.read_bytes())
    for made in (imperfect(report, truth), report):
        written = tmp_path / "report.json"
        written.write_text(render_json(made))
        assert compute_scores(made, truth) == pytest.approx(score(written, path))


@pytest.mark.shared
@pytest.mark.skipif(not _SCORER.exists(), reason="no ../shared with the public scorer")
def test_the_public_scorer_agrees_on_a_perfect_report(report: Report, tmp_path: Path) -> None:
    """And on the truth made of the sample itself."""
    (tmp_path / "report.json").write_text(render_json(report))
    (tmp_path / "truth.json").write_text(truth_of(report).model_dump_json(by_alias=True))
    assert compute_scores(report, truth_of(report)) == pytest.approx(
        score(tmp_path / "report.json", tmp_path / "truth.json")
    )
