"""Accounts of a job's ranks -> which rank, or whose network, takes longer than its peers, and with what.

1. Ranks of one role run the same number of kernels of each family. A rank differs where its own time, without waiting
   and transfers, exceeds the median of its peers by what matters and by more than both vary.
2. A class that explains most of that is the cause: computing, copies, or the host. Computing is slowed by one factor
   (clocks) or in one family, whichever leaves less unexplained.
3. Of the host's functions the innermost that explains most of it is named.
4. A group's network differs where its transfers exceed those of other groups that exchange the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capture.profiles.kernel_names import is_loader
from datamodel.telemetry.profiles import Profile, ProfileCause, ProfileVerdict
from diagnose.profiles.account import Account, Part, Seconds
from diagnose.profiles.collective_waits import MatchedGroup
from diagnose.profiles.options import ProfileOptions
from reconstruct.numeric.medians import MAD_TO_SIGMA

_OPTIONS = ProfileOptions()
Label = int | str


@dataclass(frozen=True, slots=True)
class RankAccount:
    """One rank, by number or by file, with its account and the indices of its peers."""

    label: Label
    account: Account
    peers: tuple[int, ...]


def with_peers(profiles: Sequence[Profile], accounts: Sequence[Account]) -> list[RankAccount]:
    """Each rank with those of the same role: that run as many kernels of each family."""
    roles: defaultdict[tuple[tuple[str, int], ...], list[int]] = defaultdict(list)
    keys = [tuple(sorted(account.kernels.items())) for account in accounts]
    for n, key in enumerate(keys):
        roles[key].append(n)
    return [
        RankAccount(
            profile.name if profile.rank is None else profile.rank, account, tuple(m for m in roles[key] if m != n)
        )
        for n, (profile, account, key) in enumerate(zip(profiles, accounts, keys, strict=True))
    ]


def verdicts_of(
    ranks: Sequence[RankAccount],
    profiles: Sequence[Profile],
    groups: Sequence[MatchedGroup],
    options: ProfileOptions = _OPTIONS,
) -> list[ProfileVerdict]:
    """What is unlike peers, the costliest first; empty where nothing is."""
    found = [verdict for n in range(len(ranks)) if (verdict := _rank_verdict(ranks, n, options)) is not None]
    found += _network_verdicts(ranks, profiles, groups, options)
    return sorted(found, key=lambda verdict: (-verdict.excess_s, str(verdict.ranks)))


def _spread(values: Seconds) -> float:
    return MAD_TO_SIGMA * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


@dataclass(frozen=True, slots=True)
class _Against:
    """One rank against its peers."""

    mine: Account
    peers: tuple[Account, ...]

    def excess(self, part: Part) -> tuple[float, float]:
        """What a part takes longer than the peers' median, and that median."""
        usual = float(np.median([peer.typical_s(part) for peer in self.peers]))
        return self.mine.typical_s(part) - usual, usual

    def of_function(self, name: str) -> float:
        """What a function takes longer, with all that it calls."""
        usual = float(np.median([_typical(peer.functions, name) for peer in self.peers]))
        return _typical(self.mine.functions, name) - usual

    def is_loop(self, name: str, options: ProfileOptions) -> bool:
        """Whether a function holds most of what peers do in an iteration, and so most of whatever is slow."""
        shares = [_typical(peer.spans, name) / float(np.median(peer.lasting_s)) for peer in self.peers]
        return float(np.median(shares)) >= options.loop_ratio


def _typical(functions: dict[str, Seconds], name: str) -> float:
    return float(np.median(functions[name])) if name in functions else 0.0


def _rank_verdict(ranks: Sequence[RankAccount], n: int, options: ProfileOptions) -> ProfileVerdict | None:
    one = ranks[n]
    if len(one.peers) < options.peers:
        return None
    against = _Against(one.account, tuple(ranks[peer].account for peer in one.peers))
    own_s = float(np.median(one.account.own_s))
    around_s = np.array([float(np.median(peer.own_s)) for peer in against.peers])
    usual_s = float(np.median(around_s))
    excess_s, iteration_s = own_s - usual_s, float(np.median(one.account.lasting_s))
    noise_s = max(_spread(around_s), _spread(one.account.own_s) / len(one.account.own_s) ** 0.5)
    if excess_s < max(options.excess_ratio * iteration_s, options.deviations * noise_s):
        return None
    cause, what, explained_s, part_usual_s = _cause(against, excess_s, options)
    return ProfileVerdict(
        cause=cause,
        what=what,
        ranks=(one.label,),
        factor=_factor(explained_s, part_usual_s),
        excess_s=round(excess_s, 6),
        share=round(min(explained_s / excess_s, 1.0), 3),
        summary="",
    )


def _factor(more_s: float, usual_s: float) -> float | None:
    return round((usual_s + more_s) / usual_s, 3) if usual_s > 0 else None


