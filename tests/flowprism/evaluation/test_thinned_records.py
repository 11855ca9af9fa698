"""Cases of which records are missing: the same jobs, with less shown of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from datamodel.reports.truth import TrueJob, Truth
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.cases.thinned_records import Thinning, restrict_truth, thin_records
from flowprism.evaluation.outcome import outcome
from flowprism.evaluation.suite import CaseName, parse_case, write_case_files
from flowprism.inputs.inventory_file import load_inventory

# A small job, on several leaves.
NUMBER = 1


def records(path: Path) -> list[tuple[object, ...]]:
    """Rows of a file of flow records."""
    return list(zip(*(column.to_pylist() for column in pq.read_table(path).columns), strict=True))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The case's folder, complete."""
    write_case_files(CaseName("random", NUMBER), tmp_path / "whole")
    return tmp_path / "whole"


def test_lossy_and_partial_cases_are_random_ones_with_fewer_records(whole: Path, tmp_path: Path) -> None:
    """Lost records are about one in a hundred; silent leaves take all that their NICs send."""
    every = records(whole / "flows.parquet")
    for family in ("random-lossy", "random-partial"):
        files = write_case_files(CaseName(family, NUMBER), tmp_path / family)
        left = records(files.records)
        assert files.inventory.exists()
        assert set(left) < set(every)
        if family == "random-lossy":
            assert 0.98 < len(left) / len(every) < 0.998
        else:
            senders = pq.read_table(files.records)["src_addr"].unique().to_pylist()
            behind = {e.address: e.switch for h in load_inventory(files.inventory).hosts for e in h.endpoints}
            heard = {behind[address] for address in senders}
            assert 0 < len(heard) < len(set(behind.values()))


@pytest.mark.parametrize(
    "case", ["clean-bursts-022", pytest.param("clean-bursts-034", marks=pytest.mark.slow), "events-bursts-000"]
)
def test_nothing_is_wrong_with_a_job_whose_records_were_lost(case: str, tmp_path: Path) -> None:
    """Times of records that were filled in are guesses: neither single iterations nor stages are judged by them."""
    files = write_case_files(parse_case(case), tmp_path / "lossy")
    whole = write_case_files(parse_case(case.replace("-bursts", "")), tmp_path / "whole")
    left, every = (pq.read_metadata(one.records).num_rows for one in (files, whole))
    assert 0.97 < left / every < 0.99
    found, _ = outcome(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert (found.jobs_exact, found.false) == (1, 0)


def test_hosts_that_no_record_names_are_not_asked_for(whole: Path) -> None:
    """A job without one has no sizes to be found; one that leaves no trace is none."""
    truth = Truth.model_validate_json((whole / "truth" / "truth.json").read_bytes())
    path, (job,), inventory = whole / "flows.parquet", truth.jobs, load_inventory(whole / "inventory.yaml")
    assert restrict_truth(truth, inventory, path) == truth
    every = pq.read_table(path)
    gone = [e.address for e in inventory.hosts[0].endpoints]

    def without(addresses: list[str | None]) -> TrueJob:
        named = (pc.is_in(every[name], pa.array(addresses, pa.string())) for name in ("src_addr", "dst_addr"))
        pq.write_table(every.filter(pc.invert(pc.or_(*named))), path)
        (left,) = restrict_truth(truth, inventory, path).jobs
        return left

    assert without(gone[:1]) == job
    left = without(gone)
    assert set(left.endpoints) == set(job.endpoints) - set(gone)
    assert (left.layout, left.not_asked) == ({}, job.layout | job.not_asked)
    assert not any(set(gone) & set(group) for groups in left.groups.values() for group in groups)
    pq.write_table(every.slice(0, 0), path)
    assert restrict_truth(truth, inventory, path).jobs == ()


def test_a_seed_loses_the_same_records_again(whole: Path) -> None:
    """Another one loses others."""
    inventory, path = load_inventory(whole / "inventory.yaml"), whole / "flows.parquet"
    complete, kept = path.read_bytes(), []
    for seed in (1, 1, 2):
        path.write_bytes(complete)
        thin_records(path, inventory, Thinning(lost_ratio=0.1), 1e9, seed)
        kept.append(records(path))
    assert kept[0] == kept[1] != kept[2]
    assert np.isclose(len(kept[0]) / len(kept[2]), 1, atol=0.1)


@pytest.mark.parametrize("case", ["clean-outage-023", "events-outage-000", "faults-outage-001"])
def test_nothing_is_wrong_with_a_job_whose_collector_was_away(case: str, tmp_path: Path) -> None:
    """All of its iterations are there, its layout is, and nothing is found but what there is."""
    files = write_case_files(parse_case(case), tmp_path)
    truth = Truth.model_validate_json(files.truth.read_bytes())
    report = analyze_case(files)
    found, _ = outcome(report, truth)
    assert (found.jobs_exact, found.layouts_exact, found.false) == (1, 1, 0)
    assert all(fault.in_set for fault in found.faults)
    assert len(truth.jobs[0].iterations) - 1 <= len(report.jobs[0].iterations) <= len(truth.jobs[0].iterations)
