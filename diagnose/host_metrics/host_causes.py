"""Series of suspects and of their peers -> why a suspect is slow.

1. A series speaks where it changes at a time that fits the finding's, by more than its noise and by what matters, and
   is worse than the same metric on other hosts, of which the median changes less.
2. A lower clock is an effect: heat where throttling for heat or a temperature says so, power where throttling for power
   does, else of unknown cause. Temperature and throttling of a GPU that holds its clock say nothing. Where only the
   hottest GPU of a host is known, its heat speaks if the host's GPUs draw less power than before, against their peers:
   a GPU that works more also gets hotter, and draws more.
3. Of several causes the one counts whose onset is nearest to the finding's.
4. Confidence is the rule of succession: of n healthy series that the same rule was applied to, so many did not speak;
   divided by the causes whose onset fits as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reports.host_cause import HostCause, HostCauseKind, HostEvidence
from diagnose.host_metrics.counter_series import ALL_GPUS
from diagnose.host_metrics.measures import CLOCK, HOTTEST, POWER_DRAW, TEMPERATURES
from diagnose.host_metrics.options import HostMetricsOptions
from diagnose.host_metrics.series_changes import HostSeries, increments, level, level_change, rate_change, spread

_OPTIONS = HostMetricsOptions()
_SUPPORTING = frozenset(one.name for one in (*TEMPERATURES, POWER_DRAW))  # say nothing by themselves


@dataclass(frozen=True, slots=True)
class _Change:
    """A series that speaks, how many times as much as it must, and how many of its peers, judged alike, are silent."""

    series: HostSeries
    evidence: HostEvidence
    excess: float
    until_ns: int
    peers: int
    silent: int


def host_causes(
    series: Sequence[HostSeries],
    suspects: Mapping[str, Collection[int]],
    onset_ns: int,
    options: HostMetricsOptions = _OPTIONS,
) -> list[HostCause]:
    """What explains that suspects are slow, best first; empty where nothing speaks.

    Args:
        series: of suspects and peers.
        suspects: hosts, with the GPUs in question; none: all of that host.
        onset_ns: since when the finding is so, UTC.
        options: constants.
    """
    by_name: dict[str, list[HostSeries]] = {}
    for one in sorted(series, key=lambda s: (s.measure.name, s.host, s.device)):
        by_name.setdefault(one.measure.name, []).append(_cut(one, onset_ns, options))
    comparison = _Comparison(by_name, frozenset(suspects), onset_ns, options)
    found = [
        change
        for name, some in by_name.items()
        if name not in _SUPPORTING
        for one in some
        if one.host in suspects and _in_question(one, suspects[one.host])
        if (change := comparison.change(one)) is not None
    ]
    return _ranked(comparison, found, onset_ns, options)


def _in_question(one: HostSeries, gpus: Collection[int]) -> bool:
    return not gpus or one.device == ALL_GPUS or one.measure.kind == "nic_errors" or _gpu(one.device) in gpus


def _gpu(device: str) -> int | None:
    return int(device) if device.isdecimal() else None


def _cut(one: HostSeries, onset_ns: int, options: HostMetricsOptions) -> HostSeries:
    start_ns, end_ns = onset_ns - round(options.past_s * 1e9), onset_ns + round(options.after_s * 1e9)
    inside = (one.times_ns >= start_ns) & (one.times_ns <= end_ns) & np.isfinite(one.values)
    return HostSeries(one.measure, one.host, one.device, one.times_ns[inside], one.values[inside])


@dataclass(frozen=True, slots=True)
class _Comparison:
    """All series by metric, and how one of them compares with the others."""

    series: Mapping[str, Sequence[HostSeries]]
    suspects: Collection[str]
    onset_ns: int
    options: HostMetricsOptions

    def change(self, one: HostSeries) -> _Change | None:
        """What a series says; None where it is silent."""
        peers = self.peers(one)
        if len(peers) < self.options.peers or (change := self._judged(one, peers)) is None:
            return None
        silent = sum(self._judged(peer, self.peers(peer)) is None for peer in peers)
        evidence, excess, until_ns = change
        return _Change(one, evidence, excess, until_ns, len(peers), silent)

    def peers(self, one: HostSeries) -> list[HostSeries]:
        """The same metric on other hosts: on those that are no suspects, where these are enough."""
        others = [peer for peer in self.series[one.measure.name] if peer.host != one.host]
        healthy = [peer for peer in others if peer.host not in self.suspects]
        return healthy if len(healthy) >= self.options.peers else others

    def _judged(self, one: HostSeries, peers: Sequence[HostSeries]) -> tuple[HostEvidence, float, int] | None:
        counts = one.measure.form != "level"
        between = rate_change(increments(one)) if counts else level_change(one, self.options)
        if between is None or not self._fits(between):
            return None
        found = self._count(one, peers, between[0]) if counts else self.levels(one, peers, between[0])
        return None if found is None else (*found, between[1])

    def _fits(self, between: tuple[int, int]) -> bool:
        early_ns, late_ns = round(self.options.early_s * 1e9), round(self.options.late_s * 1e9)
        return between[1] >= self.onset_ns - early_ns and between[0] <= self.onset_ns + late_ns

    def levels(self, one: HostSeries, peers: Sequence[HostSeries], split_ns: int) -> tuple[HostEvidence, float] | None:
        """A level against its past and against peers, before and after a time; None where it is not worse."""
        sign, (past, now, noise) = (-1.0 if one.measure.falls else 1.0), _levels(one, split_ns)
        around = np.array([_levels(peer, split_ns)[:2] for peer in peers]).reshape(-1, 2)
        around = around[np.isfinite(around).all(axis=1)]
        if len(around) < self.options.peers or not np.isfinite([past, now]).all():
            return None
        moved, usual = around[:, 1] - around[:, 0], float(np.median(around[:, 1]))
        matters = self.options.clock_ratio * past if one.measure is CLOCK else self.options.temperature_c
        own, relative = sign * (now - past), sign * (now - past - float(np.median(moved)))
        least = min(
            own / max(matters, self.options.deviations * noise),
            relative / max(matters, self.options.deviations * spread(moved)),
            sign * (now - usual) / matters,
        )
        return (_evidence(one, now, usual, past, split_ns), least) if least >= 1 else None

    def _count(self, one: HostSeries, peers: Sequence[HostSeries], split_ns: int) -> tuple[HostEvidence, float] | None:
        """Errors or throttled time against the past and against peers; None where they are not more."""
        end_ns, options = int(one.times_ns[-1]), self.options
        own = increments(one)
        (count, lasting_s), (before, before_s) = own.rate(split_ns, end_ns), own.rate(0, split_ns)
        around = [increments(peer).rate(split_ns, end_ns) for peer in peers]
        rates = np.array([counted / seconds for counted, seconds in around if seconds > 0])
        if len(rates) < options.peers or before_s <= 0:
            return None
        rate, past, usual = count / lasting_s, before / before_s, float(np.median(rates))
        if one.measure.form in {"failure", "code"}:
            if before > 0 or usual > 0:
                return None
            last = one.values[-1] if one.measure.form == "code" else count
            return _evidence(one, float(last), 0.0, 0.0, split_ns), count
        matters = options.throttled_ratio if one.measure.form == "time" else options.errors_per_s
        expected = past * lasting_s
        least = min(
            rate
            / max(matters, options.times * past, options.times * usual, usual + options.deviations * spread(rates)),
            count / (expected + options.deviations * max(expected, 1.0) ** 0.5),
        )
        per = 100.0 if one.measure.form == "time" else 60.0
        return (_evidence(one, rate * per, usual * per, past * per, split_ns), least) if least >= 1 else None

    def shown_by(self, one: _Change) -> tuple[HostCauseKind | None, list[HostEvidence]] | None:
        """The cause that a series shows with others of its host, and what these say; None where it shows none."""
        series, split_ns = one.series, one.evidence.onset_ns
        if series.measure is CLOCK:
            heat = self.hot(series, split_ns)
            return "thermal" if heat else None, heat
        if series.measure is HOTTEST:
            draw = self.draws_less(series, split_ns)
            return ("thermal", draw) if draw else None
        if series.measure.form == "time" and self.holds_clock(series, split_ns):
            return None
        return series.measure.kind, []

    def holds_clock(self, one: HostSeries, split_ns: int) -> bool:
        """Whether the clock of a series' GPU is exported, and is about as high after a time as before."""
        for clock in self.series.get(CLOCK.name, ()):
            if (clock.host, clock.device) == (one.host, one.device):
                past, now, _ = _levels(clock, split_ns)
                return now > self.options.held_ratio * past
        return False

    def hot(self, one: HostSeries, split_ns: int) -> list[HostEvidence]:
        """Temperatures of a series' GPU that are higher after a time."""
        return [
            found[0]
            for measure in TEMPERATURES
            for heat in self.series.get(measure.name, ())
            if (heat.host, heat.device) == (one.host, one.device)
            if (found := self.levels(heat, self.peers(heat), split_ns)) is not None
        ]

    def draws_less(self, one: HostSeries, split_ns: int) -> list[HostEvidence]:
        """Power of a series' host, where it fell against that of peers; the most slowed GPU is one of several."""
        found = []
        for draw in self.series.get(POWER_DRAW.name, ()):
            around = np.array([_levels(peer, split_ns)[:2] for peer in self.peers(draw)]).reshape(-1, 2)
            around = around[np.isfinite(around).all(axis=1)]
            past, now, _ = _levels(draw, split_ns)
            if draw.host != one.host or len(around) < self.options.peers or not past > 0:
                continue
            if now / past < np.median(around[:, 1] / around[:, 0]):
                found.append(_evidence(draw, now, float(np.median(around[:, 1])), past, split_ns))
        return found


