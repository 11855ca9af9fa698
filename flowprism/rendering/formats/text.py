"""The report as text for a terminal, the verdict first; it reads well at 80 columns, without colour, in a file."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from datamodel.reports.findings import Event, Finding
from datamodel.reports.layout import GROUP_KINDS
from datamodel.reports.report import FeedSummary, JobReport, Report
from flowprism.rendering import phrases, units
from flowprism.rendering.facts import by_severity, compute_gain, iteration_seconds, job_of
from flowprism.rendering.names import Names
from flowprism.rendering.sparkline import sparkline

_INDENT = 2
_TONES = {
    "critical": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "good": "bold green",
    "none": "bold",
}
_GROUPS_SHOWN = 4
_MEMBERS_SHOWN = 8


def print_report(report: Report, names: Names, console: Console) -> None:
    """Print the whole report: verdict, findings, jobs, feed. No line ends in spaces."""
    with console.capture() as captured:
        _verdict(report, console)
        for finding in by_severity(report):
            _finding(report, finding, names, console)
        for job in report.jobs:
            _job(report, job, names, console)
        if report.jobs:
            _bullets("In no job", report.unassigned, console)
        _feed(report.feed, console)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _verdict(report: Report, console: Console) -> None:
    said = phrases.verdict(report)
    console.print(Text(said.headline, _TONES[said.tone]))
    if said.detail and not report.findings:  # a finding is about to say it itself
        console.print(Text(said.detail))
    span = units.duration((report.window.end_ns - report.window.start_ns) / 1e9)
    parts = (f"{units.utc(report.window.start_ns)} UTC", span, f"{units.count(report.feed.records)} records")
    console.print(Text(" · ".join(parts), "dim"))


def _finding(report: Report, finding: Finding, names: Names, console: Console) -> None:
    job = job_of(report, finding)
    console.print()
    heading = Text(f"{finding.severity.upper()}  ", _TONES[finding.severity])
    console.print(heading.append(finding.summary, "bold"))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(ratio=1)
    for label, value in _finding_facts(job, finding, names):
        facts.add_row(label, Text(value))
    if finding.evidence:
        facts.add_row("evidence", _evidence(finding))
    facts.add_row("do next", Text(finding.action))
    console.print(Padding(facts, (0, 0, 0, _INDENT)))


def _finding_facts(job: JobReport | None, finding: Finding, names: Names) -> Iterable[tuple[str, str]]:
    kind = finding.kind.replace("_", " ") + (f", cause {finding.cause.replace('_', ' ')}" if finding.cause else "")
    yield "what", f"{kind} · {phrases.format_confidence(finding.confidence)}"
    yield "where", phrases.subject(finding.subject, names) + (f" in job {phrases.title(job)}" if job else "")
    yield "when", phrases.since(job, finding)
    gained = compute_gain(job, finding)
    if gained is not None:
        yield "expected gain", phrases.format_gain(gained)
    if finding.suspects:
        ranked = sorted(finding.suspects, key=lambda s: -s.probability)
        yield "suspects", "\n".join(f"{units.share(s.probability):>5}  {phrases.subject(s, names)}" for s in ranked)


def _evidence(finding: Finding) -> Text:
    """Two lines a measurement: what it was against what it should be; then where it was measured."""
    rows = [
        (e.metric.replace("_", " "), units.measured(e.value, e.unit), units.measured(e.baseline, e.unit), e.where)
        for e in finding.evidence
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    text = Text()
    for metric, value, baseline, where in rows:
        text.append(f"{metric:<{widths[0]}}  {value:>{widths[1]}}  against {baseline}\n").append(f"{where}\n", "dim")
    text.rstrip()
    return text


def _job(report: Report, job: JobReport, names: Names, console: Console) -> None:
    console.print()
    console.print(Text("JOB  ", "bold").append(phrases.title(job), "bold").append(f"  {phrases.scope(job)}", "dim"))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(ratio=1)
    for label, value in _job_facts(job, names):
        facts.add_row(label, Text(value))
    console.print(Padding(facts, (0, 0, 0, _INDENT)))
    _iterations(report, job, console)


def _job_facts(job: JobReport, names: Names) -> Iterable[tuple[str, str]]:
    if job.tenant:
        yield "tenant", job.tenant
    layout = job.layout
    yield (
        "layout",
        f"{phrases.sizes(layout)} · {phrases.sharding(layout)} · {phrases.format_confidence(layout.confidence)}",
    )
    if layout.assumed:
        yield "assumed", "; ".join(layout.assumed)
    if layout.alternatives:
        yield (
            "or else",
            "\n".join(f"{phrases.sizes(other.sizes)} ({other.probability:.0%})" for other in layout.alternatives),
        )
    for kind in GROUP_KINDS:
        groups = getattr(job.groups, kind)
        if groups:
            yield f"{kind} groups", _groups(groups, " → " if kind == "pp" else " ", names)
    shown = phrases.detectability(job.detectability)
    if shown:
        yield "can show", "\n".join(shown)


def _groups(groups: tuple[tuple[str, ...], ...], between: str, names: Names) -> str:
    lines = [units.plural(len(groups), "group")]
    for members in groups[:_GROUPS_SHOWN]:
        rest = len(members) - _MEMBERS_SHOWN
        shown = between.join(names.short(m) for m in members[:_MEMBERS_SHOWN])
        lines.append(shown + (f" and {rest} more" if rest > 0 else ""))
    rest = len(groups) - _GROUPS_SHOWN
    return "\n".join([*lines, f"and {units.plural(rest, 'group')} more"] if rest > 0 else lines)


def _iterations(report: Report, job: JobReport, console: Console) -> None:
    if not job.iterations:
        console.print(Padding(Text("no iteration could be distinguished"), (0, 0, 0, _INDENT)))
        return
    findings = [f for f in report.findings if f.job == job.id]
    events = [e for e in report.events if e.job == job.id]
    seconds = iteration_seconds(job)
    spark = sparkline(job, findings, events, console.width - _INDENT)
    jitter = "" if job.jitter_ratio is None else f" · spread {units.share(job.jitter_ratio)}"
    span = f"{units.duration(float(seconds.min()))} to {units.duration(float(seconds.max()))}"
    median = units.duration(job.period_s if job.period_s is not None else float(sorted(seconds)[len(seconds) // 2]))
    head = f"{units.plural(len(job.iterations), 'iteration')} · median {median}{jitter} · {span}"
    if job.uplink_imbalance is not None:
        head += f" · busiest uplink {job.uplink_imbalance:.2f} of the mean"
    for line, style in ((head, ""), (spark.bars, "cyan"), (spark.marks, "bold"), *((k, "dim") for k in spark.key)):
        if line.strip():
            console.print(Padding(Text(line, style), (0, 0, 0, _INDENT)))
    _bullets("Training time", phrases.training_time(job.training_time), console)
    _bullets("Reinforcement learning", phrases.post_training(job.post_training), console)
    _bullets("Events", [_event(e) for e in events], console)


def _event(event: Event) -> str:
    lasted = "" if event.end_ns is None else f", {units.duration((event.end_ns - event.start_ns) / 1e9)}"
    detail = f": {event.detail}" if event.detail else ""
    return f"{units.utc(event.start_ns)} UTC  {event.kind.replace('_', ' ')}{lasted}{detail}"


def _bullets(heading: str, lines: Iterable[str], console: Console) -> None:
    listed = list(lines)
    if not listed:
        return
    console.print(Padding(Text(heading, "dim"), (0, 0, 0, _INDENT)))
    for line in listed:
        console.print(Padding(Text(line), (0, 0, 0, 2 * _INDENT)))


def _feed(feed: FeedSummary, console: Console) -> None:
    console.print()
    exporters = units.plural(len(feed.exporters), "exporter") if feed.exporters else "no exporter named"
    parts = (f"{units.count(feed.records)} records", units.volume(feed.bytes), exporters)
    console.print(Text("FEED  ", "bold").append(" · ".join(parts)))
    if feed.lost_datagrams:
        _bullets("Lost on the way", [units.plural(feed.lost_datagrams, "datagram")], console)
    if feed.duplicate_observations:
        _bullets("Seen twice", [f"{units.count(feed.duplicate_observations)} records, counted once"], console)
    _bullets("Traffic", phrases.traffic(feed), console)
    _bullets("Transports", [f"{units.volume(v)}  {name}" for name, v in feed.transports.items()], console)
    if feed.filled_records:
        _bullets("Filled in", [f"{units.count(feed.filled_records)} lost records, by packet numbers"], console)
    if feed.trimmed_packets:
        _bullets("Trimmed", [f"{units.count(feed.trimmed_packets)} packets, by congested switches"], console)
    _bullets("Not used", [f"{units.count(n)}  {reason}" for reason, n in sorted(feed.rejected.items())], console)
    _bullets("Warnings", feed.warnings, console)
