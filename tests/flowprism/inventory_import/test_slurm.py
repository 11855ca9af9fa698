"""Slurm's listings."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from datamodel.errors import InputError
from flowprism.inventory_import import slurm
from flowprism.inventory_import.hostlists import names_of
from tests.flowprism.inventory_import.listings import SLURM_TEXT, slurm_job

START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu01", ["gpu01"]),
        ("gpu[01-03,07],login1", ["gpu01", "gpu02", "gpu03", "gpu07", "login1"]),
        ("r[1-2]n[09-10]-ib", ["r1n09-ib", "r1n10-ib", "r2n09-ib", "r2n10-ib"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("", []),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    """Ranges keep their leading zeros; several brackets are all combinations."""
    assert list(names_of(text)) == names


@pytest.mark.parametrize("text", ["gpu[01", "gpu]", "gpu[a-b]", "n[1-999999999]", "n[1-9999]m[1-9999]", "gpu[[1]]"])
def test_what_is_no_host_list(text: str) -> None:
    """Refused before it fills the memory."""
    with pytest.raises(InputError):
        names_of(text)


def test_json_of_several_versions() -> None:
    """Numbers, states and nodes stand in several ways."""
    jobs = [
        slurm_job(1, "a", "gpu[01-02]", start_time={"set": True, "infinite": False, "number": 1767225600}),
        slurm_job(2, "b", "gpu03", state="RUNNING", start_time=1767225600),
        slurm_job(3, "c", None, job_resources={"nodes": {"count": 1, "list": "gpu04"}}),
        slurm_job(4, "d", "", job_resources={"nodes": "gpu05"}, start_time={"set": False, "number": 0}),
        slurm_job(5, "e", "", state=("PENDING",)),
        slurm_job(6, "f", "gpu06", state=("CANCELLED", "COMPLETING")),
        slurm_job(7, "g", "", job_resources={"allocated_nodes": None}),
    ]
    found = slurm.from_json({"jobs": jobs, "meta": {}})
    assert found.jobs is not None
    assert [(job.name, job.nodes, job.start) for job in found.jobs] == [
        ("a", ("gpu01", "gpu02"), START),
        ("b", ("gpu03",), START),
        ("c", ("gpu04",), None),
        ("d", ("gpu05",), None),
        ("f", ("gpu06",), None),
    ]
    assert {job.tenant for job in found.jobs} == {"vision"}
    assert found.left_out == {slurm.NOT_RUNNING: 1, slurm.NO_NODES: 1}


def test_a_time_limit_is_the_planned_end() -> None:
    """Of any version; without a limit Slurm writes an end that is a year off, which is none."""
    end = {"set": True, "infinite": False, "number": 1767830400}
    jobs = [
        slurm_job(1, "a", "gpu01", end_time=end, time_limit={"set": True, "infinite": False, "number": 10080}),
        slurm_job(2, "b", "gpu02", end_time=1767830400, time_limit=10080),
        slurm_job(3, "c", "gpu03", end_time=end, time_limit={"set": False, "infinite": True, "number": 0}),
        slurm_job(4, "d", "gpu04", end_time=1767830400, time_limit=4294967295),
        slurm_job(5, "e", "gpu05"),
    ]
    found = slurm.from_json({"jobs": jobs}).jobs
    assert found is not None
    assert [job.end for job in found] == [END, END, None, None, None]


@pytest.mark.parametrize("one_line", [False, True])
def test_text(one_line: bool) -> None:
    """Names with spaces, other node lists beside the right one; a line for each job with `--oneliner`."""
    text = SLURM_TEXT.replace("\n   ", " ").replace("\n\n", "\n") if one_line else SLURM_TEXT
    found = slurm.from_text(text)
    assert found.jobs is not None
    (job,) = found.jobs
    assert (job.name, job.id, job.tenant) == ("pretrain 70b, take 2", "4242", "vision")
    assert job.nodes == ("gpu01", "gpu02")
    assert (job.start, job.end) == (START, END)
    assert found.left_out == {slurm.NOT_RUNNING: 1}


def test_local_times_are_left_out() -> None:
    """A time without its zone could be hours off."""
    found = slurm.from_text(SLURM_TEXT.replace("StartTime=1767225600", "StartTime=2026-01-01T01:00:00"))
    assert found.jobs is not None
    assert found.jobs[0].start is None
    assert found.left_out[slurm.NO_ZONE] == 1


def test_nodes_that_cannot_be_read() -> None:
    """Name the job."""
    with pytest.raises(InputError, match=r"job 1: host list"):
        slurm.from_json({"jobs": [slurm_job(1, "a", "gpu[x]")]})


@pytest.mark.parametrize("end", ["²", "9" * 15])
def test_what_is_no_time_is_no_end(end: str) -> None:
    """An edited listing still names the job."""
    found = slurm.from_text(f"JobId=7 JobName=a\n   JobState=RUNNING EndTime={end} NodeList=n1\n").jobs or []
    assert [(job.name, job.end) for job in found] == [("a", None)]
