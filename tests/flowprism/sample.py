"""An analysis as a real fabric gives it: two jobs, one with a slow link from iteration 14 on, played out span by span.

Job A runs tp 2, pp 2 and dp `replicas` on hosts of two GPUs; job B runs fully sharded over eight endpoints and writes
a checkpoint. Each endpoint computes, sends, waits and reduces in turn, so spans, iterations and pairs agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory, Link, Switch
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS, Timelines
from datamodel.reconstructed.transfers import PAIRS, ROLES
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Evidence, Finding, Subject, Suspect
from datamodel.reports.layout import Alternative, Groups, Layout, Sizes
from datamodel.reports.report import (
    Detectability,
    FeedSummary,
    Iteration,
    JobReport,
    Provenance,
    Report,
    Window,
)

BEGIN_NS = 1_795_188_044_951_000_000
MS = 1_000_000
ITERATIONS = 30
SLOW_FROM = 14
SLOW = "10.1.1.1"
MICRO_BATCHES = 4
PP_BYTES, DP_BYTES = 524_288, 12_582_912


@dataclass
class Recorder:
    """Rows of the spans table as they come, with names instead of codes."""

    rows: list[tuple[str, str, int, str, int, int, str, int, str]] = field(default_factory=list)

    def add(
        self,
        job: str,
        endpoint: str,
        iteration: int,
        span: str,
        start_ns: float,
        end_ns: float,
        peer: str = "",
        moved: int = 0,
        group: str = "",
    ) -> None:
        """Note one span."""
        self.rows.append((job, endpoint, iteration, span, round(start_ns), round(end_ns), peer, moved, group))


def analysis(replicas: int = 4, iterations: int = ITERATIONS, *, slow: bool = True) -> Analysis:
    """Both jobs; with `slow`, the link of one endpoint of job A runs at a sixth of its rate from `SLOW_FROM` on."""
    recorder = Recorder()
    job_a = _play_pipeline(recorder, replicas, iterations, SLOW if slow else "")
    job_b = _play_sharded(recorder, iterations)
    end_ns = max(i.end_ns for job in (job_a, job_b) for i in job.iterations)
    report = Report(
        provenance=Provenance(version="0.1.0", options={"minimum_slowdown_ratio": 1.05}, inputs=("mirror.pcap.gz",)),
        window=Window(start_ns=BEGIN_NS, end_ns=end_ns + 20 * MS),
        feed=_feed(),
        jobs=(job_a, job_b),
        unassigned=("10.9.0.5: joins 24 endpoints without a period; taken for storage",),
        events=_events(job_b),
        findings=_findings(job_a) if slow else (),
    )
    timelines = _timelines(recorder)
    pairs = {job.id: _pairs(job, timelines, SLOW if slow else "") for job in report.jobs}
    return Analysis(report, timelines, pairs)


def no_job() -> Analysis:
    """What traffic that is no training looks like in a report."""
    report = Report(
        provenance=Provenance(version="0.1.0", inputs=("office.pcap",)),
        window=Window(start_ns=BEGIN_NS, end_ns=BEGIN_NS + 60_000 * MS),
        feed=FeedSummary(records=5120, bytes=73_400_320),
        unassigned=("41 endpoints exchange traffic, none of it comes back with a period",),
    )
    return Analysis(report, Timelines(Frame(SPANS, {c.name: [] for c in SPANS}), (), (), ()), {})


def inventory() -> Inventory:
    """The fabric of the default sample: four leaves, two spines, hosts of two GPUs."""
    hosts = []
    for leaf, subnets in enumerate((("1", 4), ("3", 4), ("5", 4)), 1):
        for n in range(1, subnets[1] + 1):
            endpoints = tuple(
                Endpoint(
                    address=f"10.{subnets[0]}.{n}.{rail + 1}",
                    gpu=rail,
                    rail=rail,
                    switch=f"leaf{leaf}",
                    port=2 * n + rail,
                )
                for rail in range(2)
            )
            hosts.append(Host(name=f"s{subnets[0]}{n}", endpoints=endpoints))
    switches = [Switch(name=f"leaf{n}", role="leaf") for n in (1, 2, 3)] + [Switch(name="spine1", role="spine")]
    links = tuple(Link(a=f"leaf{n}", b="spine1", a_port=20, b_port=n) for n in (1, 2, 3))
    return Inventory(hosts=tuple(hosts), switches=tuple(switches), links=links)


def _endpoint(stage: int, replica: int, rank: int) -> str:
    return f"10.{(1, 3)[stage]}.{replica + 1}.{rank + 1}"


def _play_pipeline(out: Recorder, replicas: int, iterations: int, slow: str) -> JobReport:
    """All forward micro-batches, then all backward ones, then the gradients around a ring of replicas."""
    rng = np.random.default_rng(7)
    groups = Groups(
        dp=tuple(tuple(_endpoint(s, r, t) for r in range(replicas)) for s in (0, 1) for t in (0, 1)),
        tp=tuple((_endpoint(s, r, 0), _endpoint(s, r, 1)) for s in (0, 1) for r in range(replicas)),
        pp=tuple((_endpoint(0, r, t), _endpoint(1, r, t)) for r in range(replicas) for t in (0, 1)),
    )
    begin, edges = float(BEGIN_NS), []
    for n in range(iterations):
        bad = slow if n >= SLOW_FROM else ""
        ready = {}
        for first, second in groups.pp:
            ready.update(
                _play_chain(out, n, begin, (first, second), 6.0 if bad in {first, second} and bad else 1.0, rng)
            )
        ends = [_play_ring(out, "A", n, ring, ready, 4.0 if bad in ring and bad else 1.0) for ring in groups.dp]
        edges.append(Iteration(index=n, start_ns=round(begin), end_ns=round(max(ends))))
        begin = max(ends) - 4 * MS  # the first rank begins before the last has finished
    endpoints = tuple(sorted(address for ring in groups.dp for address in ring))
    return JobReport(
        id="A",
        label="llama-70b",
        tenant="research",
        endpoints=endpoints,
        hosts=tuple(f"s{h}{r + 1}" for h in (1, 3) for r in range(replicas)),
        world_size=len(endpoints),
        layout=Layout(
            tp=2,
            cp=1,
            ep=1,
            dp=replicas,
            pp=2,
            sharding="none",
            confidence=0.97,
            assumed=("tp: a factor of 2 never leaves a host", "cp 1: no ring crosses hosts"),
        ),
        groups=groups,
        iterations=tuple(edges),
        period_s=_period_s(edges),
        jitter_ratio=0.011,
        detectability=Detectability(timeline_error_ratio=0.0012, smallest_slowdown_ratio=1.02),
    )


def _play_chain(
    out: Recorder, n: int, begin: float, chain: tuple[str, str], slower: float, rng: np.random.Generator
) -> dict[str, float]:
    """One replica's two stages; the time at which each is ready to reduce."""
    first, second = chain
    work = (55 + rng.normal(0, 1.2, 4 * MICRO_BATCHES)) * MS
    transfer = 11 * MS * slower
    free = {first: begin, second: begin}
    sent: list[float] = []
    link = begin
    for k in range(MICRO_BATCHES):
        done = free[first] + work[k]
        out.add("A", first, n, "compute", free[first], done)
        free[first] = done
        link = max(link, done) + transfer
        out.add("A", first, n, "pp_send", link - transfer, link, second, PP_BYTES, f"pp {first},{second}")
        out.add("A", second, n, "pp_recv", link - transfer, link, first, PP_BYTES, f"pp {first},{second}")
        sent.append(link)
    back, link = [], 0.0
    for k in range(MICRO_BATCHES):
        if sent[k] > free[second]:
            out.add("A", second, n, "wait", free[second], sent[k], first)
        start = max(sent[k], free[second])
        free[second] = start + 2.2 * work[MICRO_BATCHES + k]
        out.add("A", second, n, "compute", start, free[second])
        link = max(link, free[second]) + transfer
        out.add("A", second, n, "pp_send", link - transfer, link, first, PP_BYTES, f"pp {first},{second}")
        out.add("A", first, n, "pp_recv", link - transfer, link, second, PP_BYTES, f"pp {first},{second}")
        back.append(link)
    for k in range(MICRO_BATCHES):
        if back[k] > free[first]:
            out.add("A", first, n, "wait", free[first], back[k], second)
        start = max(back[k], free[first])
        free[first] = start + 0.9 * work[2 * MICRO_BATCHES + k]
        out.add("A", first, n, "compute", start, free[first])
    return free


