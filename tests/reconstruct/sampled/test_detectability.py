"""What samples can show, said beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from datamodel.reports.report import ShownKind
from reconstruct.sampled.detectability import iteration_errors, of_samples, of_volumes
from reconstruct.sampled.jobs.sampled_recognition import find_sampled_jobs
from reconstruct.sampled.jobs.volume_jobs import NO_CONNECTIONS, VolumeJob
from reconstruct.timelines.iteration_time_errors import PIECES, UNSEEN_SHARE
from tests.reconstruct.sampled.training import iteration_ends, ring, sampled


def test_the_predicted_error_is_of_the_size_of_the_seen_one() -> None:
    """Over rates that differ sixteenfold, within a factor of three; that of the edges grows as samples become fewer."""
    ends = iteration_ends(40, 4000.0, 0.03, 5)
    predicted, seen, edge = [], [], []
    for rate in (250, 1000, 4000):
        found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), ends, rate, 6), frozenset())
        job = found.jobs[0]
        told = of_samples(found.progress, job).timeline_error_ratio
        assert told is not None
        true = ends - 0.05 * np.diff(ends, prepend=2 * ends[0] - ends[1])
        nearest = np.argmin(np.abs(job.edges_ns[:, None] - true[None, :]), axis=1)
        off = np.diff(job.edges_ns) - np.diff(true[nearest])
        predicted.append(told)
        edge.append(float(np.median(job.edge_error_ns)))
        seen.append(float(np.hypot(np.mean(np.abs(off)) / job.period_ns, 0.001)))
    assert all(1 / 3 < p / s < 3 for p, s in zip(predicted, seen, strict=True))
    assert edge == sorted(edge)


def test_few_iterations_have_nothing_to_be_compared_with() -> None:
    """Five iterations: times are told, no slowdown is."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(5, 4000.0, 0.01, 5), 250, 6), frozenset())
    told = of_samples(found.progress, found.jobs[0])
    assert told.smallest_slowdown_ratio is None
    assert "fewer than six iterations: nothing to compare with" in told.reasons


def test_where_iteration_times_are_hardly_known_no_slowdown_is_told() -> None:
    """Errors of a tenth of the iteration, or none known for most: that is told, and findings are impossible."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(12, 4000.0, 0.01, 5), 250, 6), frozenset())
    job = found.jobs[0]
    count = len(job.edges_ns)
    for error_ns in (np.full(count, 0.1 * job.period_ns), np.where(np.arange(count) < 4, 1e6, np.nan)):
        told = of_samples(found.progress, replace(job, edge_error_ns=error_ns))
        assert told.smallest_slowdown_ratio is None
        assert told.reasons[-1].endswith("no findings")
        assert told.hides("slow_link")
        assert told.hides("hang")


def test_pairs_without_a_rhythm_hide_layout_and_stragglers_alone() -> None:
    """Of a job with such pairs; what would show it is said; links, slowdowns and hangs are shown."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(20, 4000.0, 0.01, 5), 250, 6), frozenset())
    clear, faint = (of_samples(found.progress, replace(found.jobs[0], unresolved=pairs)) for pairs in (0, 2))
    assert [item.what for item in clear.shows if not item.shown] == []
    assert [item.what for item in faint.shows if not item.shown] == ["layout", "straggler"]
    assert {item.remedy is None for item in faint.shows if item.shown} == {True}
    assert faint.reasons[-2].startswith(
        "layout: not shown, 2 pairs have too few samples, or show no rhythm; more samples"
    )


def test_volumes_tell_nothing_of_time() -> None:
    """And say so."""
    told = of_volumes(VolumeJob(np.arange(4), (1e6, 2e6), 0.054, NO_CONNECTIONS))
    assert (told.timeline_error_ratio, told.smallest_slowdown_ratio) == (None, None)
    assert "2 volumes that its connections share, each known to 5 %" in told.reasons[1]
    assert {item.shown for item in told.shows} == {False}
    assert {item.what for item in told.shows} == set(get_args(ShownKind))


