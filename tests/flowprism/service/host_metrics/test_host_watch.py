"""Hosts of new incidents are asked for once, in time, and whatever Prometheus does the incident stands."""

from __future__ import annotations

import json
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.reports.findings import Subject, Suspect
from datamodel.reports.layout import Groups
from datamodel.service.incidents import Incident
from flowprism.service.config.settings import Settings
from flowprism.service.host_metrics.host_selection import MOST_SUSPECTS, HostSelection, select_hosts
from flowprism.service.host_metrics.host_watch import AGAIN_NS, SETTLED_NS, HostWatch, answer_of
from flowprism.service.queries.incidents.incident_queries import incident
from flowprism.service.scans.leases import Leases
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.host_answers import host_answers, save_host_answer
from storage.database.incidents.incident_records import incidents
from tests.flowprism.service.alerts.listening import Answer, listening, silent, trickling
from tests.storage.database import results

ONSET_S = 1_790_000_000
ERRORS = "node_infiniband_port_errors_received_total"
BOTH = HostSelection({"s1": ()}, ("p0", "p1", "p2"), 1)


def answered(*series: dict[str, object]) -> bytes:
    """Prometheus's answer with these series."""
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def errors(host: str, per_s: float, start_s: int = -1800, end_s: int = 600, **labels: str) -> dict[str, object]:
    """Receive errors of a NIC, from the onset on."""
    values = [[ONSET_S + at_s, str(7 + max(at_s, 0) * per_s)] for at_s in range(start_s, end_s, 15)]
    return {
        "metric": {"__name__": ERRORS, "instance": host, "device": "mlx5_0", "port": "1", **labels},
        "values": values,
    }


def settings(url: str | None, **more: object) -> Settings:
    """With a Prometheus."""
    return Settings.model_validate({"host_metrics": {"url": url, "timeout_s": 0.5, **more}})


def link_incident() -> Incident:
    """A slow link, seen for ten minutes."""
    return results.incident(kind="slow_link", start_ns=ONSET_S * 10**9)


def test_a_question_names_hosts_metrics_and_token() -> None:
    """Inventory names match labels with port or domain; a series that goes on under another pod is one."""
    peers = [errors(f"p{n}.example:9100", 0) for n in range(3)]
    own = [errors("s1:9100", 4, end_s=120, pod="a"), errors("s1:9100", 4, start_s=120, pod="b")]
    with listening(answered(*own, *peers)) as server:
        said = answer_of(settings(server.url, token="abc"), link_incident(), BOTH, (ONSET_S + 600) * 10**9)  # noqa: S106
        (came,) = server.wait(1)
    asked = parse_qs(urlsplit(came.path).query)
    assert (came.method, urlsplit(came.path).path) == ("GET", "/api/v1/query_range")
    assert came.headers["authorization"] == "Bearer abc"
    assert (asked["start"], asked["end"]) == ([str(ONSET_S - 1800)], [str(ONSET_S + 600)])
    assert ERRORS in asked["query"][0]
    assert 'device!~"lo|(?:veth|' in asked["query"][0]
    assert r'instance=~"(?:p0|p1|p2|s1)(?:\\..*)?(?::[0-9]+)?"' in asked["query"][0]
    assert said.cause is not None
    assert (said.cause.kind, said.cause.host, said.cause.gpu) == ("nic_errors", "s1", None)
    assert said.cause.evidence[0].device == "mlx5_0/1"
    assert said.summary.startswith("s1: NIC errors (RDMA receive errors 240 per minute; before 0, peers 0; since ")
    assert said.peers == 3


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (silent, "Prometheus: no answer within 0.5 s"),
        (trickling, "Prometheus: no answer within 0.5 s"),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\nno", "Prometheus: 401 Unauthorized: no"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "Prometheus: what came is no answer of Prometheus"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"data": {"resultType": "vector"}}', "Prometheus: what came is no range of samples"),
    ],
)
def test_whatever_prometheus_does_is_one_line_in_time(answer: Answer, line: str) -> None:
    """Asked again later; the time is bounded."""
    with listening(answer) as server:
        begun_s = time.monotonic()
        said = answer_of(settings(server.url), link_incident(), BOTH, ONSET_S * 10**9)
        took_s = time.monotonic() - begun_s
    assert (said.summary, said.failed, said.cause) == (f"hosts not compared: {line}", True, None)
    assert took_s < 30  # half of what a silent one takes to hang up


def test_hosts_that_are_not_there_are_one_line() -> None:
    """Suspects without series, and suspects alone."""
    for series, line in (
        (errors("p1", 0), "Prometheus has no series of s1 by the labels instance"),
        (errors("s1", 4), "Prometheus has series of no other host of the job to compare with"),
    ):
        with listening(answered(series)) as server:
            said = answer_of(settings(server.url), link_incident(), BOTH, (ONSET_S + 600) * 10**9)
        assert (said.problem, said.failed) == (line, False)