def _levels(one: HostSeries, split_ns: int) -> tuple[float, float, float]:
    """Level before and after a time, and noise before."""
    old = one.times_ns <= split_ns
    return level(one.values[old]), level(one.values[~old]), spread(one.values[old])


def _evidence(one: HostSeries, value: float, peers: float, past: float, onset_ns: int) -> HostEvidence:
    measure = one.measure
    return HostEvidence(
        series=measure.name, meaning=measure.meaning, device=one.device, value=value, peers=peers, past=past,
        unit=measure.unit, onset_ns=onset_ns,
    )  # fmt: skip


def _ranked(
    comparison: _Comparison, found: Iterable[_Change], onset_ns: int, options: HostMetricsOptions
) -> list[HostCause]:
    """Changes put together by host and cause, those first whose onset is nearest to the finding's."""
    groups: dict[tuple[str, HostCauseKind | None], list[tuple[_Change, list[HostEvidence]]]] = {}
    for one in found:
        if (shown := comparison.shown_by(one)) is not None:
            groups.setdefault((one.series.host, shown[0]), []).append((one, shown[1]))
    explained = {
        (one.series.host, one.series.device) for (_, kind), some in groups.items() if kind in {"thermal", "power"}
        for one, _ in some
    }  # fmt: skip
    ranked = []
    for (host, kind), some in groups.items():
        mine = [pair for pair in some if kind is not None or (host, pair[0].series.device) not in explained]
        if mine:
            away_ns = min(max(one.evidence.onset_ns - onset_ns, onset_ns - one.until_ns, 0) for one, _ in mine)
            ranked.append((away_ns, kind is None, -len(mine), host, kind or "", _cause(host, kind, mine, options)))
    ranked.sort(key=lambda entry: entry[:5])
    as_near = max(sum(entry[0] == ranked[0][0] for entry in ranked), 1) if ranked else 1
    return [
        cause.model_copy(update={"confidence": round(cause.confidence / as_near, 3)})
        for *_, cause in ranked
    ]  # fmt: skip


def _cause(
    host: str,
    kind: HostCauseKind | None,
    some: Sequence[tuple[_Change, list[HostEvidence]]],
    options: HostMetricsOptions,
) -> HostCause:
    strongest: dict[str, float] = {}
    single = [one for one, _ in some if one.series.device != ALL_GPUS]
    for one in single or [one for one, _ in some]:
        strongest[one.series.device] = max(strongest.get(one.series.device, 0.0), one.excess)
    order = sorted(strongest, key=lambda device: (-strongest[device], device))
    alone = len(order) == 1 or strongest[order[0]] >= options.outstanding * strongest[order[1]]
    shown = [pair for pair in some if not alone or pair[0].series.device in {order[0], ALL_GPUS}]
    best = max((one for one, _ in shown), key=lambda one: one.excess)
    return HostCause(
        kind=kind,
        host=host,
        gpu=_gpu(order[0]) if alone and kind != "nic_errors" else None,
        confidence=(best.silent + 1) / (best.peers + 2),
        evidence=tuple(evidence for one, heat in shown for evidence in (one.evidence, *heat)),
    )
