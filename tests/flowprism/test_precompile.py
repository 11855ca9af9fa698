"""What is compiled beforehand is what is used."""

from __future__ import annotations

from flowprism.precompile import analyse_samples


def test_samples_that_are_analysed_go_all_the_way() -> None:
    """From datagrams to a job, its layout and a finding: no stage is left to be compiled at the first window."""
    report = analyse_samples()
    (job,) = report.jobs
    assert (job.layout.dp, len(job.iterations)) == (8, 20)
    assert [finding.kind for finding in report.findings] == ["straggler"]
