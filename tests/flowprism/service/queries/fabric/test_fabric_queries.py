"""What is answered about the fabric, the feeds and the inventory."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.cluster.inventory import Inventory
from datamodel.errors import PermissionDeniedError
from datamodel.service.filters import EventFilter
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.queries.fabric.fabric_queries import fabric
from flowprism.service.queries.feeds.feed_queries import components, feeds
from flowprism.service.queries.inventory import inventory, replace_inventory
from flowprism.service.queries.jobs.events import after_event, events
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics
from tests.flowprism.service.stored import MINUTE_NS, TENANT, demo_analysis, demo_inventory
from tests.storage.database import results

ALL = Viewer("ann", "admin", None)
OWN = Viewer("bob", "viewer", TENANT)
OTHER = Viewer("eve", "operator", "search")
NOW_NS = 2_000_000_000 * 10**9


def test_the_fabric_with_its_loads(demo: Stores) -> None:
    """Every switch, host, endpoint and cable; loads are what pairs moved, shared evenly between spines."""
    view, drawn = fabric(demo, ALL, NOW_NS), demo_inventory()
    roles = [node.role for node in view.nodes]
    assert (roles.count("endpoint"), roles.count("host")) == (16, 8)
    assert {node.id for node in view.nodes if node.role in {"leaf", "spine"}} == {one.name for one in drawn.switches}
    assert all(node.jobs == (demo_analysis().report.jobs[0].id,) for node in view.nodes if node.role == "endpoint")
    window = demo_analysis().report.window
    seconds = (window.end_ns - window.start_ns) / 1e9
    pairs = demo_analysis().pairs[demo_analysis().report.jobs[0].id]
    addresses = demo_analysis().timelines.addresses
    for link in view.links:
        if link.b in addresses and link.speed_bps:
            code = addresses.index(link.b)
            moved = max(int(pairs["bytes"][pairs[end] == code].sum()) for end in ("src", "dst"))
            assert link.load_ratio == pytest.approx(moved * 8 / seconds / link.speed_bps)
    uplinks = [link for link in view.links if link.b not in addresses]
    assert len(uplinks) == len(drawn.links)


def test_suspected_cables_are_named(demo: Stores) -> None:
    """A cable that an open incident is about bears its probability and its id; subjects of all are listed."""
    findings = demo_analysis().report.findings
    view = fabric(demo, ALL, NOW_NS)
    about = {frozenset(one.subject.ids) for one in findings if one.subject.type == "link"}
    about |= {frozenset(s.ids) for one in findings for s in one.suspects if s.type == "link"}
    marked = {frozenset((link.a, link.b)) for link in view.links if link.suspicion > 0}
    assert marked == about
    assert len(view.subjects) == len(findings)


def test_a_tenant_sees_what_it_touches(demo: Stores) -> None:
    """All of it where all hosts are its own; nothing where none is."""
    assert len(fabric(demo, OWN, NOW_NS).links) == len(fabric(demo, ALL, NOW_NS).links)
    assert fabric(demo, OTHER, NOW_NS).nodes == ()
    assert fabric(demo, OTHER, NOW_NS).links == ()
    assert fabric(demo, OTHER, NOW_NS).subjects == ()


def test_without_an_inventory_there_is_no_fabric(many: Stores) -> None:
    """Nothing is drawn that nobody told."""
    assert fabric(many, ALL, NOW_NS).nodes == ()


def test_feeds_by_exporter(demo: Stores) -> None:
    """What each sent and lost."""
    now_ns = demo_analysis().report.window.start_ns + MINUTE_NS
    (first, second) = feeds(demo, now_ns)
    assert (first.exporter, first.records, first.lost, first.silent) == ("192.168.250.11:0", 900, 0, False)
    assert (second.records, second.lost, second.trend[-1]) == (800, 3, 800)
    assert components(demo) == []


def test_exporter_without_data_for_two_intervals_is_silent(tmp_path: Path) -> None:
    """By the clock, whatever others send; two minutes are never too long, and twice its own mean interval is not."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    assert feeds(Stores(database), NOW_NS) == []
    rows = [FeedStatistics("a", n * MINUTE_NS, MINUTE_NS, 1, 10 + n, rejected={"short": 1}) for n in (58, 60, 61)]
    save_feed_statistics(database, [*rows, FeedStatistics("b", 60 * MINUTE_NS, MINUTE_NS, 1, 5)])
    (one, other) = feeds(Stores(database), 62 * MINUTE_NS)
    assert (one.silent, one.rejected, one.trend[-4:]) == (False, {"short": 3}, (68, 0, 70, 71))
    assert (other.silent, other.newest_ns, other.trend[-2:]) == (False, 61 * MINUTE_NS, (5, 0))
    assert [row.silent for row in feeds(Stores(database), 63 * MINUTE_NS + 1)] == [False, True]
    assert [row.silent for row in feeds(Stores(database), 65 * MINUTE_NS)] == [False, True]
    assert [row.silent for row in feeds(Stores(database), 65 * MINUTE_NS + 1)] == [True, True]
    assert [row.newest_ns for row in feeds(Stores(database), 61 * MINUTE_NS + 5)] == [
        61 * MINUTE_NS + 5,
        61 * MINUTE_NS,
    ]


def test_exporter_silent_for_hours_stays_in_the_list(tmp_path: Path) -> None:
    """A dead exporter does not vanish from the page because others go on."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    rows = [FeedStatistics("a", 0, MINUTE_NS, 1, 7), FeedStatistics("b", 200 * MINUTE_NS, MINUTE_NS, 1, 5)]
    save_feed_statistics(database, rows)
    (dead, alive) = feeds(Stores(database), 201 * MINUTE_NS)
    assert (dead.exporter, dead.silent, dead.newest_ns, dead.records) == ("a", True, MINUTE_NS, 0)
    assert (alive.silent, alive.records) == (False, 5)
    database.close()


def test_events_of_ones_own_jobs(demo: Stores) -> None:
    """The newest first, in pages; none of another tenant's."""
    told = events(demo, OWN)
    assert any(event.kind == "start" for event in told)
    assert events(demo, OWN, after=after_event(told[0])) == told[1:]
    assert events(demo, OTHER) == []
    assert events(demo, OWN, EventFilter(kinds=("restart",))) == []


def test_the_inventory_is_for_those_who_see_all(own_demo: Stores) -> None:
    """To read, and for an admin to replace."""
    assert inventory(own_demo, ALL) == demo_inventory()
    for act in (
        lambda: inventory(own_demo, OWN),
        lambda: replace_inventory(own_demo, OWN, NOW_NS, Inventory()),
        lambda: replace_inventory(own_demo, Viewer("oli", "operator", None), NOW_NS, Inventory()),
    ):
        with pytest.raises(PermissionDeniedError):
            act()
    assert replace_inventory(own_demo, ALL, NOW_NS, results.inventory("s1"))
    assert not replace_inventory(own_demo, ALL, NOW_NS + 1, results.inventory("s1"))
    assert inventory(own_demo, ALL) == results.inventory("s1")
