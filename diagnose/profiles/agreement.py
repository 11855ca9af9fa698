"""Whether profiles and flows say the same: a verdict next to the findings of the network's report."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from datamodel.reports.findings import Finding
from datamodel.telemetry.profiles import ProfileVerdict

_NETWORK = {"slow_link", "slow_uplink", "contention"}
_RANK = {"straggler", "imbalance", "regression", "hang"}


def describe_agreement(verdict: ProfileVerdict, places: Collection[str], findings: Sequence[Finding]) -> str:
    """One sentence that compares a verdict with the findings of its job.

    Args:
        verdict: of profiles.
        places: endpoints and hosts of its ranks; none: they are not known, and kinds alone are compared.
        findings: of the report, those about the telemetry left out by kind.
    """
    alike = _NETWORK if verdict.cause == "network" else _RANK
    about = [one for one in findings if one.kind in _NETWORK | _RANK]
    same = [one for one in about if one.kind in alike and _meets(one, places)]
    if same:
        return f"the flows agree: {same[0].summary}"
    if about:
        return f"the flows disagree: {about[0].summary}"
    return "the flows show nothing of it"


def _meets(finding: Finding, places: Collection[str]) -> bool:
    named = {*finding.subject.ids, *(one for suspect in finding.suspects for one in suspect.ids)}
    return not places or finding.subject.type == "job" or not named.isdisjoint(places)
