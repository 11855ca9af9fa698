"""The published methods do what their descriptions say, on traffic where it is plain what that is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datamodel.reports.truth import Truth
from flowprism.evaluation.baselines.change_points import change_points
from flowprism.evaluation.baselines.eroica import eroica
from flowprism.evaluation.baselines.greyhound import greyhound
from flowprism.evaluation.baselines.llmprism import llmprism
from flowprism.evaluation.baselines.messages import list_messages
from flowprism.evaluation.baselines.verdict import as_report
from flowprism.evaluation.case_analysis import analyze_whole_case
from flowprism.evaluation.outcome import outcome
from flowprism.evaluation.suite import CaseFiles, parse_case, write_case_files
from flowprism.inputs.inventory_file import load_inventory


def test_a_level_shift_is_a_change_point() -> None:
    """A fifth more, amid jitter of one per cent, is noticed with the first value of the new level."""
    values = 1 + np.random.default_rng(1).normal(0, 0.01, 28)
    values[14:] *= 1.2
    assert np.flatnonzero(change_points(values, np.array([0, 28]))).tolist() == [14]


def test_a_long_gap_is_a_change_point_each_time() -> None:
    """Nine short gaps and a long one, thirty times; sequences do not see one another."""
    values = np.tile([1.0] * 9 + [6.0], 30) + np.random.default_rng(1).normal(0, 0.05, 300)
    found = np.flatnonzero(change_points(np.concatenate([values, values]), np.array([0, 300, 600])))
    assert found.tolist() == [*range(9, 300, 10), *range(309, 600, 10)]


def test_no_values_have_no_change() -> None:
    """An empty sequence among others."""
    assert change_points(np.zeros(3), np.array([0, 0, 3, 3])).tolist() == [False] * 3


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> CaseFiles:
    """A pipeline whose gradients go in several sizes."""
    return write_case_files(parse_case("layouts-000"), tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> CaseFiles:
    """A job that becomes slower as a whole."""
    return write_case_files(parse_case("faults-016"), tmp_path_factory.mktemp("regressed"))


def truth(files: CaseFiles) -> Truth:
    """What was so."""
    return Truth.model_validate_json(files.truth.read_bytes())


def test_messages_carry_the_bursts_and_no_answers(healthy: CaseFiles) -> None:
    """Sorted by pair and time; acknowledgements and clear-to-send writes are left out."""
    found = list_messages(healthy.records, None)
    assert (found.bytes > 100_000).all()
    pair = found.pair_of()
    assert (np.diff(pair) >= 0).all()
    assert (np.diff(found.start_ns)[np.diff(pair) == 0] >= 0).all()


def test_llmprism_finds_job_and_steps(healthy: CaseFiles) -> None:
    """Endpoints exactly, every step's end, and its time to well below a per cent."""
    inventory = load_inventory(healthy.inventory)
    found = list_messages(healthy.records, inventory)
    result, _ = outcome(as_report(llmprism(found, inventory), found.addresses), truth(healthy))
    assert result.jobs_exact
    assert result.iterations == 1
    assert result.timeline_error is not None
    assert result.timeline_error < 0.003


def test_greyhound_notices_a_slower_job(regressed: CaseFiles) -> None:
    """From the iteration it sets in, and says nothing of where."""
    found = list_messages(regressed.records, load_inventory(regressed.inventory))
    what = truth(regressed)
    (verdict,) = greyhound(found, what.jobs)
    (fault,) = [f for f in what.faults if not f.optional]
    assert verdict.anomalies
    assert fault.start_ns is not None
    assert fault.iteration_ns is not None
    assert abs(verdict.anomalies[0].start_ns - fault.start_ns) < 2 * fault.iteration_ns
    assert all(a.type == "job" for a in verdict.anomalies)


def test_eroica_names_the_worker_whose_link_is_slow(tmp_path: Path) -> None:
    """Its rate is unlike its peers'; a job that is slower as a whole has no such worker."""
    files = write_case_files(parse_case("faults-020"), tmp_path)
    analysis = analyze_whole_case(files)
    result, _ = outcome(as_report(eroica(analysis), analysis.timelines.addresses), truth(files))
    assert [(one.what, one.located) for one in result.faults] == [("slow_nic", 1.0)]


def test_eroica_says_nothing_where_all_are_alike(regressed: CaseFiles, healthy: CaseFiles) -> None:
    """A job that is slower as a whole has no worker that is far; one that never is, is not profiled."""
    for files in (regressed, healthy):
        assert [one.anomalies for one in eroica(analyze_whole_case(files))] == [[]]


def test_without_records_there_is_no_job(tmp_path: Path, healthy: CaseFiles) -> None:
    """Nothing sent, nothing said."""
    found = list_messages(healthy.records, None).take(np.zeros(0, np.int64))
    assert llmprism(found, None) == []
    assert as_report([], found.addresses).jobs == ()
    assert not list(tmp_path.iterdir())
