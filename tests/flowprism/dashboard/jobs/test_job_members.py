"""Who joined a job and who left it, by the layouts that scans kept."""

from __future__ import annotations

from datamodel.reports.layout import Groups, Layout
from datamodel.service.api_models import LayoutSince
from flowprism.dashboard.jobs.job_members import MembershipInterval, members
from flowprism.rendering.names import EndpointName, Names


def _since(since_ns: int, *hosts: str) -> LayoutSince:
    """Hosts of two endpoints, each a pipeline; the endpoints of a stage are a dp group."""
    chains = tuple((f"{host}-0", f"{host}-1") for host in hosts)
    return LayoutSince(
        since_ns=since_ns, layout=Layout(), groups=Groups(pp=chains, dp=tuple(zip(*chains, strict=True)))
    )


NAMES = Names({f"{host}-{gpu}": EndpointName(host, str(gpu), ()) for host in "abcdef" for gpu in (0, 1)})


def test_a_replaced_host_is_one_row_that_names_its_heir() -> None:
    """The new host stands beside the same others; both rows are told, the oldest layout last in the list given."""
    found = members([_since(20, "a", "b", "d"), _since(10, "a", "b", "c")], NAMES)
    assert (found.since_ns, found.with_groups, found.without_groups, found.always) == (10, 2, 0, 4)
    assert found.stays == (
        MembershipInterval("c", ("c-0", "c-1"), None, 20, ("d",)),
        MembershipInterval("d", ("d-0", "d-1"), 20, None, ()),
    )


def test_a_job_that_grows_replaces_nobody() -> None:
    """And one that comes back has two stays."""
    found = members([_since(30, "a", "b", "c"), _since(20, "a", "b"), _since(10, "a", "b", "c")], NAMES)
    assert found.always == 4
    assert [(one.name, one.from_ns, one.until_ns, one.replaced_by) for one in found.stays] == [
        ("c", 30, None, ()),
        ("c", None, 20, ()),
    ]


def test_of_two_that_left_their_own_places_are_told_apart() -> None:
    """Stages differ, so each endpoint has one heir, though no host is known."""
    old, new = Groups(dp=(("a", "b", "c"), ("x", "y", "z"))), Groups(dp=(("a", "b", "d"), ("w", "x", "y")))
    layouts = [LayoutSince(since_ns=n, layout=Layout(), groups=g) for n, g in ((9, new), (4, old))]
    found = members(layouts, Names())
    assert {one.name: one.replaced_by for one in found.stays if one.until_ns} == {"c": ("d",), "z": ("w",)}


def test_layouts_that_name_nobody_are_counted_not_guessed() -> None:
    """No endpoint left because a scan found no groups."""
    blank = LayoutSince(since_ns=15, layout=Layout(), groups=Groups())
    found = members([_since(20, "a", "b"), blank, _since(10, "a", "b")], NAMES)
    assert (found.with_groups, found.without_groups, found.always, found.stays) == (2, 1, 4, ())
    assert members([blank], NAMES).since_ns is None