def test_intervals_hold_the_unseen_step_although_few_iterations_tell_its_jitter() -> None:
    """Of 60 windows of 13 iterations, whose edges are exact, 93 to 97 % of the times lie in the interval."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(12, 4000.0, 0.01, 5), 250, 6), frozenset())
    chance = np.random.default_rng(8)
    period_ns, held = 4e9, []
    for _ in range(60):
        pieces = period_ns * 0.98 / PIECES * (1 + 0.01 * chance.standard_normal((13, PIECES)))
        step = period_ns * 0.02 * (1 + 0.01 * chance.standard_normal(13))
        ends = np.cumsum(pieces.sum(axis=1) + np.concatenate([[0.0], step[:-1]]))
        none = np.zeros(13)
        job = replace(
            found.jobs[0],
            edges_ns=ends.astype(np.int64),
            edge_error_ns=none,
            edge_shared_ns=none,
            moving_ns=none,
        )
        held += (np.abs(np.diff(step)) <= 1.96 * iteration_errors(job).interval_ns()).tolist()
    assert 0.93 <= np.mean(held) <= 0.97


def test_intervals_that_edges_make_are_no_wider_for_the_few_that_tell_the_jitter() -> None:
    """Of 60 windows whose edges err far more than the step jitters, and by how much is known, 93.5 to 96.5 % hold."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(12, 4000.0, 0.01, 5), 250, 6), frozenset())
    chance = np.random.default_rng(3)
    error_ns, held = 4e6, []
    for _ in range(60):
        ends = np.cumsum(4e9 * (1 + 0.001 * chance.standard_normal(30)))
        off = error_ns * chance.standard_normal(30)
        job = replace(
            found.jobs[0],
            edges_ns=(ends + off).astype(np.int64),
            edge_error_ns=np.full(30, error_ns),
            edge_shared_ns=np.zeros(30),
            moving_ns=np.zeros(30),
        )
        held += (np.abs(np.diff(off)) <= 1.96 * iteration_errors(job).interval_ns()).tolist()
    assert 0.935 <= np.mean(held) <= 0.965


def test_what_iterations_differ_by_as_ever_is_counted_once() -> None:
    """Computing that jitters makes the step jitter; only a change beyond that, a fault's, makes it longer as well."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(12, 4000.0, 0.01, 5), 250, 6), frozenset())
    none, chance = np.zeros(41), np.random.default_rng(4)
    steps = 4e9 * (1 + 0.01 * chance.standard_normal(40))
    job = replace(found.jobs[0], edge_error_ns=none, edge_shared_ns=none, moving_ns=none)
    steady = replace(job, edges_ns=np.cumsum([0, *steps]).astype(np.int64))
    faulty = replace(job, edges_ns=np.cumsum([0, *steps[:20], *(1.5 * steps[20:])]).astype(np.int64))
    usual = UNSEEN_SHARE * np.sqrt(2 * PIECES) * np.sqrt(np.mean(np.diff(steps) ** 2) / 2)
    assert np.allclose(iteration_errors(steady).standard_ns(), usual, rtol=0.5)
    assert np.argmax(iteration_errors(faulty).standard_ns()) == 20
    assert abs(iteration_errors(faulty).standard_ns()[20] / (UNSEEN_SHARE * 0.5 * 4e9) - 1) < 0.1


def test_a_change_that_is_known_is_no_chance() -> None:
    """A normal error is 0.8 of its deviation in the mean; one of a known size is that size."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), iteration_ends(12, 4000.0, 0.01, 5), 250, 6), frozenset())
    none, chance = np.zeros(41), np.random.default_rng(4)
    steps = np.where(np.arange(40) < 20, 4e9, 6e9) * (1 + 0.001 * chance.standard_normal(40))
    edges_ns = np.cumsum([0, *steps]).astype(np.int64)
    job = replace(found.jobs[0], edges_ns=edges_ns, edge_error_ns=none, edge_shared_ns=none, moving_ns=none)
    share = iteration_errors(job).mean_ns() / iteration_errors(job).standard_ns()
    assert abs(share[20] - 1) < 0.01
    assert np.allclose(np.delete(share, 20), np.sqrt(2 / np.pi))
