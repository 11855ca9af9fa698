"""Iteration times split where they change and stay changed."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.pace_intervals import PaceInterval, durations_ns, find_sporadic, noise_ratio, split_intervals
from tests.diagnose.hand_made import SECOND, edges_ns

LEAST = 0.05


def split(durations_s: list[float]) -> list[tuple[int, int, bool]]:
    """First and last iteration of each period, and whether it is slow."""
    return [(p.first, p.last, p.slow) for p in split_intervals(edges_ns(durations_s), LEAST)]


def test_durations_begin_unknown() -> None:
    """The first iteration has no edge before it; the others last from edge to edge."""
    found = durations_ns(edges_ns([1.0, 2.5]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [SECOND, 2.5 * SECOND]


def test_noise_is_the_median_step() -> None:
    """Steps of 3 % of the median make 1.4826 x 3 % / sqrt(2); what drifts slowly or jumps once is no noise."""
    swinging = np.array([np.nan, *[1.0, 1.03] * 10, 1.0])
    assert noise_ratio(swinging) == pytest.approx(1.4826 * 0.03 / np.sqrt(2), rel=1e-6)
    assert noise_ratio(np.array([1.0] * 10 + [2.0] * 10)) == 0
    assert noise_ratio(np.array([np.nan, 1.0])) == 0


def test_a_step_parts_two_periods() -> None:
    """Ten iterations of 1 s, then ten of 1.3 s: the second period is slow by 1.3 against the whole first one."""
    first, second = split_intervals(edges_ns([1.0] * 10 + [1.3] * 10), LEAST)
    assert first == PaceInterval(1, 10, SECOND, (), 1.0)
    assert (second.first, second.last, second.baseline) == (11, 20, tuple(range(1, 11)))
    assert second.slowdown_ratio == pytest.approx(1.3)
    assert second.duration_ns == pytest.approx(1.3 * SECOND)


def test_what_mends_itself_is_slow_too() -> None:
    """A slow beginning is compared with the better end."""
    assert split([1.3] * 8 + [1.0] * 12) == [(1, 8, True), (9, 20, False)]


def test_a_flap_is_two_slow_periods_with_one_baseline() -> None:
    """The baseline of either is all the time that the job was at its best."""
    found = split_intervals(edges_ns([1.0] * 6 + [1.4] * 6 + [1.0] * 6 + [1.4] * 6), LEAST)
    assert [p.slow for p in found] == [False, True, False, True]
    assert found[1].baseline == found[3].baseline == (*range(1, 7), *range(13, 19))


def test_two_steps_up_are_told_apart() -> None:
    """A second fault on top of the first begins a period of its own; both are compared with the healthy one."""
    found = split_intervals(edges_ns([1.0] * 8 + [1.2] * 8 + [1.5] * 8), LEAST)
    assert [(p.first, p.last) for p in found] == [(1, 8), (9, 16), (17, 24)]
    assert [p.slowdown_ratio for p in found] == pytest.approx([1.0, 1.2, 1.5])


@pytest.mark.parametrize("height", [1.5, 3.0, 20.0])
def test_single_spikes_are_no_period(height: float) -> None:
    """Checkpoints every fifth iteration are not slow iterations, however long they take."""
    assert split([1.0, 1.0, height, 1.0, 1.0] * 6) == [(1, 30, False)]


@pytest.mark.parametrize(("height", "slow"), [(1.04, False), (1.06, True)])
def test_the_threshold_is_five_percent(height: float, slow: bool) -> None:
    """What costs less is not reported, what costs more is."""
    assert any(s for *_, s in split([1.0] * 15 + [height] * 15)) is slow


def test_a_small_drift_is_no_period() -> None:
    """Four percent over the whole window are not worth a word."""
    assert not any(slow for *_, slow in split(np.linspace(1.0, 1.04, 40).tolist()))


def test_a_large_drift_ends_slow() -> None:
    """Forty percent over the window: its beginning is the best, its end is slow."""
    found = split(np.linspace(1.0, 1.4, 40).tolist())
    assert found[0][2] is False
    assert found[-1][2] is True


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05, 0.1])
def test_noise_is_never_a_period(spread: float) -> None:
    """Of forty noisy but steady jobs at most one is called slow at any time."""
    loud = 0
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(1.0, spread, 50)
        loud += any(slow for *_, slow in split(noise.tolist()))
    assert loud <= 1


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05])
def test_a_step_is_found_in_noise(spread: float) -> None:
    """A step of 25 % is found in all of twenty noisy jobs, within two iterations of where it was."""
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(1.0, spread, 50)
        slow = [(first, last) for first, last, s in split((noise * np.repeat([1.0, 1.25], 25)).tolist()) if s]
        assert slow, seed
        assert abs(slow[0][0] - 26) <= 2, seed
        assert slow[-1][1] == 50, seed


def test_evaluations_are_no_better_time_of_the_job() -> None:
    """Five quick iterations that move half as much: nothing was faster; of as many bytes they are the job's best."""
    edges = edges_ns([1.0] * 10 + [0.5] * 5 + [1.0] * 10)
    moved = np.array([2.0] + [2.0] * 10 + [1.0] * 5 + [2.0] * 10)
    assert not any(p.slow for p in split_intervals(edges, LEAST, moved))
    assert [p.slow for p in split_intervals(edges, LEAST, np.ones(26))] == [True, False, True]


