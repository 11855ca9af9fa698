"""The sentences that text and page share: verdict, layout, subject, start of a finding, confidence, expected gain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from datamodel.reconstructed.traffic import PostTraining
from datamodel.reports.findings import Finding, Subject, Suspect
from datamodel.reports.layout import Layout, Sizes
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Report
from datamodel.reports.training_time import TrainingTime
from flowprism.rendering.facts import SEVERITIES, ExpectedGain, iteration_at
from flowprism.rendering.names import Names
from flowprism.rendering.units import duration, plural, scaled, share, significant, utc

_ALWAYS_SHOWN = ("tp", "pp", "dp")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one line; `tone` is the worst severity, "good" where all was checked and is well, else "none"."""

    tone: str
    headline: str
    detail: str


def verdict(report: Report) -> Verdict:
    """What an operator reads first."""
    if report.findings:
        return _troubled(report)
    if not report.jobs:
        return Verdict("none", "No training job found", "because " + "; ".join(why_no_job(report)))
    floors = [j.detectability.smallest_slowdown_ratio for j in report.jobs]
    known = [floor for floor in floors if floor is not None]
    detail = f"Smallest detectable slowdown: {share(max(known) - 1)}" if known else ""
    if len(known) == len(floors):
        return Verdict("good", f"No findings in {plural(len(floors), 'job')}", detail)
    unchecked = f"{plural(len(floors) - len(known), 'job')} could not be checked for faults"
    if known:
        return Verdict("none", f"No findings in {plural(len(known), 'job')}, {unchecked}", detail)
    reasons = dict.fromkeys(reason for job in report.jobs for reason in job.detectability.reasons)
    return Verdict("none", unchecked[:1].upper() + unchecked[1:], "; ".join(reasons))


def _troubled(report: Report) -> Verdict:
    tone = next(s for s in SEVERITIES if any(f.severity == s for f in report.findings))
    in_jobs = [f for f in report.findings if f.job is not None]
    elsewhere = [f for f in report.findings if f.job is None]
    parts = [f"{_tally(in_jobs)} in {_where(report, in_jobs)}"] if in_jobs else []
    parts += [f"{_tally(elsewhere)} about the feed"] if elsewhere else []
    worst = [f for f in report.findings if f.severity == tone]
    return Verdict(tone, ", ".join(parts), worst[0].summary if len(worst) == 1 else "")


def _tally(findings: Sequence[Finding]) -> str:
    words = {"critical": "critical finding", "warning": "warning", "info": "note"}
    counts = {severity: sum(f.severity == severity for f in findings) for severity in SEVERITIES}
    return " and ".join(plural(counts[s], words[s]) for s in SEVERITIES if counts[s])


def _where(report: Report, findings: Sequence[Finding]) -> str:
    if len(report.jobs) == 1:
        return f"job {title(report.jobs[0])}"
    return f"{len({f.job for f in findings})} of {plural(len(report.jobs), 'job')}"


def why_no_job(report: Report) -> tuple[str, ...]:
    """Why no training job was found, as the analysis put it."""
    if report.unassigned:
        return report.unassigned
    if report.feed.records == 0:
        return ("the input holds no usable flow record",)
    return ("no group of endpoints exchanges traffic that comes back with a period",)


def title(job: JobReport) -> str:
    """A job's label from the inventory, with its id; else its id."""
    return f"{job.label} ({job.id})" if job.label and job.label != job.id else job.id


def sizes(layout: Sizes) -> str:
    """`tp 2 · pp 2 · dp 4`: unknown sizes as `?`, cp and ep only where they are not 1."""
    shown = [
        f"{name} {'?' if value is None else value}"
        for name, value in ((n, getattr(layout, n)) for n in ("tp", "cp", "ep", "pp", "dp"))
        if name in _ALWAYS_SHOWN or value not in {None, 1}
    ]
    return " · ".join(shown)


def sharding(layout: Layout) -> str:
    """How parameters and optimizer state are sharded over dp."""
    words = {
        None: "sharding unknown",
        "none": "not sharded",
        "zero": "ZeRO-sharded optimizer",
        "fsdp": "fully sharded (FSDP)",
    }
    return words[layout.sharding]


def scope(job: JobReport) -> str:
    """`16 GPUs · 16 endpoints on 8 hosts`, with what is known of it."""
    parts = [plural(job.world_size, "GPU")] if job.world_size is not None else []
    hosts = f" on {plural(len(job.hosts), 'host')}" if job.hosts else ""
    return " · ".join([*parts, plural(len(job.endpoints), "endpoint") + hosts])


def subject(of: Subject | Suspect, names: Names) -> str:
    """What a finding or suspicion is about: `link leaf1 – 10.1.1.1 (s1 gpu 0)`."""
    ports = (of.a_port, of.b_port) if isinstance(of, Subject) else (None, None)
    labels = [names.full(i) for i in of.ids]
    if of.type == "link":
        with_ports = zip(labels, [*ports, None, None], strict=False)
        return "link " + " – ".join(f"{end} port {port}" if port is not None else end for end, port in with_ports)
    kind = f"{of.group} group" if isinstance(of, Subject) and of.group else of.type
    return f"{kind} {_listed(labels)}"


