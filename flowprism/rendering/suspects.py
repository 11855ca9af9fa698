"""Which of a job's endpoints a finding points at, so that pictures can mark them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.reports.findings import Finding, Subject, Suspect
from datamodel.reports.report import JobReport
from datamodel.service.incidents import Incident
from flowprism.rendering.names import Names


def suspect_addresses(job: JobReport, findings: Sequence[Finding], names: Names) -> frozenset[str]:
    """Endpoints of `job` that its findings name, by address or by host; none for a finding about the whole job."""
    return frozenset(pointed_at([f for f in findings if f.job == job.id], names).intersection(job.endpoints))


def pointed_at(said: Iterable[Finding | Incident], names: Names) -> frozenset[str]:
    """Endpoints that findings or incidents name, by address or by host, as what is wrong or as what may be."""
    pointed: set[str] = set()
    for one in said:
        pointed |= _named(one.subject, names)
        pointed.update(*(_named(suspect, names) for suspect in one.suspects))
    return frozenset(pointed)


def slowest(incidents: Iterable[Incident]) -> Incident | None:
    """The incident that slows its job most; None of none."""
    return max(incidents, key=lambda one: (one.slowdown_ratio, one.id), default=None)


def _named(subject: Subject | Suspect, names: Names) -> set[str]:
    if subject.type == "host":
        return {address for host in subject.ids for address in names.on_host(host)}
    return set() if subject.type in {"job", "switch"} else set(subject.ids)


def behind_uplink(finding: Finding, names: Names) -> frozenset[str]:
    """Endpoints on the leaf that a link between switches, or a switch, belongs to; empty where none is known."""
    return frozenset(address for switch in finding.subject.ids for address in names.on_switch(switch))
