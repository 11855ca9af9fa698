"""Exact records as the leaf of each sender tells them, by clocks that are off and drift."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.telemetry.flows import Flows, recode
from datamodel.telemetry.ingest_result import IngestResult
from simulate.case import Case, simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario


@dataclass(frozen=True, slots=True)
class Skewed:
    """A case whose records carry exporters and their clocks' times.

    Attributes:
        case: as it was.
        reading: the records.
        offset_ns, drift_ppm: of each exporter's address.
        begin_ns: since when they drift.
    """

    case: Case
    reading: IngestResult
    offset_ns: dict[str, float]
    drift_ppm: dict[str, float]
    begin_ns: int

    def true_ns(self, agent: str, when_ns: float) -> float:
        """How far an exporter's clock is really ahead."""
        return self.offset_ns[agent] + self.drift_ppm[agent] * 1e-6 * (when_ns - self.begin_ns)


def skewed(name: str, iterations: int, offset_ms: float = 200.0, drift_ppm: float = 50.0) -> Skewed:
    """A simulated scenario, seen by leaves whose clocks are off by up to so much and drift by up to so much."""
    case = simulate_case(scenario(name, ScenarioOptions(iterations=iterations)), 1)
    flows = case.readings["flows"].flows
    agent = {s.name: str(s.agent) for s in case.inventory.switches}
    endpoints = [e for host in case.inventory.hosts for e in host.endpoints]
    own = {str(a): agent[e.attachments[0].switch] for e in endpoints for a in e.all_addresses}
    agents = sorted(set(own.values()))
    random = np.random.default_rng(5)
    offset, drift = random.uniform(-1, 1, len(agents)) * offset_ms * 1e6, random.uniform(-1, 1, len(agents)) * drift_ppm
    of = np.array([agents.index(own[a]) for a in flows.addresses])[flows.frame["src_addr"]]
    start, end = flows.frame["time_flow_start_ns"], flows.frame["time_flow_end_ns"]
    begin = int(start.min())
    ahead = (offset[of] + drift[of] * 1e-6 * (start - begin)).astype(np.int64)
    frame = flows.frame.replace(
        sampler_address=(len(flows.addresses) + of).astype(np.int32),
        time_flow_start_ns=start + ahead,
        time_flow_end_ns=end + ahead,
    )
    named: Flows = recode(frame, (*flows.addresses, *agents))
    told, ppm = (dict(zip(agents, values.tolist(), strict=True)) for values in (offset, drift))
    return Skewed(case, replace(case.readings["flows"], flows=named), told, ppm, begin)