def _listed(labels: list[str], most: int = 8) -> str:
    rest = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {rest} more" if rest > 0 else "")


def since(job: JobReport | None, finding: Finding) -> str:
    """Since when, in UTC and iterations, and whether it is still on."""
    index = iteration_at(job, finding.start_ns) if job is not None else None
    start = f"since {utc(finding.start_ns)} UTC" + ("" if index is None else f" (iteration {index})")
    if finding.end_ns is None:
        return f"{start}, still on"
    last = iteration_at(job, finding.end_ns - 1) if job is not None else None
    return f"{start}, until {utc(finding.end_ns)} UTC" + ("" if last is None else f" (iteration {last})")


def format_confidence(ratio: float) -> str:
    """How sure: `92 % sure`."""
    return f"{share(ratio)} sure"


def format_gain(gained: ExpectedGain) -> str:
    """Format an expected gain: `saves 0.98 s (49 %) per iteration: 2.01 s -> 1.03 s`."""
    saved = f"saves {duration(gained.saved_s)} ({share(gained.saved_ratio)}) per iteration"
    return f"{saved}: {duration(gained.now_s)} → {duration(gained.without_s)}"


def format_slowdown(ratio: float) -> str:
    """A slowdown ratio in words: `12 % slower`, `2.10 times as slow`."""
    return f"{share(ratio - 1)} slower" if ratio < 2 else f"{significant(ratio)} times as slow"


def detectability(of: Detectability) -> list[str]:
    """What this feed can and cannot show of a job."""
    lines = []
    if of.timeline_error_ratio is not None:
        lines.append(f"iteration times are right within about {share(of.timeline_error_ratio)}")
    if of.smallest_slowdown_ratio is not None:
        lines.append(f"smallest detectable slowdown: {share(of.smallest_slowdown_ratio - 1)}")
    return [*lines, *of.reasons]


_SPLIT = re.compile(r"(?<=\d) (?=(?:%|×|[kMGTP]?B|[kMGTP]?bit/s|[nµm]?s|min|h|GPU-hours)(?![\w-]))")


def keep_units(text: str) -> str:
    """A sentence whose figures stay on the line of their units."""
    return _SPLIT.sub("\N{NO-BREAK SPACE}", text)


def headline(kind: str, where: str, slowdown_ratio: float) -> str:
    """An incident in three lines of a phone: `slow link, leaf1 port 6 – h5/0: 33 % slower`."""
    slower = f": {format_slowdown(slowdown_ratio)}" if slowdown_ratio > 1 else ""
    return f"{kind[:1].upper()}{kind[1:]}, {where}{slower}"


def within(half: float, unit: str) -> str:
    """Half of an interval as it follows a number, ` ± 45.0 MB`; nothing where there is none, or it is not known."""
    return f" ± {scaled(half, unit)}" if half > 0 else ""


def training_time(spent: TrainingTime | None) -> list[str]:
    """Where a job's time went: `97 % effective training time`, then what took the rest, most first."""
    if spent is None or spent.effective_ratio is None:
        return []
    least, most = spent.effective_ratio
    ratio = share(most) if round(1000 * (most - least)) == 0 else f"{share(least)} to {share(most)}"
    causes = {**spent.slowed_by_ns, **spent.paused_by_ns, **spent.down_by_ns, "not seen": spent.unknown_ns}
    if spent.repeated_ns[1]:
        causes["repeated at most"] = spent.repeated_ns[1]
    worst = sorted(((ns, cause) for cause, ns in causes.items() if ns), key=lambda pair: (-pair[0], pair[1]))
    lost = [f"{cause.replace('_', ' ')} {duration(ns / 1e9)}" for ns, cause in worst]
    return [f"{ratio} effective training time of {duration((spent.end_ns - spent.start_ns) / 1e9)}", *lost]


def traffic(feed: FeedSummary) -> list[str]:
    """What the bytes are for: `92 %  training`, most first."""
    total = sum(feed.traffic_classes.values())
    return [f"{share(size / total)}  {name.replace('_', ' ')}" for name, size in feed.traffic_classes.items()]


def post_training(found: PostTraining | None) -> list[str]:
    """How long weights take to the engines of a job of reinforcement learning, and what follows."""
    if found is None:
        return []
    syncs = plural(found.syncs, "synchronization")
    weights = f"{syncs} of weights to {plural(len(found.takers), 'endpoint')}, {duration(found.sync_s)} each"
    gap = (
        [] if found.rollout_gap_s is None else [f"{duration(found.rollout_gap_s)} until the ranks exchange data again"]
    )
    return [weights, *gap]
