"""The order of endpoints: by stage, replica and address, and the same for every picture."""

from __future__ import annotations

from flowprism.rendering.endpoint_order import positions
from tests.flowprism import sample


def test_order_is_stage_then_replica_then_address() -> None:
    """Both GPUs of one replica stand together within their stage."""
    job = sample.analysis(iterations=2, slow=False).report.jobs[0]
    placed = positions(job)
    assert [p.number for p in placed] == list(range(1, 17))
    assert [p.address for p in placed[:4]] == ["10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.2.2"]
    assert {p.stage for p in placed[:8]} == {0}
    assert {p.stage for p in placed[8:]} == {1}


def test_a_replica_is_what_pp_and_tp_join() -> None:
    """Two stages of two GPUs each make one copy of the model."""
    job = sample.analysis(iterations=2, slow=False).report.jobs[0]
    second = {p.address for p in positions(job) if p.replica == 1}
    assert second == {"10.1.2.1", "10.1.2.2", "10.3.2.1", "10.3.2.2"}
    assert positions(job)[2].groups == ("dp 1", "pp 3", "tp 2")


def test_without_chains_every_endpoint_is_a_replica() -> None:
    """A purely data-parallel job has no stages."""
    job = sample.analysis(iterations=2, slow=False).report.jobs[1]
    assert [p.replica for p in positions(job)] == list(range(8))
    assert {p.stage for p in positions(job)} == {None}


def test_addresses_are_ordered_as_numbers() -> None:
    """10.0.0.9 stands before 10.0.0.10, IPv4 before IPv6, names last."""
    job = sample.analysis(iterations=2, slow=False).report.jobs[1]
    shuffled = ("nic7", "fd00::1", "10.0.0.10", "10.0.0.9")
    ordered = positions(job.model_copy(update={"endpoints": shuffled}))
    assert [p.address for p in ordered] == ["10.0.0.9", "10.0.0.10", "fd00::1", "nic7"]
