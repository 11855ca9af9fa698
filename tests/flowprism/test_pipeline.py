"""From flow records to the report: the same whatever the order of rows, and nothing that was handed in is lost."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from capture.records.record_writer import write_records
from datamodel.cluster.inventory import Endpoint, Host, Inventory, JobLabel, Tenant
from datamodel.errors import InputError
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import Report
from datamodel.telemetry.flows import Flows
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.rendering.formats.report_json import render_json
from flowprism.worker_pool import WorkerPool
from tests.workloads.feed import Feed, Message, address, flows, inventory, storage_reads
from tests.workloads.grid import Grid
from tests.workloads.training import Fault, Training, Workload, train

RANKS, STORE = 8, 12


@pytest.fixture(scope="module")
def training() -> Training:
    """A pipeline of two stages on hosts of one GPU, whose rank 5 computes 60 % longer from iteration 12 on."""
    slow = Fault("compute", rank=5, first=12, factor=1.6)
    return train(Workload(Grid(dp=4, pp=2), faults=(slow,), seed=3))


@pytest.fixture(scope="module")
def reads() -> Message:
    """A storage server outside the job that everybody reads from, every half second."""
    return storage_reads(STORE, range(RANKS), np.arange(1, 20) * 500_000_000, 3_000_000)


@pytest.fixture(scope="module")
def records(training: Training, reads: Message) -> Flows:
    """What a mirror shows of both."""
    return flows([training], Feed(trains=True), [reads])


@pytest.fixture(scope="module")
def analysis(records: Flows, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """The analysis of those records without an inventory."""
    return analysed(records, tmp_path_factory.mktemp("plain"))


def analysed(records: Flows, folder: Path, known: Inventory | None = None, name: str = "flows.parquet") -> Analysis:
    """The analysis of records written to a file."""
    write_records(records, folder / name)
    return analyze([folder / name], known, AnalysisOptions())


def shuffled(records: Flows, seed: int) -> Flows:
    """The same records in another order."""
    return Flows(records.frame.take(np.random.default_rng(seed).permutation(len(records))), records.addresses)


def test_the_same_input_twice_gives_the_same_bytes(records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """Nothing in a report depends on when or where it was made."""
    assert render_json(analysed(records, tmp_path).report) == render_json(analysis.report)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_does_not_matter(seed: int, records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """Shuffled rows give the same report byte by byte, and the same timelines."""
    again = analysed(shuffled(records, seed), tmp_path)
    assert render_json(again.report) == render_json(analysis.report)
    for name, column in analysis.timelines.spans.columns().items():
        np.testing.assert_array_equal(again.timelines.spans[name], column, err_msg=name)


def test_one_window_may_lie_in_several_files(records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """Halves of the records in two files, the later one first, give what the whole gives."""
    half = len(records) // 2
    parts = (np.arange(half, len(records)), np.arange(half))
    for n, rows in enumerate(parts):
        write_records(Flows(records.frame.take(rows), records.addresses), tmp_path / f"{n}.parquet")
    report = analyze([tmp_path / "0.parquet", tmp_path / "1.parquet"], None, AnalysisOptions()).report
    assert without_inputs(report) == without_inputs(analysis.report)
    assert report.provenance.inputs == ("0.parquet", "1.parquet")


def without_inputs(report: Report) -> dict[str, object]:
    """A report's content, the names of its files aside."""
    content: dict[str, object] = json.loads(render_json(report))
    content.pop("provenance")
    return content


