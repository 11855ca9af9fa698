"""The advice on an incident: who may evict what, by which history, with which idle host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from datamodel.cluster.inventory import Host, Inventory, JobLabel, Link, StageRole
from datamodel.errors import StorageError
from datamodel.reports.findings import Event, Membership, Subject
from datamodel.reports.path_plan import FollowedPlan, JobPathsState, PathPlan, PlannedConnection, PlanOutcome, Port
from datamodel.reports.report import Window
from datamodel.service.incidents import Incident
from flowprism.service.config.settings import Settings, StoreSettings
from flowprism.service.queries.incidents.eviction import _only, eviction_advice
from flowprism.service.queries.incidents.incident_queries import incident
from flowprism.service.queries.incidents.standby_traffic import carried
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import upsert
from storage.database.feed_statistics import inventory, save_inventory
from storage.database.incidents.incident_records import incident_rows, incidents
from storage.database.scans.path_plans import write_path_plans
from storage.database.scans.scan_records import jobs, layouts
from storage.database.tables import EVENTS, INCIDENTS, JOBS

EVERYBODY = Viewer("ann", "viewer", None)
S = 10**9


def open_incident(stores: Stores) -> Incident:
    """That of the bundled capture."""
    (found, *_) = (one for one in incidents(stores.database) if one.kind in {"slow_link", "straggler"})
    return found


def test_an_idle_host_is_named_and_published_figures_stand_in(own_demo: Stores) -> None:
    """Without history; a tenant's viewer does not learn of hosts of others."""
    found = open_incident(own_demo)
    known = inventory(own_demo.database)
    assert known is not None
    advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert advice is not None
    assert (advice.down_s, advice.down_source, advice.standby) == (388.0, "published", None)
    leaver = next(host for host in known.hosts if host.name == advice.host)
    nics = tuple(
        nic.model_copy(update={"address": f"10.99.0.{n}", "addresses": ()}) for n, nic in enumerate(leaver.endpoints)
    )
    spare = leaver.model_copy(update={"name": "spare", "endpoints": nics})
    save_inventory(
        own_demo.database, Inventory(hosts=(*known.hosts, spare), switches=known.switches), "ann", found.seen_ns + S
    )
    again = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert again is not None
    assert (again.standby, [plan.orchestrator for plan in again.plans]) == (
        "spare",
        ["slurm", "kubernetes", "volcano", "kueue"],
    )
    of_tenant = eviction_advice(own_demo, Viewer("bob", "viewer", "t1"), found.seen_ns, found)
    assert of_tenant is not None
    assert of_tenant.standby is None


def test_the_jobs_own_history_decides(own_demo: Stores) -> None:
    """Its live migrations took 20 s and lose no progress."""
    found = open_incident(own_demo)
    change = Membership(kind="live_migration", down_ns=20 * S)
    event = Event(job=found.job or "", kind="membership_change", start_ns=1, end_ns=2, detail="", change=change)
    with own_demo.database.writing() as connection:
        upsert(connection, EVENTS, [event.model_dump() | {"change": change.model_dump_json()}])
    advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert advice is not None
    assert (advice.down_s, advice.down_source, advice.lost_s, advice.when) == (20.0, "job", 0.0, "now")
    assert advice.break_even_s == pytest.approx(20 * found.slowdown_ratio / (found.slowdown_ratio - 1), abs=0.1)


@pytest.mark.parametrize(("longer", "when"), [(0.9, "never"), (1.1, "now")])
def test_a_job_that_ends_before_it_pays_off_keeps_its_host(own_demo: Stores, longer: float, when: str) -> None:
    """By the end that the inventory gives of the job's label; without any, or one that is past, it is long enough."""
    found = open_incident(own_demo)
    known, (own,) = inventory(own_demo.database), (one for one in jobs(own_demo.database) if one.id == found.job)
    alone = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert known is not None
    assert alone is not None
    assert (alone.when, alone.ends_in_s) == ("now", None)
    left_s = alone.break_even_s * longer
    for at_s, advised, ends_in_s in ((left_s, when, left_s), (-left_s, "now", None)):
        end = datetime.fromtimestamp(own.last_seen_ns / S + at_s, UTC).replace(tzinfo=None)
        label = JobLabel(name="llama", hosts=own.hosts, end=end)
        save_inventory(own_demo.database, known.model_copy(update={"jobs": (label,)}), "ann", found.seen_ns + S)
        with own_demo.database.writing() as connection:
            connection.execute(JOBS.update().where(JOBS.c.id == own.id).values(label="llama"))
        advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
        assert advice is not None
        assert advice.when == advised
        assert advice.ends_in_s == pytest.approx(ends_in_s, abs=0.1)


