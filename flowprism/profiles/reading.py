"""Profiles of a job's ranks -> the report: accounts next to those of peers, verdicts, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.findings import Finding
from datamodel.telemetry.profiles import Profile, ProfiledRank, ProfileReport, ProfileTime, ProfileVerdict
from diagnose.profiles.account import RankWork, account_of, work_of
from diagnose.profiles.agreement import describe_agreement
from diagnose.profiles.collective_waits import clock_offsets, match_groups, split_waits
from diagnose.profiles.comparison import RankAccount, verdicts_of, with_peers
from diagnose.profiles.placement import ProfilePlacement
from diagnose.profiles.wording import describe_verdict
from flowprism.profiles.endpoints import ProfilePlace, place_all

NOTHING_UNLIKE = "profiles show nothing unlike peers"


def report_profiles(
    profiles: Sequence[Profile],
    problems: Sequence[str] = (),
    inventory: Inventory | None = None,
    findings: Sequence[Finding] | None = None,
    timelines: Timelines | None = None,
    works: Mapping[str, RankWork] | None = None,
) -> ProfileReport:
    """Compare the ranks of one job.

    Args:
        profiles: one a rank.
        problems: of files, to be reported as well.
        inventory: names the endpoint of each host's GPU.
        findings: of the network's report of the same time, to be compared with; None: there is none.
        timelines: of the same time: they name endpoints of profiles that do not.
        works: what a rank did, by file, where profiles are without activities.
    """
    groups = match_groups(profiles)
    waits = split_waits(profiles, groups)
    accounts = [
        account_of((works or {}).get(one.name) or work_of(one), one.collectives, own)
        for one, own in zip(profiles, waits, strict=True)
    ]
    ranks = with_peers(profiles, accounts)
    placed = place_all(profiles, inventory or Inventory(), timelines)
    places, fits = placed.places, placed.by_collectives
    by_label = {one.label: place for one, place in zip(ranks, places, strict=True)}
    verdicts = tuple(
        _worded(verdict, [by_label[label] for label in verdict.ranks], findings)
        for verdict in verdicts_of(ranks, profiles, groups)
    )
    offsets = clock_offsets(profiles, groups)
    return ProfileReport(
        ranks=tuple(
            _profiled(profiles[n], ranks, n, offsets[n]).model_copy(update=_located(places[n], fits[n]))
            for n in range(len(ranks))
        ),
        verdicts=verdicts,
        problems=(*problems, *placed.problems, *_lonely(ranks)),
        summary=_summary(ranks, verdicts),
    )


def _worded(
    verdict: ProfileVerdict, places: Sequence[ProfilePlace | None], findings: Sequence[Finding] | None
) -> ProfileVerdict:
    known = [place for place in places if place is not None]
    named = {name for place in known for name in (place.host, place.endpoint) if name is not None}
    where = f" ({known[0].text})" if len(places) == len(known) == 1 else ""
    agreement = "" if findings is None else describe_agreement(verdict, named, findings)
    return verdict.model_copy(update={"summary": describe_verdict(verdict, where), "agreement": agreement})


def _located(place: ProfilePlace | None, fit: ProfilePlacement | None) -> dict[str, object]:
    """Fields that say where a rank is."""
    found: dict[str, object] = {}
    if place is not None:
        found |= {"endpoint": place.endpoint, "gpu": place.gpu} | ({"host": place.host} if place.host else {})
    if fit is not None and fit.endpoint is None:
        found["fitting"] = fit.fitting
    elif fit is not None and place is not None:
        found |= {"probability": fit.probability, "flows_ahead_ns": fit.ahead_ns}
    return found


def _profiled(profile: Profile, ranks: Sequence[RankAccount], n: int, offset_ns: int | None) -> ProfiledRank:
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
        clock_offset_ns=offset_ns,
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
