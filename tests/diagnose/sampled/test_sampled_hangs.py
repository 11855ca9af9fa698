"""Jobs that stand still in the middle of an iteration, as samples show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from diagnose.sampled.sampled_hangs import sampled_hang
from diagnose.sampled.sampled_job_view import DP, SampledView
from reconstruct.sampled.folding.last_position import LastPosition
from tests.diagnose.sampled_job import MEMBERS, MS, PERIOD_MS, Fault, job

SAMPLES = 60.0


def stopped(view: SampledView, phase: Float, seed: int, silent: float = 10.0) -> LastPosition:
    """The job's standstill where each connection had come to a place of its bytes, of which chance sampled the last."""
    chance = np.random.default_rng(seed)
    reached = phase - chance.exponential(1 / SAMPLES, len(phase))
    since = int(view.job.edges_ns[-1] + 0.5 * PERIOD_MS * MS)
    return LastPosition(
        since_ns=since,
        heard_ns=since + int(silent * PERIOD_MS * MS),
        spacing_ns=PERIOD_MS * MS / (SAMPLES * len(phase)),
        reached=reached,
        samples=np.full(len(phase), SAMPLES),
    )


def phases(view: SampledView, after_ms: float) -> Float:
    """How far each connection usually has come at a moment of the iteration."""
    return np.array([np.mean(p.after_ns <= after_ms * MS) for p in view.points])


@pytest.fixture(scope="module")
def pipelined() -> SampledView:
    """Two rings of four, one a stage, and messages between the stages."""
    return job(Fault(), samples=20.0)


@pytest.mark.parametrize("seed", range(20))
def test_a_job_that_ends_after_a_whole_iteration_hangs_not(pipelined: SampledView, seed: int) -> None:
    """Its last bytes are not sampled, as ever: with each connection, at the last edge or an iteration behind it."""
    count = len(pipelined.src)
    for whole in (0.0, 1.0):
        assert sampled_hang(pipelined, stopped(pipelined, np.full(count, whole), seed)) == []


def test_a_silence_of_three_iterations_may_be_a_pause(pipelined: SampledView) -> None:
    """Stopped in the middle, but silent for two iterations, or as long as exporters are: nothing is said."""
    middle = phases(pipelined, 400.0)
    assert sampled_hang(pipelined, stopped(pipelined, middle, 1, silent=2.5)) == []
    assert sampled_hang(pipelined, stopped(pipelined, middle, 1, silent=0.0)) == []


@pytest.mark.parametrize("seed", range(10))
def test_a_job_that_stops_everywhere_at_once_may_have_been_killed(pipelined: SampledView, seed: int) -> None:
    """It stands still, which is told, and nobody is woken up for it."""
    (found,) = sampled_hang(pipelined, stopped(pipelined, phases(pipelined, 520.0), seed))
    assert (found.kind, found.severity, found.subject.type) == ("hang", "info", "job")
    assert "was stopped" in found.summary


@pytest.mark.parametrize("seed", range(10))
def test_who_stopped_while_others_went_on_is_among_the_suspects(pipelined: SampledView, seed: int) -> None:
    """Endpoint 2 and who waits for it stop at 150 ms, all others finish their passes: a hang, of one of these two."""
    phase = phases(pipelined, 620.0)
    ends = {2, MEMBERS + 2}
    early = [n for n, pair in enumerate(zip(pipelined.src, pipelined.dst, strict=True)) if ends == set(map(int, pair))]
    phase[early] = phases(pipelined, 150.0)[early]
    (found,) = sampled_hang(pipelined, stopped(pipelined, phase, seed))
    assert (found.kind, found.severity, found.end_ns) == ("hang", "critical", None)
    assert {s.ids[0] for s in found.suspects} == {"10.0.0.3", "10.0.0.7"}
    assert found.slowdown_ratio == pytest.approx(11.0, abs=0.1)


def test_few_samples_tell_that_it_hangs_and_not_who_stopped_first(pipelined: SampledView) -> None:
    """Of five samples an iteration none is missing surely; that the rings' are, all together, is."""
    phase = phases(pipelined, 620.0)
    still = stopped(pipelined, phase, 3)
    few = replace(still, samples=np.full(len(phase), 5.0), reached=phase - 0.1)
    (found,) = sampled_hang(pipelined, few)
    assert (found.subject.type, found.suspects) == ("job", ())


def test_connections_that_ended_long_before_are_not_missing(pipelined: SampledView) -> None:
    """A ring that was replaced ten iterations ago says nothing of the end of the job."""
    reached = np.where(np.asarray(pipelined.role) == DP, 0.0, -10.0)
    assert sampled_hang(pipelined, stopped(pipelined, reached, 4)) == []
