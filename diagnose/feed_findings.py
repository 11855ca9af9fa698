"""Findings about the telemetry itself: what an exporter tells wrongly, loses, or does not tell any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from capture.netflow.wire.reasons import NO_TEMPLATE, REASONS, STILL_WAITING, TEMPLATE_LATE, WAITING_FULL
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.findings import Evidence, Finding, Severity, Subject
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import Flows
from diagnose.finding_text import finding_id, listed
from diagnose.options import MODEL
from reconstruct.clocks.clock_offsets import COLLECTOR, MIRROR, ClockOffset, UnknownClock, is_timestamped_by
from reconstruct.clocks.export_delays import ExportDelays, least_lags
from reconstruct.streams.observations import CONNECTION, is_of_cache
from reconstruct.timelines.merged_messages import FOLLOWS_NS

# Losses and doubles below this share of what was sent are no news; from the second on they spoil what is concluded.
NEWS, SPOILS = 0.001, 0.01
# Datagrams that overtake one another are usual up to this share.
LATE = 0.15
# An exporter is silent when it has said nothing for so many of its usual pauses and this share of the window, while
# others saw so many records of endpoints that it used to see.
PAUSES, SILENT_SHARE, STILL_SEEN = 20.0, 0.1, 10
FEWEST_DATAGRAMS = 10
# Stamps are compared with arrivals in so many parts of the window; a step between two is a jump beyond so many times
# the usual one and this long.
PARTS, USUAL_STEPS, LEAST_JUMP_NS = 12, 8.0, 50_000_000
FEWEST_RECORDS = 10
# A step is a jump where so many parts on either side of it agree.
STEADY_PARTS = 3
# Records of one length, to this share, that the next one follows at once are cut by a timeout; worth telling where so
# much of all bytes lies in them.
TIMEOUT_SHARE, CUT_SHARE = 0.1, 0.5
MOST_EVIDENCE = 12
# Clocks that are off by less are as good as synchronised.
WORTH_TELLING_NS = 10_000_000
_TEMPLATES = frozenset({REASONS[NO_TEMPLATE], REASONS[TEMPLATE_LATE], REASONS[WAITING_FULL], STILL_WAITING})


@dataclass(frozen=True, slots=True)
class FeedView:
    """What is known of a feed.

    Attributes:
        accounts: what each exporter of export datagrams sent and lost.
        flows: all records.
        window_ns: their first and last time.
        switches: name of the switch of each exporter's address, where an inventory tells it.
        clocks: as far as they are known; the records' times are set right by those that are off.
        unknown: those that are not.
        attached: name of the switch that each endpoint is plugged into, by address code, where an inventory tells it.
        carries: (rows,) which records carry volume; None: all. The others saw what another feed saw better.
    """

    accounts: Sequence[ExporterStats]
    flows: Flows
    window_ns: tuple[int, int]
    switches: Mapping[str, str]
    clocks: Sequence[ClockOffset] = ()
    unknown: Sequence[UnknownClock] = ()
    attached: Mapping[int, str] = field(default_factory=dict)
    carries: Bool | None = None


def feed_findings(view: FeedView) -> list[Finding]:
    """Findings of kind `feed`, by exporter: one for each thing that is wrong with it.

    A wrong sampling rate, lost and doubled datagrams and templates show in what exporters count themselves; silence in
    what others still see; changed rates and clocks that jump in the records. A meter's timeouts show in its records,
    whoever received them.
    """
    found: list[Finding] = []
    codes = {address: code for code, address in enumerate(view.flows.addresses)}
    sampler, domain = view.flows.frame["sampler_address"], view.flows.frame["observation_domain_id"]
    lags = _stamped_lags(view.flows.frame)
    for account in view.accounts:
        code = codes.get(account.agent, -2)
        own = np.flatnonzero(sampler == code)
        of_one = (*_rate(view, account), *_lost(view, account), *_doubled(view, account), *_restarted(view, account))
        found += [*of_one, *_silent(view, account, own), *_changed_rate(view, account, own)]
        found += [*_jump(view, account, lags, code), *_cut(view, account, own)]
    for code in _without_account(view):
        own = np.flatnonzero(sampler == code)
        unnamed = ExporterStats("records", view.flows.addresses[code], int(domain[own].min()))
        found += _cut(view, unnamed, own)
    return _together([*found, *_clocks(view), *_unheard(view)])


# Findings that follow from the time between what reaches an endpoint and what it sends.
COMPUTE = frozenset({"straggler", "imbalance"})


def downgrade_findings(findings: Sequence[Finding], *, lossy: bool) -> list[Finding]:
    """Findings from exact records of which too many were lost: what is missing may look like what is slow."""
    return [_doubtful(f, "The feed lost records") for f in findings] if lossy else list(findings)


def downgrade_compute(findings: Sequence[Finding], *, silent: bool) -> list[Finding]:
    """Findings on a job behind `silent` switches: who waits for what they do not report seems to compute."""
    said = "Switches of some endpoints export nothing"
    return [_doubtful(f, said) if silent and f.kind in COMPUTE else f for f in findings]


def _doubtful(finding: Finding, why: str) -> Finding:
    summary = f"{finding.summary} {why}: what is missing may look the same."
    return finding.model_copy(update={"severity": "info", "summary": summary})


def _together(found: Sequence[Finding]) -> list[Finding]:
    """One finding where several exporters ail alike."""
    alike: dict[tuple[str | None, Severity], list[Finding]] = {}
    for finding in found:
        alike.setdefault((finding.cause, finding.severity), []).append(finding)
    return [_of_several(same) if len(same) > 1 else same[0] for same in alike.values()]


def _of_several(same: Sequence[Finding]) -> Finding:
    first, names = same[0], tuple(sorted({name for f in same for name in f.subject.ids}))
    return first.model_copy(
        update={
            "id": finding_id("feed", first.cause or "", names, first.start_ns),
            "start_ns": min(f.start_ns for f in same),
            "subject": first.subject.model_copy(update={"ids": names}),
            "evidence": tuple(e for f in same for e in f.evidence)[:MOST_EVIDENCE],
            "summary": f"{listed(names)}: {len(same)} exporters ail alike. {first.summary}",
        }
    )


def _finding(
    view: FeedView,
    account: ExporterStats,
    cause: str,
    severity: Severity,
    evidence: Sequence[tuple[str, float, float, str]],
    words: tuple[str, str],
    start_ns: int | None = None,
) -> Finding:
    """One finding; `evidence` are metric, value, baseline and unit, `words` the summary and what to do."""
    name = view.switches.get(account.agent, account.agent)
    where = f"{account.protocol} of {account.agent}, domain {account.domain}"
    start = view.window_ns[0] if start_ns is None else start_ns
    return Finding(
        id=finding_id(account.protocol, "feed", (cause, name, str(account.domain)), start),
        job=None,
        kind="feed",
        cause=cause,
        severity=severity,
        start_ns=start,
        end_ns=None,
        confidence=MODEL.most_confidence,
        slowdown_ratio=1.0,
        subject=Subject(type="switch", ids=(name,)),
        evidence=tuple(
            Evidence(metric=m, value=round(v, 6), baseline=round(b, 6), unit=u, where=where, window_ns=view.window_ns)
            for m, v, b, u in evidence
        ),
        summary=f"{name} ({where}) {words[0]}",
        action=words[1],
    )


def _rate(view: FeedView, account: ExporterStats) -> Iterator[Finding]:
    doubted = account.doubted_rates
    if doubted:
        first = doubted[0]
        said = listed(tuple(f"{d.where} says 1 in {d.told} but samples 1 in {d.likely}" for d in doubted), 3)
        rows = [
            (f"sampling rate by {d.counted}, {d.where}", float(d.likely), float(d.told), "1 in") for d in doubted[:6]
        ]
        words = (
            f"tells a sampling rate that its own {first.counted} contradict: {said}.",
            "Correct the rate in the switch, or give the true one with --sampling-rate.",
        )
        yield _finding(view, account, "sampling_rate", "warning", rows, words)


def _lost(view: FeedView, account: ExporterStats) -> Iterator[Finding]:
    if account.loss_ratio >= NEWS:
        share, lost = 100 * account.loss_ratio, account.lost_datagrams
        grade: Severity = "warning" if account.loss_ratio >= SPOILS else "info"
        words = (
            f"lost {lost} datagram{'s' if lost > 1 else ''} on the way, {share:.1f} % of what it sent.",
            "Look at the path to the collector, its receive buffer and the switch's export queue.",
        )
        yield _finding(view, account, "loss", grade, [("share lost", account.loss_ratio, 0.0, "")], words)
    unread = sum(count for reason, count in account.rejected.items() if reason in _TEMPLATES)
    if unread:
        share = unread / (unread + max(account.datagrams, 1))
        words = (
            f"sent {unread} sets of records whose template did not come: they cannot be read.",
            "Let the exporter send its templates more often.",
        )
        grade = "warning" if share >= SPOILS else "info"
        yield _finding(view, account, "templates", grade, [("sets without a template", unread, 0.0, "")], words)


def _doubled(view: FeedView, account: ExporterStats) -> Iterator[Finding]:
    share = account.duplicates / max(account.datagrams + account.duplicates, 1)
    if share >= NEWS:
        words = (
            f"sends datagrams twice, {100 * share:.1f} % of them; the second ones are left out.",
            "Look for two paths or two collectors that forward to this one.",
        )
        yield _finding(
            view, account, "double_counting", "info", [("share of datagrams doubled", share, 0.0, "")], words
        )
    late = account.late / max(account.datagrams, 1)
    if late >= LATE:
        words = (
            f"has {100 * late:.0f} % of its datagrams overtaken by later ones on the way.",
            "Look at the path to the collector; times of samples without stamps of their own are worse for it.",
        )
        yield _finding(view, account, "reordering", "info", [("share of datagrams overtaken", late, 0.0, "")], words)


def _restarted(view: FeedView, account: ExporterStats) -> Iterator[Finding]:
    if account.restarts:
        words = (
            f"began anew {account.restarts} time{'s' if account.restarts > 1 else ''}: its counts start from nothing.",
            "Find out whether the switch or its agent was restarted on purpose.",
        )
        yield _finding(view, account, "restart", "info", [("restarts", account.restarts, 0.0, "")], words)


def _silent(view: FeedView, account: ExporterStats, own: Int) -> Iterator[Finding]:
    """An exporter that says nothing more while others still see the endpoints that it saw."""
    others = [a.last_ns for a in view.accounts if a.protocol == account.protocol]
    begin, end = view.window_ns[0], max(others, default=0)
    pause = (account.last_ns - account.first_ns) / max(account.datagrams - 1, 1)
    quiet = end - account.last_ns
    if account.datagrams < FEWEST_DATAGRAMS or quiet < max(PAUSES * pause, SILENT_SHARE * (end - begin)):
        return
    frame = view.flows.frame
    known = np.zeros(len(view.flows.addresses) + 1, np.bool_)
    known[frame["src_addr"][own]] = True
    since = frame["time_flow_start_ns"] > account.last_ns
    since[own] = False
    seen = int(np.count_nonzero(known[frame["src_addr"][since]] | known[frame["dst_addr"][since]]))
    if seen >= STILL_SEEN:
        words = (
            f"has been silent for {quiet / 1e9:.0f} s, while others still see the endpoints that it used to see.",
            "Check the switch's export process and its path to the collector: its silence is not the job's.",
        )
        rows = [("silence", quiet / 1e9, pause / 1e9, "s"), ("records of its endpoints elsewhere since", seen, 0.0, "")]
        yield _finding(view, account, "silence", "warning", rows, words, account.last_ns)


def _unheard(view: FeedView) -> Iterator[Finding]:
    """Switches that should export, for most of those that endpoints are plugged into do, and of which nothing came.

    Only where others saw what their endpoints do: a switch without traffic has nothing to tell.
    """
    agents = {name: agent for agent, name in view.switches.items()}
    frame, heard = view.flows.frame, {a.agent for a in view.accounts}
    expected = {name: agents[name] for name in sorted(set(view.attached.values())) if name in agents}
    missing = [name for name, agent in expected.items() if agent not in heard]
    if not missing or 2 * len(missing) > len(expected):
        return
    switch = np.zeros(len(view.flows.addresses) + 1, np.int64)  # 0: none of them
    for code, name in view.attached.items():
        switch[code] = missing.index(name) + 1 if name in missing else 0
    counts = [np.bincount(switch[frame[end]], minlength=len(missing) + 1) for end in ("src_addr", "dst_addr")]
    seen = counts[0] + counts[1]
    for number, name in enumerate(missing, 1):
        if seen[number] >= STILL_SEEN:
            words = (
                "has sent nothing at all, while others see the endpoints that are plugged into it.",
                "Check the switch's export process and its path to the collector.",
            )
            rows = [("records of its endpoints elsewhere", float(seen[number]), 0.0, "")]
            yield _finding(view, ExporterStats("export", expected[name], 0), "unheard", "warning", rows, words)


def _cut(view: FeedView, account: ExporterStats, own: Int) -> Iterator[Finding]:
    """An active timeout that cuts what a meter counts: records of one length, each followed at once by the next.

    What they hold is averaged over the timeout, and its beat may be taken for that of a job.
    """
    frame = view.flows.frame
    own = own[frame["metered"][own]]
    own = own if view.carries is None else own[view.carries[own]]
    if len(own) < FEWEST_RECORDS:
        return
    columns = [frame[name][own] for name in ("time_flow_start_ns", *CONNECTION)]
    order = np.lexsort(columns)
    own, same = own[order], np.all([c[order][1:] == c[order][:-1] for c in columns[1:]], axis=0)
    start, end, size = (frame[name][own] for name in ("time_flow_start_ns", "time_flow_end_ns", "bytes"))
    pause = start[1:] - end[:-1]
    cut = np.append(same & (pause <= np.maximum((end - start)[:-1] // 10, FOLLOWS_NS)), False)
    length = (end - start)[cut]
    if len(length) < FEWEST_RECORDS:
        return
    timeout = float(np.median(length))
    alike = cut & (np.abs(end - start - timeout) <= TIMEOUT_SHARE * timeout)
    share = float(size[alike].sum() / max(size.sum(), 1))
    if share >= CUT_SHARE:
        said = (
            f"cuts flows every {timeout / 1e9:.2g} s: {100 * share:.0f} % of its bytes lie in such records, so nothing "
            "shorter shows, and their beat may be taken for a job's."
        )
        words = said, "Shorten its active timeout to a twentieth of an iteration, or add sFlow or a mirror."
        rows = [("share of bytes in records that the active timeout cut", share, 0.0, "")]
        yield _finding(
            view, account, "active_timeout", "info", [*rows, ("active timeout", timeout / 1e9, 0.0, "s")], words
        )


def _without_account(view: FeedView) -> list[int]:
    """Codes of meters' addresses that records name whose datagrams somebody else received."""
    frame, told = view.flows.frame, {account.agent for account in view.accounts}
    codes = np.unique(frame["sampler_address"][frame["metered"].astype(np.bool_)]).tolist()
    return [code for code in codes if code >= 0 and view.flows.addresses[code] not in told]


