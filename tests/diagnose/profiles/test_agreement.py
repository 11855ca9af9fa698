"""A verdict of profiles next to the findings of the network."""

import pytest

from datamodel.reports.findings import Finding, FindingKind, Subject
from datamodel.telemetry.profiles import ProfileCause, ProfileVerdict
from diagnose.profiles.agreement import describe_agreement


def finding(kind: FindingKind, *ids: str) -> Finding:
    """A finding about some endpoints."""
    return Finding(
        id="f", job="j", kind=kind, severity="warning", start_ns=1, end_ns=None, confidence=0.9, slowdown_ratio=1.2,
        subject=Subject(type="endpoint", ids=ids), summary=f"{kind} at {', '.join(ids)}", action="",
    )  # fmt: skip


def verdict(cause: ProfileCause) -> ProfileVerdict:
    """A verdict about rank 3."""
    return ProfileVerdict(cause=cause, what="", ranks=(3,), factor=1.2, excess_s=0.1, share=1.0, summary="")


@pytest.mark.parametrize(
    ("cause", "kind", "where", "begin"),
    [
        ("clocks", "straggler", "10.0.0.3", "the flows agree: straggler at 10.0.0.3"),
        ("clocks", "straggler", "10.0.0.4", "the flows disagree: straggler at 10.0.0.4"),
        ("clocks", "slow_link", "10.0.0.3", "the flows disagree: slow_link at 10.0.0.3"),
        ("network", "slow_link", "10.0.0.3", "the flows agree: slow_link at 10.0.0.3"),
        ("network", "straggler", "10.0.0.3", "the flows disagree: straggler at 10.0.0.3"),
        ("network", "feed", "10.0.0.3", "the flows show nothing of it"),
    ],
)
def test_kind_and_place_must_agree(cause: ProfileCause, kind: FindingKind, where: str, begin: str) -> None:
    """A network verdict asks for a finding of the network, others for one of a rank, at the same place."""
    assert describe_agreement(verdict(cause), {"10.0.0.3", "s3"}, [finding(kind, where)]) == begin


def test_kinds_alone_are_compared_where_places_are_unknown() -> None:
    """Hosts that no inventory names."""
    assert describe_agreement(verdict("clocks"), (), [finding("straggler", "10.0.0.4")]).startswith("the flows agree")
