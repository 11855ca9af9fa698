"""Named scenarios of what switches export: one job, watched well, badly, and with every fault a feed may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from datamodel.errors import InputError
from simulate.export.feed_spec import POINTS, Clocks, ExporterFault, FeedSpec, Transport
from simulate.faults import Fault
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.scenario import Scenario
from simulate.scenarios.sweep import Cell, sweep

Maker = Callable[[ScenarioOptions], Scenario]
ITERATIONS, ONSET = 30, 14
_GROUP, _STAGES, _PERIOD_S = 16, 2, 2.0
_SFLOW = FeedSpec("sflow", 4096, counters_s=2.0)
_IPFIX = FeedSpec("ipfix")
_AGENTS_OFF = Clocks(offset_ms=200.0, drift_ppm=50.0)


def _made(feed: FeedSpec, *faults: Fault) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        gpus = options.gpus or _GROUP * _STAGES
        if gpus % _STAGES or gpus < 2 * _STAGES:
            raise InputError(f"--gpus {gpus}: this scenario takes multiples of {_STAGES} from {2 * _STAGES} up")
        cell = Cell(
            feed, group=gpus // _STAGES, stages=_STAGES, period_s=_PERIOD_S, iterations=options.times(ITERATIONS)
        )
        return sweep(cell, *faults)

    return make


SCENARIOS: dict[str, tuple[str, Maker]] = {
    "sflow": ("pp 2 dp 16 under 8 leaves that sample 1 in 4,096 packets, an iteration in 2 s", _made(_SFLOW)),
    "sflow-straggler": (
        "the same, one GPU 40 % slower from iteration 14",
        _made(_SFLOW, Fault("straggler", first=ONSET, rank=5, size=1.4)),
    ),
    "sflow-slow-nic": (
        "the same, one NIC at a fifth of its rate",
        _made(_SFLOW, Fault("slow_nic", first=ONSET, rank=5, size=5)),
    ),
    "sflow-slow-uplink": (
        "the same, one cable between leaf and spine at a twentieth",
        _made(replace(_SFLOW, points=POINTS), Fault("slow_uplink", first=ONSET, leaf=0, size=20)),
    ),
    "ipfix": ("the same job metered in IPFIX, every packet, timeouts of 1 s and 0.5 s", _made(_IPFIX)),
    "netflow9": ("the same in NetFlow v9, 1 packet in 1,000", _made(replace(_IPFIX, kind="netflow9", rate=1000))),
    "netflow5": ("the same in NetFlow v5, every packet", _made(replace(_IPFIX, kind="netflow5"))),
    "wrong-rate": (
        "as sflow, two leaves say 1 in 1,024",
        _made(replace(_SFLOW, ailment=ExporterFault(exported_rate=1024))),
    ),
    "clock-offset": (
        "as sflow with samples stamped by clocks that are up to 200 ms off and drift by 50 ppm",
        _made(replace(_SFLOW, stamped=True, clocks=_AGENTS_OFF)),
    ),
    "clock-offset-ipfix": ("as ipfix with such clocks", _made(replace(_IPFIX, clocks=_AGENTS_OFF))),
    "silent-exporter": (
        "as sflow, two leaves fall silent halfway",
        _made(replace(_SFLOW, ailment=ExporterFault(silent_from=0.5))),
    ),
    "exporter-restart": (
        "as sflow, two leaves restart halfway",
        _made(replace(_SFLOW, ailment=ExporterFault(restart_at=0.5))),
    ),
    "lost-datagrams": (
        "as sflow, 5 % of the datagrams lost, 5 % late and 1 % twice",
        _made(replace(_SFLOW, transport=Transport(lost_ratio=0.05, late_ratio=0.05, doubled_ratio=0.01))),
    ),
    "lost-templates": (
        "as ipfix, templates every 20 s and 20 % of the datagrams lost",
        _made(replace(_IPFIX, transport=Transport(lost_ratio=0.2))),
    ),
    "doubled-sightings": (
        "as sflow, every packet may be sampled at both leaves, at the spine and on its way out",
        _made(replace(_SFLOW, points=POINTS)),
    ),
    "late-batches": (
        "as sflow at 1 in 40,000, agents that wait for a second and a network that adds up to two",
        _made(replace(_SFLOW, rate=40_000, transport=Transport(late_ratio=0.2, late_ms=2000.0))),
    ),
}
