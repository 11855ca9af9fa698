"""Made hosts as sFlow agents on them, and on their switches, export them: datagrams, decoded into a lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from capture.sflow.sflow_decoder import SflowDecoder
from capture.tables.address_book import AddressBook
from datamodel.cluster.inventory import Endpoint, Host, Inventory, Switch
from datamodel.frame import concat
from datamodel.telemetry.counters import COUNTERS
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.capture.sflow.wire import DEVICE, batch, counters, datagram, host_cpu, nvidia_gpu, tagged, words
from tests.diagnose.host_metrics.made_hosts import POWER_USAGE, Case

EVERY_S, STEP_S = 30, 10
LEAF = "10.255.1.1"
Sent = tuple[int, bytes]  # when, UTC, and a datagram


def inventory_of(cases: Iterable[Case]) -> Inventory:
    """Two NICs a host; agents of odd hosts have an address of their own, those of even ones that of a NIC."""
    numbers, hosts = count(), []
    for case in cases:
        for name in case.hosts:
            n = next(numbers)
            nics = tuple(
                Endpoint(address=f"10.{nic}.{n // 250}.{n % 250 + 1}", switch="leaf1", port=2 * n + nic + 1)
                for nic in range(2)
            )
            agent = f"10.9.{n // 250}.{n % 250 + 1}" if n % 2 else None
            hosts.append(Host(name=name, endpoints=nics, agent=agent))
    return Inventory(hosts=tuple(hosts), switches=(Switch(name="leaf1", agent=LEAF),))


def agent_of(host: Host) -> str:
    """The address that a host's agent uses."""
    return host.agent or host.endpoints[0].all_addresses[0]


def exported(case: Case, hosts: dict[str, Host], by_switch: bool) -> Iterator[Sent]:
    """What the agents of a case's hosts send; errors of NICs are counted by the hosts, or by the switch's ports."""
    for at, name in enumerate(case.hosts):
        host = hosts[name]
        for n in range(at, len(case.times_s), EVERY_S // STEP_S):
            at_ns = int(case.times_s[n]) * 10**9
            yield at_ns, datagram(_gpus(case, n, at), agent=agent_of(host), sequence=n + 1, uptime_ms=n * 10_000)
            errors = case.truth["node_infiniband_port_errors_received_total"][n, at]
            for nic, endpoint in enumerate(host.endpoints):
                agent, index = (LEAF, endpoint.port or 0) if by_switch else (agent_of(host), nic + 1)
                sample = counters(interface_with(index, int(errors[nic])), source=index)
                yield at_ns, datagram(sample, agent=agent, sub_agent=index, sequence=n + 1, uptime_ms=n * 10_000)


def _gpus(case: Case, n: int, host: int) -> bytes:
    """NVML's counters as host-sflow sums them: energy modulo 2^32 mJ, double-bit errors, GPUs that answer."""
    joules = case.truth[POWER_USAGE][: n + 1, host].sum() * STEP_S
    codes = case.truth["DCGM_FI_DEV_XID_ERRORS"][n, host]
    temperature_c = case.truth["DCGM_FI_DEV_GPU_TEMP"][n, host].max()
    gpu = nvidia_gpu(
        count=len(codes) - int((codes == 79).sum()), ecc=3 * int((codes == 48).sum()),  # off the bus; double-bit error
        energy_mj=int(joules * 1e3) % 2**32, temperature_c=int(temperature_c),
    )  # fmt: skip
    return counters(host_cpu(), gpu, source=DEVICE)


def interface_with(index: int, errors: int) -> bytes:
    """Generic interface counters with some receive errors."""
    received = words(index, 6, 0, 0, 1, 3, 0, 1000) + words(1, 2, 3, 0, errors, 0)
    return tagged(1, received + words(0, 1000, 1, 2, 3, 0, 0, 0))


def stored(folder: Path, sent: Iterable[Sent]) -> Path:
    """A lake with what datagrams hold."""
    book, ordered = AddressBook(), sorted(sent)
    decoder = SflowDecoder(book, SamplingRates())
    list(decoder.feed(batch([payload for _, payload in ordered], [at_ns for at_ns, _ in ordered])))
    make_folders(folder)
    frames = (concat(COUNTERS, decoder.take_counters()),)
    LakeWriter(folder, Writer("20260101T000000000000Z", 0), 1).commit(
        CommitBatch(len(ordered), frames, tuple(str(text) for text in book.texts()), b"")
    )
    return folder


def shown_by_counters(case: Case) -> str | None:
    """The cause of a case that these counters can show."""
    codes = np.unique(case.truth["DCGM_FI_DEV_XID_ERRORS"][-1, 0])
    if case.cause == "gpu_error":
        return case.cause if np.isin(codes, [48, 79]).any() else None
    if case.cause == "nic_errors":
        return case.cause if np.ptp(case.truth["node_infiniband_port_errors_received_total"][:, 0]) > 100 else None
    return case.cause if case.cause == "thermal" else None