def _changed_rate(view: FeedView, account: ExporterStats, own: Int) -> Iterator[Finding]:
    """A sampling rate that is another one from some time on, on all interfaces that tell one."""
    rates = [r for r in account.sampling_rates if r > 0]
    if len(rates) < 2 or not len(own):
        return
    frame = view.flows.frame
    rate, when, port = frame["sampling_rate"][own], frame["time_flow_start_ns"][own], frame["in_if"][own]
    order = np.lexsort([when, port])
    same = (np.diff(port[order]) == 0) & (np.diff(rate[order]) != 0)
    changes = when[order][1:][same]
    if 0 < len(changes) <= 2 * len(np.unique(port)):
        first = int(changes.min())
        before, after = (int(np.median(rate[side])) for side in (when < first, when >= first))
        words = (
            f"changed its sampling rate from 1 in {before} to 1 in {after}; volumes are scaled by what records say.",
            "Find out who changed it: the detection of slowdowns changes with it.",
        )
        yield _finding(view, account, "rate_change", "info", [("sampling rate", after, before, "1 in")], words, first)


def _clocks(view: FeedView) -> Iterator[Finding]:
    """Clocks that are off by what changes iteration times; and those that nobody knows, where others are off.

    Not those whose stamps are no finer, as NetFlow v9's of few datagrams, whose headers tell whole seconds.
    """
    worth = [known for known in view.clocks if known.is_off and abs(known.offset_ns) >= WORTH_TELLING_NS]
    doubt_ns = 2 * max((_doubt_ns(view, known) for known in worth), default=0.0)  # it was compared with such as well
    off = [known for known in worth if abs(known.offset_ns) > doubt_ns]
    for known in off:
        way = "ahead" if known.offset_ns > 0 else "behind"
        rows = [
            ("clock ahead of others", known.offset_ns / 1e9, 0.0, "s"),
            ("drift", known.drift_ppm, 0.0, "ppm"),
            ("standard error of the offset", known.error_ns / 1e9, 0.0, "s"),
        ]
        words = (
            f"has a clock {abs(known.offset_ns) / 1e6:.0f} ms {way} of {_against(known)}; its times are set right.",
            "Check the switch's time synchronisation.",
        )
        yield _finding(view, _dated(view, known.sampler), "clock_offset", "info", rows, words)
    for unknown in view.unknown if off else ():
        words = (
            f"has a clock that is not known, while others are off: {unknown.why}.",
            "Check the switch's time synchronisation; what it alone saw may lie elsewhere in time.",
        )
        yield _finding(view, _dated(view, unknown.sampler), "clock_unknown", "info", [], words)