def _cause(against: _Against, excess_s: float, options: ProfileOptions) -> tuple[ProfileCause, str, float, float]:
    """The cause, what of it, how much it explains, and how long that takes usually."""
    parts = sorted({part for one in (against.mine, *against.peers) for part in one.parts})
    by_part = {part: against.excess(part) for part in parts if part[0] in {"compute", "copy", "host", "idle"}}
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (what, _), (more_s, usual_s) in by_part.items():
        sort = "host" if what == "idle" else what
        totals[sort][0] += more_s
        totals[sort][1] += usual_s
    sort, (more_s, usual_s) = max(sorted(totals.items()), key=lambda item: item[1][0])
    if more_s < options.cause_share * excess_s:
        return "mixed", sort, more_s, usual_s
    if sort == "compute":
        families = {part[1]: pair for part, pair in by_part.items() if part[0] == "compute"}
        cause, family = _slow_kernels(families, against, options)
        return cause, family, more_s, families[family][1] if family else usual_s
    if sort == "copy":
        direction, (most_s, most_usual_s) = max(
            ((part[1], pair) for part, pair in by_part.items() if part[0] == "copy"), key=lambda item: item[1][0]
        )
        alone = most_s >= options.cause_share * more_s
        return "copies", direction if alone else "", more_s, most_usual_s if alone else usual_s
    return (*_slow_function(against, more_s, options), more_s, usual_s)


def _slow_kernels(
    families: dict[str, tuple[float, float]], against: _Against, options: ProfileOptions
) -> tuple[ProfileCause, str]:
    """Whether one factor for all families leaves less unexplained than one family alone; several: neither does."""
    least_s = options.part_ratio * float(np.median(against.mine.lasting_s))
    counted = {name: pair for name, pair in families.items() if pair[1] >= least_s or pair[0] >= least_s}
    if not counted:
        return "compute", ""
    more, usual = (np.array([pair[n] for pair in counted.values()]) for n in (0, 1))
    factor = float(more @ usual / (usual @ usual)) if usual.any() else 0.0
    left_by_factor = float(np.abs(more - factor * usual).sum()) if len(counted) > 1 else float("inf")
    most = int(np.argmax(more))
    left_by_family = float(np.abs(more).sum() - abs(more[most]))
    if min(left_by_factor, left_by_family) > options.factor_tolerance * float(np.abs(more).sum()):
        return "compute", ""
    return ("clocks", "") if left_by_factor <= left_by_family else ("kernels", list(counted)[most])


def _slow_function(against: _Against, more_s: float, options: ProfileOptions) -> tuple[ProfileCause, str]:
    """The innermost function that explains what the host takes longer; none: all of the host is slower."""
    explains = [
        (name.startswith("<built-in"), _typical(against.mine.functions, name), name)
        for name in against.mine.functions
        if against.of_function(name) >= options.cause_share * more_s and not against.is_loop(name, options)
    ]
    if not explains:
        return "host", ""
    loads = any(is_loader(name) for *_, name in explains)
    *_, name = min(explains)
    return "loader" if loads else "python", name


def _network_verdicts(
    ranks: Sequence[RankAccount], profiles: Sequence[Profile], groups: Sequence[MatchedGroup], options: ProfileOptions
) -> list[ProfileVerdict]:
    alike: defaultdict[tuple[object, ...], list[tuple[MatchedGroup, Seconds]]] = defaultdict(list)
    for group in groups:
        if group.whole:
            alike[_exchange(profiles, group)].append((group, _transfers(ranks, group)))
    found = []
    for some in alike.values():
        for group, mine in some:
            others = np.array([float(np.median(seconds)) for other, seconds in some if other is not group])
            if len(others) < options.peers:
                continue
            usual_s, own_s = float(np.median(others)), float(np.median(mine))
            iteration_s = float(np.median(ranks[group.profiles[0]].account.lasting_s))
            noise_s = max(_spread(others), _spread(mine) / len(mine) ** 0.5)
            if own_s - usual_s >= max(options.network_ratio * iteration_s, options.deviations * noise_s):
                found.append(
                    ProfileVerdict(
                        cause="network",
                        what="transfers",
                        ranks=tuple(ranks[n].label for n in group.profiles),
                        factor=_factor(own_s - usual_s, usual_s),
                        excess_s=round(own_s - usual_s, 6),
                        share=1.0,
                        summary="",
                    )
                )
    return found


def _exchange(profiles: Sequence[Profile], group: MatchedGroup) -> tuple[object, ...]:
    """What a group exchanges: as many ranks, and the same elements in each collective."""
    frame, rows = profiles[group.profiles[0]].collectives, group.rows[0]
    return len(group.profiles), tuple(np.sort(frame["elements"][rows]).tolist())


def _transfers(ranks: Sequence[RankAccount], group: MatchedGroup) -> Seconds:
    """Seconds of each iteration that a member's transfers take and nothing hides; the median of members."""
    sums = []
    for n, rows in zip(group.profiles, group.rows, strict=True):
        account = ranks[n].account
        inside = rows[account.step[rows] >= 0]
        sums.append(np.bincount(account.step[inside], account.transfer_ns[inside], len(account.lasting_s)) / 1e9)
    shortest = min(len(one) for one in sums)
    return np.median([one[:shortest] for one in sums], axis=0)