def _play_ring(out: Recorder, job: str, n: int, ring: tuple[str, ...], ready: dict[str, float], slower: float) -> float:
    """A ring reduces together: everybody waits for the last, then all are as fast as the slowest link."""
    start = max(ready[address] for address in ring)
    last = max(ring, key=lambda address: ready[address])
    end = start + 230 * MS * slower
    group = "dp " + ",".join(ring)
    for address, following in zip(ring, ring[1:] + ring[:1], strict=True):
        if ready[address] < start:
            out.add(job, address, n, "wait", ready[address], start, last)
        out.add(job, address, n, "dp_comm", start, end, following, DP_BYTES, group)
    return end


def _play_sharded(out: Recorder, iterations: int) -> JobReport:
    rng = np.random.default_rng(11)
    ring = tuple(f"10.5.{h}.{t}" for h in (1, 2, 3, 4) for t in (1, 2))
    group = "dp " + ",".join(ring)
    begin, edges = float(BEGIN_NS + 400 * MS), []
    for n in range(iterations):
        now = begin
        for _ in range(6):
            work = (90 + rng.normal(0, 1.5, len(ring))) * MS
            last = ring[int(work.argmax())]
            for address, following, took in zip(ring, ring[1:] + ring[:1], work, strict=True):
                out.add("B", address, n, "compute", now, now + took)
                out.add("B", address, n, "wait", now + took, now + work.max(), last)
                end = now + work.max() + 55 * MS
                out.add("B", address, n, "dp_comm", now + work.max(), end, following, DP_BYTES // 4, group)
            now += work.max() + 55 * MS
        edges.append(Iteration(index=n, start_ns=round(begin), end_ns=round(now)))
        begin = now + (3_000 * MS if n == iterations // 2 else 0)
    return JobReport(
        id="B",
        endpoints=ring,
        hosts=("s51", "s52", "s53", "s54"),
        world_size=8,
        layout=Layout(
            dp=8,
            pp=1,
            cp=1,
            ep=1,
            sharding="fsdp",
            confidence=0.88,
            alternatives=(Alternative(sizes=Sizes(tp=2, pp=1, cp=1, ep=1, dp=4), probability=0.1),),
        ),
        groups=Groups(dp=(ring,)),
        iterations=tuple(edges),
        period_s=_period_s(edges),
        jitter_ratio=0.006,
        detectability=Detectability(
            timeline_error_ratio=0.002,
            smallest_slowdown_ratio=1.05,
            reasons=("tp inside a host is not on the network",),
        ),
    )


def _period_s(edges: list[Iteration]) -> float:
    return float(np.median(np.diff([edge.end_ns for edge in edges]))) / 1e9


def _timelines(recorder: Recorder) -> Timelines:
    rows = sorted(recorder.rows)
    addresses = tuple(sorted({row[1] for row in rows} | {row[6] for row in rows if row[6]}))
    jobs = tuple(sorted({row[0] for row in rows}))
    groups = tuple(sorted({row[8] for row in rows if row[8]}))
    codes = {address: code for code, address in enumerate(addresses)}
    frame = Frame(
        SPANS,
        {
            "job": [jobs.index(row[0]) for row in rows],
            "endpoint": [codes[row[1]] for row in rows],
            "iteration": [row[2] for row in rows],
            "span": [SPAN_NAMES.index(row[3]) for row in rows],
            "start_ns": [row[4] for row in rows],
            "end_ns": [row[5] for row in rows],
            "peer": [codes.get(row[6], -1) for row in rows],
            "bytes": [row[7] for row in rows],
            "group": [groups.index(row[8]) if row[8] else -1 for row in rows],
        },
    )
    return Timelines(frame, addresses, jobs, groups)


def _pairs(job: JobReport, timelines: Timelines, slow: str) -> Frame:
    count = len(job.iterations)
    rows: list[tuple[str, str, str, int, int]] = []
    for ring in job.groups.dp:
        rows += [(a, b, "dp", DP_BYTES * count, 2 * count) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)]
    for a, b in job.groups.pp:
        moved = PP_BYTES * MICRO_BATCHES * count
        rows += [(a, b, "pp", moved, MICRO_BATCHES * count), (b, a, "pp", moved, MICRO_BATCHES * count)]
    hit = np.array([slow in {a, b} and bool(slow) for a, b, *_ in rows])
    return Frame(
        PAIRS,
        {
            "src": [timelines.addresses.index(a) for a, *_ in rows],
            "dst": [timelines.addresses.index(b) for _, b, *_ in rows],
            "role": [ROLES.index(role) for _, _, role, *_ in rows],
            "bytes": [moved for *_, moved, _ in rows],
            "transfers": [transfers for *_, transfers in rows],
            "rate_bps": np.where(hit, 62e6, 371e6) + 1e6 * np.arange(len(rows)),
            "late_ratio": np.where(hit, 5.9, 1.0) + 0.004 * np.arange(len(rows)),
        },
    )


def _findings(job: JobReport) -> tuple[Finding, ...]:
    start_ns = job.iterations[SLOW_FROM].start_ns
    window_ns = (start_ns, job.iterations[-1].end_ns)
    took = np.diff([iteration.end_ns for iteration in job.iterations])
    slow = Finding(
        id="A-slow_link-10.1.1.1",
        job="A",
        kind="slow_link",
        cause=None,
        severity="critical",
        start_ns=start_ns,
        end_ns=None,
        confidence=0.93,
        slowdown_ratio=round(float(np.median(took[SLOW_FROM:]) / np.median(took[:12])), 3),
        subject=Subject(type="link", ids=("leaf1", SLOW), a_port=2),
        suspects=(
            Suspect(type="link", ids=("leaf1", SLOW), probability=0.86),
            Suspect(type="endpoint", ids=(SLOW,), probability=0.14),
        ),
        evidence=(
            Evidence(
                metric="delivery_rate", value=62e6, baseline=371e6, unit="bit/s",
                where=f"all transfers to and from {SLOW}; baseline: the other 15 endpoints", window_ns=window_ns,
            ),
            Evidence(
                metric="transfer_time", value=0.92, baseline=0.23, unit="s",
                where="dp 1, gradient exchange; baseline: its iterations before", window_ns=window_ns,
            ),
            Evidence(
                metric="start_delay", value=0.0008, baseline=0.0007, unit="s",
                where=f"{SLOW} against dp 1: it begins in time", window_ns=window_ns,
            ),
        ),
        summary=f"The network link of {SLOW} moves data at a sixth of the rate of its peers.",
        action="Check optics, cable and error counters of leaf1 port 2 and the NIC; drain host s11.",
    )  # fmt: skip
    feed = Finding(
        id="feed-clock",
        job=None,
        kind="feed",
        severity="info",
        start_ns=BEGIN_NS,
        end_ns=None,
        confidence=0.8,
        slowdown_ratio=1.0,
        subject=Subject(type="switch", ids=("leaf3",)),
        summary="The clock of leaf3 is 4.1 ms behind the others; its records were moved.",
        action="Synchronise leaf3 with NTP or PTP.",
    )
    return slow, feed


def _events(job: JobReport) -> tuple[Event, ...]:
    middle = job.iterations[len(job.iterations) // 2].end_ns
    return (
        Event(job="B", kind="start", start_ns=BEGIN_NS + 400 * MS, end_ns=None, detail="first traffic of the window"),
        Event(
            job="B", kind="checkpoint", start_ns=middle, end_ns=middle + 3_000 * MS, detail="6.4 GB to 10.9.0.5"
        ),
    )  # fmt: skip


def _feed() -> FeedSummary:
    return FeedSummary(
        records=390_123,
        bytes=1_234_567_890,
        exporters=("10.255.0.1/0", "10.255.0.2/0"),
        lost_datagrams=3,
        rejected={"not IP": 212, "truncated": 1},
        warnings=("mirror.pcap.gz: the last packet is cut off; everything before it was read",),
    )