def watch(stores: Stores, url: str) -> HostWatch:
    """One replica's."""
    return HostWatch(settings(url), stores.database, Leases(stores.database, "a", 30.0))


def test_an_incident_is_asked_about_once_and_keeps_the_answer(own_demo: Stores) -> None:
    """Early without a result it is asked once more when averages have settled."""
    (one,) = incidents(own_demo.database)
    healthy = [errors(f"s{n}", 0) for n in range(1, 9)]
    with listening(answered(*healthy)) as server:
        hosts = watch(own_demo, server.url)
        for later_ns in (0, SETTLED_NS // 2, SETTLED_NS, 2 * SETTLED_NS):
            hosts.tick(one.start_ns + later_ns)
        assert len(server.requests) == 2
    detail = incident(own_demo, Viewer("ann", "viewer", None), one.seen_ns, one.id)
    assert detail is not None
    assert detail.hosts is not None
    assert detail.hosts.summary == "hosts export nothing unusual"
    assert hosts.figures()["hosts_asked_total"] == 2


def test_a_prometheus_that_is_away_is_left_alone_for_a_minute(own_demo: Stores) -> None:
    """Counted, said, and asked again; then the answer replaces the problem."""
    (one,) = incidents(own_demo.database)
    now_ns = one.start_ns + SETTLED_NS
    with listening(b"HTTP/1.1 503 Away\r\n\r\n", answered(*(errors(f"s{n}", 0) for n in range(1, 9)))) as server:
        hosts = watch(own_demo, server.url)
        hosts.tick(now_ns)
        assert (hosts.problem, hosts.failed) == ("Prometheus: 503 Away", 1)
        hosts.tick(now_ns + AGAIN_NS - 1)
        assert host_answers(own_demo.database, [one.id])[one.id].failed
        hosts.tick(now_ns + AGAIN_NS)
    assert (hosts.problem, host_answers(own_demo.database, [one.id])[one.id].problem) == ("", "")


def test_an_incident_that_is_gone_keeps_nothing(own_demo: Stores) -> None:
    """It was dismissed while its hosts were asked."""
    with listening(answered()) as server:
        said = answer_of(settings(server.url), link_incident(), BOTH, ONSET_S * 10**9)
    save_host_answer(own_demo.database, "gone", said)
    assert host_answers(own_demo.database, ["gone"]) == {}


def cluster(hosts: int) -> Inventory:
    """Hosts with two endpoints of a GPU each."""
    nics = [tuple(Endpoint(address=f"10.0.{n}.{gpu}", gpu=gpu) for gpu in range(2)) for n in range(hosts)]
    return Inventory(hosts=tuple(Host(name=f"s{n:02}", endpoints=some) for n, some in enumerate(nics)))


def selected(about: Subject, groups: Groups | None = None, suspects: tuple[Suspect, ...] = ()) -> HostSelection | None:
    """The hosts to ask for in a cluster of twelve."""
    known = cluster(12)
    endpoints = [nic.all_addresses[0] for host in known.hosts for nic in host.endpoints]
    return select_hosts(results.incident(subject=about, suspects=suspects), endpoints, groups or Groups(), known)


def test_suspects_are_with_their_tensor_group_and_peers_of_their_stage() -> None:
    """A tensor group looks alike, so both GPUs are in question; hosts of other stages work otherwise."""
    chains = tuple((f"10.0.{n}.0", f"10.0.{n + 6}.0") for n in range(6))
    groups = Groups(tp=(("10.0.1.0", "10.0.1.1"),), pp=chains)
    alone = selected(Subject(type="endpoint", ids=("10.0.1.0",)))
    found = selected(Subject(type="endpoint", ids=("10.0.1.0",)), groups)
    assert alone is not None
    assert found is not None
    assert (alone.suspects, len(alone.peers)) == ({"s01": (0,)}, 6)
    assert (found.suspects, found.peers) == ({"s01": (0, 1)}, ("s00", "s02", "s03", "s04", "s05"))


def test_of_a_whole_job_an_even_choice_is_asked_for() -> None:
    """They are each other's peers."""
    found = selected(Subject(type="job", ids=("j1",)))
    assert found is not None
    assert (found.suspected, found.peers) == (12, ())
    assert 0 < len(found.suspects) <= MOST_SUSPECTS


def test_all_suspects_are_asked_for_and_strangers_are_not_known() -> None:
    """By host or by address; the inventory need not know them."""
    suspects = (
        Suspect(type="host", ids=("s03",), probability=0.6),
        Suspect(type="endpoint", ids=("10.0.5.1",), probability=0.4),
    )
    found = selected(Subject(type="link", ids=("leaf1", "10.9.9.9")), suspects=suspects)
    assert found is not None
    assert found.suspects == {"s03": (0, 1), "s05": (1,)}
    assert selected(Subject(type="host", ids=("elsewhere",))) is None
