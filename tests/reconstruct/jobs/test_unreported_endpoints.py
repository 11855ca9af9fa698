"""Endpoints behind switches that export nothing belong to the jobs of their hosts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory, Switch
from reconstruct.jobs.job_recognition import Job, JobOptions, find_jobs
from reconstruct.jobs.unreported_endpoints import Unreported, add_unreported, find_unreported
from reconstruct.streams.stream_builder import build_streams
from tests.workloads.feed import Feed, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Workload, train

NONE: frozenset[str] = frozenset()


def inventory(gpus: bool = True) -> Inventory:
    """Two hosts of two rails, and a store; each rail behind a switch of its own."""
    hosts = [
        Host(
            name=f"host{h}",
            endpoints=tuple(
                Endpoint(address=f"10.0.{h}.{r}", switch=f"leaf{r}", gpu=r if gpus else None) for r in (1, 2)
            ),
        )
        for h in (0, 1)
    ]
    store = Host(name="store", endpoints=(Endpoint(address="10.0.9.1", switch="leaf9"),))
    switches = (Switch(name="leaf1", agent="10.9.0.1"), Switch(name="leaf2", agent="10.9.0.2"))
    return Inventory(hosts=(*hosts, store), switches=switches)


def test_ranks_behind_a_silent_switch_are_unreported() -> None:
    """What has no GPU is no rank; a switch that one endpoint is seen to send by is reported."""
    found = find_unreported(inventory(), frozenset({"10.0.0.1"}), NONE)
    assert found.addresses == ("10.0.0.2", "10.0.1.2")
    assert found.ranks == {"10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"}


def test_nothing_is_unreported_without_a_silent_switch() -> None:
    """Nor without an inventory, GPUs, or any traffic."""
    everyone = frozenset({"10.0.0.1", "10.0.1.2"})
    for known, senders in ((inventory(), everyone), (None, everyone), (inventory(gpus=False), frozenset({"10.0.0.1"}))):
        assert find_unreported(known, senders, NONE) == Unreported()
    assert find_unreported(inventory(), NONE, NONE) == Unreported()


def test_a_switch_that_exports_has_nothing_to_report() -> None:
    """Records of other traffic came from it: its NICs are idle."""
    assert find_unreported(inventory(), frozenset({"10.0.0.1"}), frozenset({"10.9.0.2"})) == Unreported()


def test_a_job_takes_the_unreported_endpoints_of_hosts_that_are_its_own() -> None:
    """Not those of a host on which something reported is in no job, or which has nothing unreported."""
    streams = build_streams(flows([train(Workload(Grid(tp=1, dp=4), gpus=1))], Feed()))
    (job,) = find_jobs(streams, frozenset(), JobOptions()).jobs
    first, second, third, fourth = job.endpoints.tolist()
    unreported = np.array([*np.zeros(len(streams.addresses), np.bool_), True, True, True])
    dark = len(streams.addresses)
    hosts: list[str | None] = ["elsewhere"] * len(unreported)
    for code, host in ((first, "a"), (dark, "a"), (second, "b"), (third, "c"), (fourth, "c"), (dark + 1, "idle")):
        hosts[code] = host

    def endpoints(jobs: tuple[Job, ...]) -> list[int]:
        return [int(e) for e in jobs[0].endpoints]

    assert endpoints(add_unreported(streams, (job,), unreported, hosts)) == [*job.endpoints.tolist(), dark]
    hosts[dark + 2] = "c"
    assert endpoints(add_unreported(streams, (job,), unreported, hosts)) == [*job.endpoints.tolist(), dark, dark + 2]
    assert add_unreported(streams, (job,), unreported, None) == (job,)


def test_a_job_takes_the_unreported_endpoints_that_it_sends_to() -> None:
    """Every fourth rank's switch is silent: it is sent data, or where its own may go. What one job alone sends to."""
    streams = build_streams(flows([train(Workload(Grid(tp=1, dp=8), gpus=1))], Feed()))
    (job,) = find_jobs(streams, frozenset(), JobOptions()).jobs
    dark = job.endpoints[::4]
    unreported = np.zeros(len(streams.addresses), np.bool_)
    unreported[dark] = True
    hosts = [f"host{code}" for code in range(len(unreported))]
    known = replace(job, endpoints=np.setdiff1d(job.endpoints, dark))
    (found,) = add_unreported(streams, (known,), unreported, hosts)
    assert found.endpoints.tolist() == job.endpoints.tolist()
    assert add_unreported(streams, (known, known), unreported, hosts) == (known, known)
    seldom = replace(known, edges=np.arange(1000 * len(job.edges)))
    assert add_unreported(streams, (seldom,), unreported, hosts) == (seldom,)


def test_hosts_whose_unreported_endpoints_two_jobs_send_to_are_left_to_neither() -> None:
    """Each job has what it sends to, not what the other does, nor what may train with either."""
    streams = build_streams(flows([train(Workload(Grid(tp=1, dp=8), gpus=1))], Feed()))
    (job,) = find_jobs(streams, frozenset(), JobOptions()).jobs
    first, second = (replace(job, endpoints=job.endpoints[part]) for part in (slice(3), slice(4, 7)))
    unreported = np.zeros(len(streams.addresses) + 1, np.bool_)
    dark = [*job.endpoints[3::4].tolist(), len(streams.addresses)]
    unreported[dark] = True
    hosts = ["dark" if code in dark else f"host{code}" for code in range(len(unreported))]
    found = add_unreported(streams, (first, second), unreported, hosts)
    assert [one.endpoints.tolist() for one in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]