def _doubt_ns(view: FeedView, known: ClockOffset) -> float:
    """What the times that a clock dates may be off anyway."""
    own = is_timestamped_by(view.flows.frame, known)
    return float(view.flows.frame["time_uncertainty_ns"][own].max()) if own.any() else 0.0


def _against(known: ClockOffset) -> str:
    return f"the {known.against}'s" if known.against in {COLLECTOR, MIRROR} else f"what {known.against} show"


def _dated(view: FeedView, sampler: int) -> ExporterStats:
    """The account of an exporter; of one whose records came in files, its address."""
    agent = view.flows.addresses[sampler]
    told = (account for account in view.accounts if account.agent == agent)
    return next(told, ExporterStats("records", agent, 0))


def _stamped_lags(frame: Frame) -> ExportDelays:
    """Least lags of samples with stamps of their agent's own: a meter holds its records for as long as it pleases."""
    single = (frame["packets"] == 1) & (frame["time_flow_start_ns"] == frame["time_flow_end_ns"])
    single &= ~is_of_cache(frame, np.ones(len(frame), np.bool_))
    return least_lags(frame, single & (frame["time_uncertainty_ns"] * 2 < LEAST_JUMP_NS), PARTS)


def _jump(view: FeedView, account: ExporterStats, lags: ExportDelays, sampler: int) -> Iterator[Finding]:
    """A clock that jumps: the least time from stamp to arrival, of which some are sent at once, is suddenly another."""
    n = int(np.searchsorted(lags.samplers, sampler))
    if sampler not in lags.samplers or lags.count[n].sum() < PARTS * FEWEST_RECORDS:
        return
    least = np.where(lags.count[n] >= FEWEST_RECORDS, lags.least_ns[n], np.nan)
    step = np.diff(least)
    known = step[np.isfinite(step)]
    if len(known) < PARTS // 2:
        return
    at = int(np.nanargmax(np.abs(step)))
    if not STEADY_PARTS - 1 <= at < PARTS - STEADY_PARTS:
        return
    usual = float(np.median(np.abs(known)))
    rest = np.concatenate([least[: at + 1], least[at + 1 :] - step[at]])
    if abs(step[at]) < max(LEAST_JUMP_NS, USUAL_STEPS * usual) or np.nanmax(np.abs(np.diff(rest))) > abs(step[at]) / 2:
        return
    begin, end = int(lags.begin_ns[n]), int(lags.end_ns[n])
    when = begin + (end - begin) * (at + 1) // PARTS
    words = (
        f"has a clock that jumped by {-step[at] / 1e6:+.0f} ms against the arrival of its records.",
        "Check the switch's time synchronisation.",
    )
    yield _finding(view, account, "clock", "warning", [("clock jump", -step[at] / 1e9, 0.0, "s")], words, when)