@pytest.mark.parametrize("name", ["flows.csv.gz", "flows.jsonl"])
def test_the_form_of_the_file_does_not_matter(name: str, records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """CSV and JSON lines give what Parquet gives."""
    assert without_inputs(analysed(records, tmp_path, name=name).report) == without_inputs(analysis.report)


def test_the_late_rank_is_named(training: Training, analysis: Analysis) -> None:
    """One job of the eight ranks, one finding: rank 5 from the end of iteration 11 on."""
    (job,) = analysis.report.jobs
    assert set(job.endpoints) == {address(n) for n in range(RANKS)}
    assert (job.layout.pp, len(job.iterations)) == (2, len(training.ends_ns))
    (finding,) = analysis.report.findings
    assert (finding.kind, finding.subject.type, finding.subject.ids) == ("straggler", "endpoint", (address(5),))
    assert (finding.severity, finding.end_ns) == ("critical", None)
    edges = [iteration.end_ns for iteration in job.iterations]
    assert finding.start_ns == edges[11]


def test_the_slowdown_is_that_of_the_iterations(training: Training, analysis: Analysis) -> None:
    """It compares iterations since the fault with those before it."""
    durations = np.diff(training.ends_ns)
    expected = np.median(durations[11:]) / np.median(durations[:11])
    assert analysis.report.findings[0].slowdown_ratio == pytest.approx(expected, rel=0.02)


def test_who_is_in_no_job_is_counted(analysis: Analysis) -> None:
    """The storage server belongs to no job, and the report says why."""
    assert address(STORE) not in analysis.report.jobs[0].endpoints
    assert sum(int(reason.partition(" endpoint")[0]) for reason in analysis.report.unassigned) == 1


def test_the_feed_is_accounted_for(records: Flows, analysis: Analysis) -> None:
    """Records, bytes and window are those of the file."""
    feed, window = analysis.report.feed, analysis.report.window
    assert (feed.records, feed.bytes) == (len(records), int(records.frame["bytes"].sum()))
    assert window.start_ns == records.frame["time_flow_start_ns"].min()
    assert window.end_ns == records.frame["time_flow_end_ns"].max()


def test_services_are_never_part_of_a_job(records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """An inventory's services take their addresses out, and change nothing for the job."""
    known = Inventory.model_validate({"services": [f"{address(STORE)}/32"]})
    report = analysed(records, tmp_path, known).report
    assert report.jobs == analysis.report.jobs
    assert any("service" in reason for reason in report.unassigned)


def test_an_inventory_gives_names_and_no_conclusions(records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """Hosts, label and tenant come from it; iterations and findings' subjects do not."""
    hosts = inventory(RANKS, gpus=1)
    names = tuple(h.name for h in hosts.hosts)
    labels = {"jobs": (JobLabel(name="llama", tenant="t1", hosts=names),), "tenants": (Tenant(name="t1", hosts=names),)}
    report = analysed(records, tmp_path, hosts.model_copy(update=labels)).report
    (job,) = report.jobs
    assert (job.label, job.tenant, job.hosts) == ("llama", "t1", tuple(sorted(names)))
    assert job.iterations == analysis.report.jobs[0].iterations
    assert [f.subject.ids for f in report.findings] == [f.subject.ids for f in analysis.report.findings]
    assert report.provenance.inventory_sha256 is not None
    assert analysis.report.provenance.inventory_sha256 is None


def test_inventory_that_matches_no_address_warns(records: Flows, tmp_path: Path) -> None:
    """Another fabric's inventory must not pass for this one's."""
    small = Flows(records.frame.take(np.arange(100)), records.addresses)
    foreign = Inventory(hosts=(Host(name="x", endpoints=(Endpoint(address="192.0.2.1"),)),))
    (warning,) = analysed(small, tmp_path, foreign).report.feed.warnings
    assert "names none of the" in warning
    assert analysed(small, tmp_path, inventory(RANKS, gpus=1)).report.feed.warnings == ()


def test_the_inventory_is_named_by_what_it_says(records: Flows, tmp_path: Path) -> None:
    """Two inventories that say the same have one digest; it is a SHA-256."""
    small = Flows(records.frame.take(np.arange(100)), records.addresses)
    write_records(small, tmp_path / "flows.parquet")
    digests = {
        analyze(
            [tmp_path / "flows.parquet"], inventory(n, gpus=1), AnalysisOptions()
        ).report.provenance.inventory_sha256
        for n in (RANKS, RANKS, RANKS + 1)
    }
    assert len(digests) == 2
    assert all(d is not None and len(d) == len(hashlib.sha256().hexdigest()) for d in digests)


def test_too_little_for_a_job_says_why(records: Flows, tmp_path: Path) -> None:
    """A few records of a training show no period: no job, no timeline, and a reason for every endpoint."""
    few = records.frame.take(np.arange(200))
    result = analysed(Flows(few, records.addresses), tmp_path)
    assert result.report.jobs == ()
    assert len(result.timelines.spans) == 0
    seen = np.union1d(few["src_addr"], few["dst_addr"])
    assert sum(int(r.partition(" endpoint")[0]) for r in result.report.unassigned) == len(seen)


def test_progress_reaches_its_end(records: Flows, tmp_path: Path) -> None:
    """Every stage that begins is told to be complete, and never runs backwards."""
    told: dict[str, list[tuple[int, int]]] = {}
    write_records(records, tmp_path / "flows.parquet")
    analyze(
        [tmp_path / "flows.parquet"], None, AnalysisOptions(), lambda s, d, t: told.setdefault(s, []).append((d, t))
    )
    assert set(told) == {"reading", "analyzing jobs"}
    for steps in told.values():
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1] > 0


def test_no_input_is_an_error() -> None:
    """Nothing to read is a mistake of the caller, and said so."""
    with pytest.raises(InputError, match="no input files given"):
        analyze([], None, AnalysisOptions())


def test_the_number_of_workers_does_not_matter(training: Training, tmp_path: Path) -> None:
    """Two jobs analysed by two threads give the report and the tables that one gives."""
    other = train(Workload(Grid(dp=4), placement=(8, 9, 10, 11), seed=5))
    records = flows([training, other], Feed(trains=True))
    alone = analysed(records, tmp_path)
    both = analyze([tmp_path / "flows.parquet"], None, AnalysisOptions(crew=WorkerPool(2)))
    assert len(alone.report.jobs) == 2
    assert render_json(both.report) == render_json(alone.report)
    assert both.timelines.groups == alone.timelines.groups
    for name, column in alone.timelines.spans.columns().items():
        np.testing.assert_array_equal(both.timelines.spans[name], column, err_msg=name)
    assert list(both.pairs) == list(alone.pairs)


def test_tables_that_nobody_wants_are_not_made(records: Flows, analysis: Analysis, tmp_path: Path) -> None:
    """The report is the same without timelines and pair tables."""
    write_records(records, tmp_path / "flows.parquet")
    bare = analyze([tmp_path / "flows.parquet"], None, AnalysisOptions(tables=False))
    assert render_json(bare.report) == render_json(analysis.report)
    assert not len(bare.timelines.spans)
    assert not bare.pairs


def test_two_jobs_one_after_the_other_on_the_same_endpoints_keep_their_timelines(tmp_path: Path) -> None:
    """The first has the name that its endpoints give it, the second one of its own."""
    first = train(Workload(Grid(dp=4, pp=2), seed=3))
    second = train(Workload(Grid(dp=8), gradient_bytes=64 * 2**20, forward_s=0.2, start_s=60.0, seed=4))
    second = replace(second, connection=second.connection + 1000)
    alone = analysed(flows([first], Feed(trains=True)), tmp_path).report.jobs[0].id
    told = analysed(flows([first, second], Feed(trains=True)), tmp_path)
    one, other = told.report.jobs
    assert one.endpoints == other.endpoints
    assert (one.id, other.id != alone) == (alone, True)
    assert told.timelines.jobs == (one.id, other.id)
    assert set(told.pairs) == {one.id, other.id}
