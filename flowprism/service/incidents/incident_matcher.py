"""Which finding of a scan is which known incident."""

from __future__ import annotations

from collections.abc import Sequence

from datamodel.reports.findings import Finding, Subject, Suspect
from datamodel.service.incidents import Incident


def match_findings(incidents: Sequence[Incident], findings: Sequence[Finding]) -> dict[int, int]:
    """Index of a finding -> index of the incident that it is, one to one.

    Both must be of one job and one kind. Then the more their subjects are alike the better: the same thing; one that
    the other's suspects name; one that holds the other; sets with half in common. A scan may know the fault's
    place better or worse than the one before it; but parallel cables of one pair of switches, known by their ports,
    are two things. Equally good pairs go by start, the nearest first, then by id.
    """
    pairs = []
    for f, finding in enumerate(findings):
        for i, incident in enumerate(incidents):
            if (finding.job, finding.kind) != (incident.job, incident.kind):
                continue
            alike = _likeness(finding, incident)
            if alike:
                pairs.append((-alike, abs(finding.start_ns - incident.start_ns), incident.id, finding.id, f, i))
    taken: dict[int, int] = {}
    for *_, f, i in sorted(pairs):
        if f not in taken and i not in taken.values():
            taken[f] = i
    return taken


def _likeness(finding: Finding, incident: Incident) -> int:
    """How much alike two subjects are, 4 for the same down to 0 for nothing in common."""
    if _names(finding.subject) == _names(incident.subject):
        return 0 if _are_parallel(finding.subject, incident.subject) else 4
    if _suspected(incident.subject, finding.suspects) or _suspected(finding.subject, incident.suspects):
        return 3
    mine, theirs = set(finding.subject.ids), set(incident.subject.ids)
    if mine <= theirs or theirs <= mine:
        return 2
    return int(2 * len(mine & theirs) >= len(mine | theirs))


def _names(subject: Subject | Suspect) -> tuple[str, frozenset[str]]:
    return subject.type, frozenset(subject.ids)


def _are_parallel(one: Subject, other: Subject) -> bool:
    """Whether two subjects of the same ends are known to be two cables."""
    known = [subject.ends for subject in (one, other) if None not in (subject.a_port, subject.b_port)]
    return len(set(known)) == 2


def _suspected(subject: Subject, suspects: Sequence[Suspect]) -> bool:
    return any(_names(subject) == _names(suspect) for suspect in suspects)