def test_commands_name_the_job_as_its_scheduler_does(own_demo: Stores) -> None:
    """By the id of its label; pods of the host are ended where that is asked for."""
    found = open_incident(own_demo)
    known, (own,) = inventory(own_demo.database), (one for one in jobs(own_demo.database) if one.id == found.job)
    assert known is not None
    with own_demo.database.writing() as connection:
        connection.execute(JOBS.update().where(JOBS.c.id == own.id).values(label="llama"))
    for name, requeued in (("4711", ["scontrol requeue 4711"]), (None, [])):
        label = JobLabel(name="llama", id=name, hosts=own.hosts)
        save_inventory(own_demo.database, known.model_copy(update={"jobs": (label,)}), "ann", found.seen_ns + S)
        advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
        assert advice is not None
        assert list(advice.plans[0].apply[1:]) == requeued
    for no_execute in (False, True):
        detail = incident(own_demo, EVERYBODY, found.seen_ns, found.id, no_execute=no_execute)
        assert detail is not None
        assert detail.eviction is not None
        assert any("NoExecute" in command for command in detail.eviction.plans[1].apply) == no_execute


def test_what_is_over_or_nobodys_fault_has_no_advice(own_demo: Stores) -> None:
    """Resolved, imbalance, or of no job."""
    found = open_incident(own_demo)
    for changed in ({"state": "resolved"}, {"kind": "imbalance"}, {"job": None}, {"severity": "info"}):
        assert eviction_advice(own_demo, EVERYBODY, found.seen_ns, found.model_copy(update=changed)) is None


def test_one_idle_host_takes_the_place_of_one_slow_host(own_demo: Stores) -> None:
    """Where two are to leave, it goes to the one on its own leaf, and the other has none."""
    found = open_incident(own_demo)
    known = inventory(own_demo.database)
    alone = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert known is not None
    assert alone is not None
    own = next(host for host in known.hosts if host.name == alone.host)
    other = next(host for host in known.hosts if not leaves(host) & leaves(own))
    nics = tuple(
        nic.model_copy(update={"address": f"10.99.0.{n}", "addresses": ()}) for n, nic in enumerate(other.endpoints)
    )
    spare = other.model_copy(update={"name": "spare", "endpoints": nics})
    everything = known.model_copy(update={"hosts": (*known.hosts, spare)})
    save_inventory(own_demo.database, everything, "ann", found.seen_ns + S)
    before = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert before is not None
    assert before.standby == "spare"
    subject = Subject(type="endpoint", ids=tuple(other.endpoints[0].all_addresses[:1]))
    second = found.model_copy(update={"id": "second", "subject": subject, "suspects": ()})
    with own_demo.database.writing() as connection:
        upsert(connection, INCIDENTS, incident_rows([second]))
    standbys = [eviction_advice(own_demo, EVERYBODY, found.seen_ns, one) for one in (found, second)]
    assert [(one.host, one.standby) for one in standbys if one is not None] == [
        (own.name, None), (other.name, "spare"),
    ]  # fmt: skip


def test_marks_and_warmed_roles_of_the_inventory_choose_the_standby(own_demo: Stores) -> None:
    """Of two that fit alike, the one that is warmed up for the leaver's stage; where one is marked, that one."""
    found = open_incident(own_demo)
    known = inventory(own_demo.database)
    alone = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert known is not None
    assert alone is not None
    own = next(host for host in known.hosts if host.name == alone.host)
    (layout, *_) = layouts(own_demo.database, found.job or "")
    chain = next(one for one in layout.groups.pp if own.endpoints[0].all_addresses[0] in one)
    roles: tuple[StageRole, StageRole] = ("first", "last")
    role = roles[chain.index(own.endpoints[0].all_addresses[0])]
    assert len(chain) == 2

    def proposed(**marks: dict[str, object]) -> str | None:
        nics = {
            name: tuple(
                nic.model_copy(update={"address": f"10.{name}.0.{n}", "addresses": ()})
                for n, nic in enumerate(own.endpoints)
            )
            for name in ("98", "99")
        }
        spares = [
            own.model_copy(update={"name": f"spare{name}", "endpoints": nics[name], **marks.get(f"spare{name}", {})})
            for name in nics
        ]
        kept = known.model_copy(update={"hosts": (*known.hosts, *spares)})
        save_inventory(own_demo.database, kept, "ann", found.seen_ns + S * next(times))
        advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
        assert advice is not None
        return advice.standby

    times = count(1)
    (other,) = set(roles) - {role}
    assert proposed(spare98={"warmed_roles": (other,)}, spare99={"warmed_roles": (role,)}) == "spare99"
    assert proposed(spare98={"warmed_roles": (role,)}, spare99={"warmed_roles": (other,)}) == "spare98"
    assert proposed(spare98={"warmed_roles": (role,)}, spare99={"standby": True}) == "spare99"
    assert _only({role, None}) == role  # a NIC that is not part of the pipeline has none