def test_periods_cover_every_iteration_once() -> None:
    """Also where times are wild."""
    wild = np.random.default_rng(4).lognormal(0, 0.5, 70).tolist()
    found = split(wild)
    assert [i for first, last, _ in found for i in range(first, last + 1)] == list(range(1, 71))


def test_few_iterations_are_one_period() -> None:
    """With fewer than six durations nothing is compared; with none there is nothing."""
    assert split([1.0, 1.0, 5.0, 5.0, 5.0]) == [(1, 5, False)]
    assert split([]) == []


def single(durations_s: list[float], moved_bytes: list[float] | None = None) -> PaceInterval | None:
    """The scattered slow iterations of such a job."""
    edges = edges_ns(durations_s)
    moved = None if moved_bytes is None else np.array([1.0, *moved_bytes])
    return find_sporadic(edges, split_intervals(edges, LEAST), LEAST, moved)


def test_single_slow_iterations_are_taken_together() -> None:
    """Three of thirty take half as long again, none beside another; the others are the baseline."""
    durations = [1.4 if n in (9, 15, 22) else 1.0 + 0.001 * (n % 4) for n in range(30)]
    found = single(durations)
    assert found is not None
    assert found.iterations.tolist() == [10, 16, 23]
    assert found.slowdown_ratio == pytest.approx(1.4, abs=0.01)
    assert set(found.baseline) == set(range(1, 31)) - {10, 16, 23}


def test_iterations_of_which_records_are_missing_belong_to_no_period() -> None:
    """They neither make one nor break one in two, and one that was on before them still is at the end."""
    durations = [1.0] * 10 + [5.0, 4.0, 3.0] + [1.0] * 7 + [1.3] * 6 + [9.0] * 2
    edges = edges_ns(durations)
    away = np.isin(np.arange(len(edges)), [11, 12, 13, 27, 28])
    first, second = split_intervals(edges, LEAST, None, away)
    assert (first.first, first.last, first.left_out, first.slow) == (1, 20, (11, 12, 13), False)
    assert (second.first, second.last, second.left_out) == (21, len(edges) - 1, (27, 28))
    assert second.iterations.tolist() == [21, 22, 23, 24, 25, 26]
    assert set(second.baseline) == set(range(1, 21)) - {11, 12, 13}
    assert second.slowdown_ratio == pytest.approx(1.3)


def test_single_iterations_whose_ends_are_guessed_are_not_judged() -> None:
    """Of three slow ones one ends with a record that was lost: two are too few."""
    edges = edges_ns([1.4 if n in (9, 15, 22) else 1.0 + 0.001 * (n % 4) for n in range(30)])
    guessed = np.arange(len(edges)) == 16
    assert find_sporadic(edges, split_intervals(edges, LEAST), LEAST, None, guessed) is None


