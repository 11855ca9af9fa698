"""`/fabric/traffic`: throughput, PFC pause frames, discards and ECN marks of a job, a link or an exporter over time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Annotated
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import ConfigDict, Field

from datamodel.errors import LimitExceededError
from datamodel.service.filters import JobFilter
from flowprism.dashboard.clock import clock_of
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.dashboard.time_range import LENGTHS_S, Last, asked_range
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.rates_over_time import LEFT, RIGHT, WIDTH, draw_rates_over_time, rate_rows
from flowprism.rendering.units import scaled, share, significant
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Parameters, Text
from flowprism.service.queries.fabric.traffic_over_time import (
    Ports,
    TrafficOverTime,
    ports_of_exporter,
    ports_of_job,
    ports_of_link,
    traffic_over_time,
)
from flowprism.service.queries.feeds.feed_queries import exporters
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.job_queries import jobs, labels
from flowprism.service.queries.reference_time import newest_ns
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

Words = Callable[[float], str]

_MOST_JOBS, _MOST_LINKS = 200, 2000
_NO_COUNTERS = "No interface counters of these ports were stored in this time: sFlow with counter polling brings them."
_UNMARKED = "No record of this time says: sampled packets and mirrors carry marks, records of flow caches do not."
_WITHOUT_PORTS = "The inventory names no switch ports of this job's endpoints, so no counters are known to be theirs."


class TrafficQuery(Parameters):
    """Of what, and which time; stands in the address."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    job: Text = ""
    link: Text = ""
    exporter: Text = ""
    last: Last = ""
    begin: Text = Field(default="", alias="from")
    to: Text = ""

    @property
    def subject(self) -> str:
        """The part of the address that says of what."""
        named = {"job": self.job, "link": self.link, "exporter": self.exporter}
        return "".join(f"&{urlencode({name: value})}" for name, value in named.items() if value)

    @property
    def time(self) -> str:
        """The part of the address that says which time, for other pages and subjects."""
        named = {"last": self.last, "from": self.begin, "to": self.to}
        return urlencode({name: value for name, value in named.items() if value})


@dataclass(frozen=True, slots=True)
class Plot:
    """One figure.

    Attributes:
        title: of it.
        note: what it is measured by; or why there is none.
        figure: its SVG; None where nothing is known.
        names: of its lines.
        rows: begin of a stretch, UTC, and the text of each line's mean in it.
    """

    title: str
    note: str
    figure: Markup | None = None
    names: tuple[str, ...] = ()
    rows: tuple[tuple[int, tuple[str, ...]], ...] = ()


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/fabric/traffic", page, methods=["GET"], response_class=HTMLResponse)
    return routes


def page(request: Request, viewer: Seeing, which: Annotated[TrafficQuery, Query()]) -> HTMLResponse:
    """The page: of what is asked for, else of the job that is worst now."""
    stores, now_ns = get_stores(request), time.time_ns()
    rows = jobs(stores, viewer, now_ns, JobFilter(order="worst"), most=_MOST_JOBS)
    if not which.subject and rows:
        which = which.model_copy(update={"job": rows[0].id})
    try:
        span = asked_range(which.last, which.begin, which.to, newest_ns(stores.database, now_ns))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    plots: tuple[Plot, ...] = ()
    too_much = ""
    if which.subject:
        of = _ports(stores, viewer, which)
        try:
            found = traffic_over_time(stores, of, span.start_ns, span.end_ns, which.job or None)
            plots = tuple(_plots(found, of, clock_of(request, now_ns).zone))
        except LimitExceededError as error:
            too_much = str(error)
    named = labels(stores, {which.job}).get(which.job, which.job) if which.job else ""
    return render_page(
        request,
        viewer,
        "traffic.html",
        now_ns=now_ns,
        wanted=which,
        title=(named and f"job {named}") or which.link.replace("/", " port ") or which.exporter,
        asked=span,
        lengths=LENGTHS_S,
        plots=plots,
        too_much=too_much,
        jobs=[(row.id, row.label or row.id) for row in rows],
        links=_links(stores) if viewer.tenant is None else (),
        exporters=_agents(stores, now_ns) if viewer.tenant is None else (),
        begins_px=LEFT / WIDTH,
        ends_px=RIGHT / WIDTH,
    )


