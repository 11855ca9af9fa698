"""Links found to be slow -> whether that is for links that are full.

A slow_uplink finding compares one job's streams. A connection sends as fast as the fullest link on its way allows:
where the cable itself, another one or a NIC carries what it can while connections send, nothing is wrong with the
cable, and leaving it out would make others fuller. Where none of them is full, the cable carries less than it should.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.findings import Evidence, Finding
from diagnose.paths.path_options import COLLISION
from diagnose.paths.shortest_routes import NONE, DirectedCables

# What is under way together fills a cable to this share of its speed, as where collisions are named.
FULL = 0.8
# Of the time in which connections send over a cable, this share is explained where nothing is wrong with it: records
# are means over a message, in which a connection may be held up by one full link and then by another.
HELD_UP = 0.8


def suspected_cables(finding: Finding, cables: DirectedCables) -> list[int]:
    """Numbers of the cables that a finding suspects, either direction; none where it may be something else.

    Cables between two switches are alike where no port is known. What a plan of paths explains is no suspicion.
    """
    if finding.kind != "slow_uplink" or finding.cause == COLLISION:
        return []
    subject, found, between = finding.subject, list[int](), cables.between_switches[::2]
    ports = [(subject.ids, (subject.a_port, subject.b_port))] if subject.type == "link" else []
    for ids, known in ports or [(s.ids, (None, None)) for s in finding.suspects or (subject,)]:
        own = [2 * n for n, link in enumerate(cables.links) if between[n] and _is_cable(ids, known, link)]
        if not own:
            return []
        found += own
    return sorted({way for n in found for way in (n, n + 1)})


def _is_cable(ids: Sequence[str], ports: tuple[int | None, int | None], link: Link) -> bool:
    """Whether a cable is the one between two interfaces, one of those between two switches, or one of a switch."""
    ends = {(link.a, link.a_port), (link.b, link.b_port)}
    if ports == (None, None):
        return {name for name, _ in ends}.issuperset(ids)
    return ends == set(zip(ids, ports, strict=True))


def explained(finding: Finding, ratios: Iterable[float | None], window_ns: tuple[int, int]) -> Finding | None:
    """The finding as what it is, where full links hold up all that passes its cables; None where they do not.

    Args:
        finding: a slow uplink.
        ratios: `held_up_ratio` of each direction of its cables; not asked for beyond the first that decides.
        window_ns: of the finding.
    """
    known: list[float] = []
    for ratio in ratios:
        if ratio is not None:
            known.append(ratio)
            if ratio < HELD_UP:
                return None
    if not known:
        return None
    evidence = Evidence(
        metric="share of the time of sending in which a link on the way is full",
        value=round(min(known), 4), baseline=HELD_UP, unit="", where="connections over the cables", window_ns=window_ns,
    )  # fmt: skip
    said = "Nothing is wrong with it: links that these flows pass are full."
    action = "Spread connections over the cables (`flowprism plan paths`), or place jobs apart; no cable is at fault."
    update = {"cause": COLLISION, "severity": "info", "summary": f"{finding.summary} {said}", "action": action}
    return finding.model_copy(update={**update, "evidence": (evidence, *finding.evidence)})


def held_up_ratio(
    payloads: Frame, passes: Int, bytes_per_s: Float, cable: int, window_ns: tuple[int, int]
) -> float | None:
    """Share of the time in which connections send over a cable that some link on their way is full; None: none sends.

    Records without duration show no rate, and do not count.

    Args:
        payloads: rows of `PAYLOADS`, connections by their place in `passes`.
        passes: (n, links) cables and NICs that each connection passes, by number; NONE where that is unknown.
        bytes_per_s: of each cable and NIC; 0 where it is unknown.
        cable: number of the cable.
        window_ns: of the finding.
    """
    through: Bool = np.asarray((passes == cable).any(axis=1))
    inside = (payloads["end_ns"] > window_ns[0]) & (payloads["start_ns"] < window_ns[1])
    payloads = payloads.take(inside & (payloads["end_ns"] > payloads["start_ns"]))
    rows = payloads.take(through[payloads["connection"]])
    if not len(rows):
        return None
    took_ns, fullest = rows["end_ns"] - rows["start_ns"], np.zeros(len(rows))
    links = np.setdiff1d(passes[through], [NONE])
    sharing: Bool = np.asarray(np.isin(passes, links).any(axis=1))
    payloads = payloads.take(sharing[payloads["connection"]])
    for link in links[bytes_per_s[links] > 0].tolist():
        member: Bool = np.asarray((passes == link).any(axis=1))
        own = member[rows["connection"]]
        if not own.any():
            continue
        carried = _carried(payloads.take(member[payloads["connection"]]), rows["start_ns"][own], rows["end_ns"][own])
        fullest[own] = np.maximum(fullest[own], carried / (bytes_per_s[link] * took_ns[own] / 1e9))
    return float(took_ns[fullest >= FULL].sum() / took_ns.sum())


def _carried(rows: Frame, begin_ns: Int, end_ns: Int) -> Float:
    """(m,) bytes of some records between two times, each record's spread evenly over its duration."""
    time = np.concatenate([rows["start_ns"], rows["end_ns"]])
    pace = rows["bytes"] / (rows["end_ns"] - rows["start_ns"])
    order = np.argsort(time, kind="stable")
    time, pace = time[order], np.cumsum(np.concatenate([pace, -pace])[order])
    total = np.append(0.0, np.cumsum(np.diff(time) * pace[:-1]))
    return np.asarray(np.interp(end_ns, time, total) - np.interp(begin_ns, time, total), np.float64)