@pytest.mark.parametrize(("bytes_ratio", "slow"), [(1.1, True), (1.5, False)])
def test_single_iterations_that_do_more_work_are_not_slow(bytes_ratio: float, slow: bool) -> None:
    """Every fourth iteration takes twice as long; with half as many bytes again it is not one of the same kind."""
    longer = [n % 4 == 3 for n in range(40)]
    found = single([2.0 if n else 1.0 for n in longer], [bytes_ratio if n else 1.0 for n in longer])
    assert (found is not None) is slow


def test_two_slow_iterations_are_too_few() -> None:
    """They may be anything."""
    assert single([1.4 if n in (9, 15) else 1.0 for n in range(30)]) is None


def test_noise_is_not_scattered_slowness() -> None:
    """Iterations that differ by 4 % one from the next have none that stand out."""
    random = np.random.default_rng(5)
    assert single((1 + 0.04 * random.standard_normal(200)).tolist()) is None


def test_slow_periods_are_no_single_iterations() -> None:
    """What is a period of its own is not told twice."""
    assert single([1.0] * 10 + [1.5] * 10 + [1.0] * 10) is None


def test_runs_of_chance_are_no_period() -> None:
    """A long job has runs of three long iterations by chance; the same run in a quiet job is a period."""
    random = np.random.default_rng(3)
    jitter = 1 + 0.01 * random.standard_normal(400) + 0.12 * (random.random(400) < 0.1)
    jitter[200:203] = [1.12, 1.13, 1.11]
    assert [p for p in split_intervals(edges_ns(jitter.tolist()), LEAST) if p.slow] == []
    quiet = 1 + 0.001 * random.standard_normal(400)
    quiet[200:203] = [1.12, 1.13, 1.11]
    assert [(p.first, p.last) for p in split_intervals(edges_ns(quiet.tolist()), LEAST) if p.slow] == [(201, 203)]


def test_half_an_hour_of_a_little_more_is_a_period() -> None:
    """What lasts needs not stand out in every iteration."""
    random = np.random.default_rng(4)
    durations = 1 + 0.04 * random.standard_normal(400)
    durations[150:] += 0.08
    assert [p.first for p in split_intervals(edges_ns(durations.tolist()), LEAST) if p.slow] == [
        pytest.approx(151, abs=4)
    ]


def test_the_boundary_is_the_first_slow_iteration() -> None:
    """Two iterations before the fault are enough to date it; three slow ones between fast ones are those three."""
    assert split([1.0, 1.002] + [1.25, 1.251, 1.249] * 3) == [(1, 2, False), (3, 11, True)]
    found = split([1.0, 1.001, 1.002] * 5 + [1.4, 1.41, 1.39] + [1.0, 1.001, 1.002] * 4)
    assert found == [(1, 15, False), (16, 18, True), (19, 30, False)]


def test_iterations_that_end_at_once_are_no_measure() -> None:
    """Where most edges fall on one instant, nothing stands out from their distance, which is none."""
    edges = np.sort(np.concatenate([np.zeros(12, np.int64), np.arange(1, 5) * 1_000_000_000]))
    assert find_sporadic(edges, [PaceInterval(1, len(edges) - 1, 0.0, (), 1.0)], LEAST) is None


@pytest.mark.parametrize("count", [200, 400])
def test_runs_of_spikes_are_no_period(count: int) -> None:
    """One iteration in eight is 5 to 11 % longer, so that a long job has some in a row: 19 and 28 jobs were slow."""
    found = 0
    for seed in range(150):
        random = np.random.default_rng([seed, count])
        usual = 2.28 * np.exp(random.normal(0, 0.006, count))
        spikes = (random.random(count) < 0.12) * random.choice([0.12, 0.23, 0.25], count)
        found += any(slow for *_, slow in split((usual + spikes).tolist()))
    assert found <= 1


def test_a_quick_run_is_judged_by_the_long_rest() -> None:
    """Some quick iterations in a row are chance; beyond the reach of the others they are the job at its best."""
    varied = np.random.default_rng(2).uniform(0.46, 0.61, 394).tolist()
    assert not any(slow for *_, slow in split([*varied, 0.468, 0.463, 0.47, 0.465, 0.469, 0.466]))
    assert [slow for *_, slow in split([*varied, *[0.40] * 6])] == [True, False]
