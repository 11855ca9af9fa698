"""Profiles of a job's ranks -> the report: accounts next to those of peers, verdicts, and what they say in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.profiles import Profile, ProfiledRank, ProfileReport, ProfileTime, ProfileVerdict
from diagnose.profiles.account import account_of
from diagnose.profiles.collective_waits import match_groups, split_waits
from diagnose.profiles.comparison import RankAccount, verdicts_of, with_peers
from diagnose.profiles.wording import describe_verdict

NOTHING_UNLIKE = "profiles show nothing unlike peers"


def report_profiles(profiles: Sequence[Profile], problems: Sequence[str] = ()) -> ProfileReport:
    """Compare the ranks of one job.

    Args:
        profiles: one a rank.
        problems: of files, to be reported as well.
    """
    groups = match_groups(profiles)
    waits = split_waits(profiles, groups)
    ranks = with_peers(profiles, [account_of(*pair) for pair in zip(profiles, waits, strict=True)])
    verdicts = tuple(
        verdict.model_copy(update={"summary": describe_verdict(verdict)})
        for verdict in verdicts_of(ranks, profiles, groups)
    )
    return ProfileReport(
        ranks=tuple(_profiled(profiles[n], ranks, n) for n in range(len(ranks))),
        verdicts=verdicts,
        problems=(*problems, *_lonely(ranks)),
        summary=_summary(ranks, verdicts),
    )


def _profiled(profile: Profile, ranks: Sequence[RankAccount], n: int) -> ProfiledRank:
    account, peers = ranks[n].account, [ranks[peer].account for peer in ranks[n].peers]
    parts = sorted({part for one in (account, *peers) for part in one.parts})
    times = (
        ProfileTime(
            what=what,
            part=part,
            seconds=round(account.typical_s((what, part)), 6),
            peers_seconds=round(float(np.median([one.typical_s((what, part)) for one in peers])), 6) if peers else None,
        )
        for what, part in parts
    )
    return ProfiledRank(
        file=profile.name,
        rank=profile.rank,
        host=profile.host,
        iterations=len(account.lasting_s),
        iteration_s=round(float(np.median(account.lasting_s)), 6),
        peers=len(peers),
        times=tuple(time for time in times if time.seconds or time.peers_seconds),
    )


def _lonely(ranks: Sequence[RankAccount]) -> list[str]:
    alone = [str(one.label) for one in ranks if len(one.peers) < 2]
    if not alone:
        return []
    return [f"not compared, for fewer than two other profiles are of the same role: {', '.join(alone)}"]


def _summary(ranks: Sequence[RankAccount], verdicts: Sequence[ProfileVerdict]) -> str:
    if verdicts:
        return verdicts[0].summary
    if all(len(one.peers) < 2 for one in ranks):
        return "no profile has two peers of the same role to compare it with"
    return NOTHING_UNLIKE