def _ports(stores: Stores, viewer: Viewer, which: TrafficQuery) -> Ports:
    if which.job:
        of = ports_of_job(stores, viewer, which.job)
        if of is None:
            raise HTTPException(404, f"No job {which.job} is known to you.")
        return of
    if which.link:
        switch, _, port = which.link.rpartition("/")
        of = ports_of_link(stores, viewer, switch, int(port)) if port.isdecimal() and len(port) < 12 else None
        if of is None:
            raise HTTPException(404, f"The inventory knows no switch port {which.link[:80]} with an agent address.")
        return of
    return ports_of_exporter(viewer, which.exporter)


def _links(stores: Stores) -> tuple[tuple[str, str], ...]:
    """Switch ports of the inventory: as addresses name them, and with what is at the other end."""
    known = in_force(stores)
    if known is None:
        return ()
    found = [
        (f"{one.switch}/{one.port}", f"{one.switch} port {one.port}, {host.name}")
        for host in known.hosts
        for endpoint in host.endpoints
        for one in endpoint.attachments
        if one.port is not None
    ]
    for link in known.links:
        found += [
            (f"{near}/{port}", f"{near} port {port}, {far}")
            for near, port, far in ((link.a, link.a_port, link.b), (link.b, link.b_port, link.a))
            if port is not None
        ]
    return tuple(found[:_MOST_LINKS])


def _agents(stores: Stores, now_ns: int) -> tuple[tuple[str, str], ...]:
    """Agent addresses of the exporters, without their domains, each as value and text of a choice."""
    found = dict.fromkeys(row.exporter.rpartition("/")[0] or row.exporter for row in exporters(stores, now_ns))
    return tuple((agent, agent) for agent in found)


def _plots(found: TrafficOverTime, of: Ports, zone: tzinfo) -> Iterator[Plot]:
    ways = ("sent by endpoints", "received by endpoints") if of.endpoints is not None else ("in", "out")
    counted = "interface counters"
    if found.wanted is not None and found.wanted > 1:
        counted += f" of {found.counted} of {found.wanted} ports"
    none = _WITHOUT_PORTS if found.wanted == 0 else _NO_COUNTERS

    def plot(title: str, lines: Mapping[str, Floats | None], by: str, lacking: str, words: Words) -> Plot:
        known = {name: one for name, one in lines.items() if one is not None and np.isfinite(one).any()}
        if not known:
            return Plot(title, lacking)
        figure = draw_rates_over_time(title, known, found.start_ns, found.step_ns, words, zone)
        rows = tuple(
            (start_ns, tuple("unknown" if value is None else words(value) for value in values))
            for start_ns, values in rate_rows(known, found.start_ns, found.step_ns)
        )
        return Plot(title, by, Markup(figure), tuple(known), rows)  # noqa: S704 - it escapes what it is given

    if found.moved_bps is not None:
        yield plot(
            "Throughput of the job", {"moved": found.moved_bps}, "by flow records, the mean of each window",
            "No scan of this time shows what the job moved.", _bps,
        )  # fmt: skip
    for title, columns, words in (
        ("Throughput of ports", ("in_bytes", "out_bytes"), _bps),
        ("PFC pause frames", ("pause_in_frames", "pause_out_frames"), _per_second),
        ("Discarded packets", ("in_discards", "out_discards"), _per_second),
    ):
        lines = {way: found.rates.get(column) for way, column in zip(ways, columns, strict=True)}
        lacking = none
        if found.rates and title.startswith("PFC"):
            lacking = "The counters of these ports do not count pause frames."
        yield plot(title, lines, counted, lacking, words)
    yield plot(
        "Packets with a congestion mark (ECN)", {"marked": found.marked_ratio}, "share of all packets, by flow records",
        found.unread or _UNMARKED, share,
    )  # fmt: skip


def _bps(value: float) -> str:
    return scaled(value, "bit/s")


def _per_second(value: float) -> str:
    return f"{significant(value)} /s"