@pytest.mark.parametrize(("full", "free"), [("leaf1", "leaf3"), ("leaf3", "leaf1")])
def test_of_two_standbys_the_one_with_free_uplinks_is_named(own_demo: Stores, full: str, free: str) -> None:
    """By speeds of links and what scans saw of pairs; at equal speeds by what passes them, where paths were seen."""
    found = open_incident(own_demo)
    known = inventory(own_demo.database)
    assert known is not None
    own = next(host for host in known.hosts if host.name == "s3")
    spares = [
        Host(
            name=f"on-{leaf}",
            endpoints=tuple(
                nic.model_copy(update={"address": f"10.9{n}.0.{nic.rail}", "switch": leaf}) for nic in own.endpoints
            ),
        )
        for n, leaf in enumerate(("leaf1", "leaf3"))
    ]
    kept = known.model_copy(update={"hosts": (*known.hosts, *spares)})
    slow = [one.model_copy(update={"speed_gbps": 0.3}) if one.a == full else one for one in known.links]
    time_ns = count(found.seen_ns + S, S)

    def proposed(links: Sequence[Link]) -> str | None:
        save_inventory(own_demo.database, kept.model_copy(update={"links": tuple(links)}), "ann", next(time_ns))
        advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
        assert advice is not None
        return advice.standby

    assert proposed(slow) == f"on-{free}"
    job, window = found.job or "", Window(start_ns=found.seen_ns - S, end_ns=found.seen_ns)
    ends = {"leaf1": ("10.1.1.1", "10.4.7.1"), "leaf3": ("10.3.5.1", "10.4.7.1")}[full]
    doors = next((Port(switch=one.a, port=one.a_port),) for one in known.links if one.a == full)
    sent = PlannedConnection(
        job=job, src_addr=ends[0], dst_addr=ends[1], src_port=1, queue_pairs=1, dst_qp=None, bytes=150_000_000,
        now=doors, planned=doors, action="keep",
    )  # fmt: skip
    plan = PathPlan(window=window, connections=(sent,))
    outcome = PlanOutcome(made_ns=window.end_ns, state="nothing to move", applied={})
    state = JobPathsState(outcome=outcome, since_ns=window.end_ns, seen_ns=window.end_ns, before=None, paths=None)
    with own_demo.database.writing() as connection:
        write_path_plans(connection, {job: FollowedPlan(state, plan, plan)})
    fresh = Stores(own_demo.database, own_demo.flows, own_demo.analyses)
    save_inventory(own_demo.database, kept, "ann", next(time_ns))
    advice = eviction_advice(fresh, EVERYBODY, found.seen_ns, found)
    assert advice is not None
    assert advice.standby == f"on-{free}"


def test_where_the_lake_of_analyses_is_broken_standbys_are_chosen_all_the_same(own_demo: Stores) -> None:
    """By leaf; what cannot be read is no reason against advice."""
    found = open_incident(own_demo)
    known = inventory(own_demo.database)
    assert known is not None
    own = next(host for host in known.hosts if host.name == "s3")
    spares = [
        Host(
            name=name,
            endpoints=tuple(
                nic.model_copy(update={"address": f"10.9{n}.0.{nic.rail}", "switch": leaf}) for nic in own.endpoints
            ),
        )
        for n, (name, leaf) in enumerate((("away", "leaf1"), ("near", "leaf2")))
    ]
    save_inventory(
        own_demo.database, known.model_copy(update={"hosts": (*known.hosts, *spares)}), "ann", found.seen_ns + S
    )
    for file in Path(own_demo.analyses or "").rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    with pytest.raises(StorageError):
        carried(own_demo, jobs(own_demo.database), {})
    advice = eviction_advice(own_demo, EVERYBODY, found.seen_ns, found)
    assert advice is not None
    assert advice.standby == "near"


def leaves(host: Host) -> set[str | None]:
    """Switches that a host is plugged into."""
    return {port.switch for nic in host.endpoints for port in nic.attachments}


def test_alerts_are_advised_from_what_pages_read(own_demo: Stores) -> None:
    """Without the lakes no uplink would seem to carry anything, and another standby would be named."""
    settings = Settings(store=StoreSettings(flows="flows", analyses=own_demo.analyses))
    made = Scanner(settings, own_demo.database, Leases(own_demo.database, "one", 3.0), Tally())
    assert made.stores == replace(own_demo, flows="flows")
