"""Slow links of NICs with several addresses: over which address, and so which plane and switch port, they are slow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from datamodel.cluster.inventory import Attachment, Inventory
from datamodel.reports.findings import Evidence, Finding, Subject
from datamodel.telemetry.flows import Flows
from diagnose.finding_text import finding_id, gbps, listed

# Of the addresses of one NIC, which share its messages evenly, those below this share of the quickest one are slow.
SLOW_SHARE = 0.8


def at_attachments(
    findings: Iterable[Finding], parts: Flows, addresses: Mapping[str, tuple[str, ...]], inventory: Inventory | None
) -> tuple[Finding, ...]:
    """Findings that say over which address an endpoint's link is slow.

    Args:
        findings: of all jobs, endpoints by their first address.
        parts: records by address, of endpoints that have several.
        addresses: of each such endpoint.
        inventory: says which address is plugged in where; None for nothing.
    """
    plugged = _plugged(inventory)
    return tuple(_located(f, parts, addresses.get(f.subject.ids[-1], ()), plugged) for f in findings)


def _plugged(inventory: Inventory | None) -> dict[str, Attachment]:
    """Switch port of each address, of NICs with as many ports as addresses."""
    nics = [e for host in (inventory.hosts if inventory is not None else ()) for e in host.endpoints]
    paired = [e for e in nics if len(e.attachments) == len(e.all_addresses) > 1]
    return {a: port for e in paired for a, port in zip(e.all_addresses, e.attachments, strict=True)}


def _located(finding: Finding, parts: Flows, own: tuple[str, ...], plugged: Mapping[str, Attachment]) -> Finding:
    if finding.kind != "slow_link" or finding.subject.type not in {"link", "endpoint"} or len(own) < 2:
        return finding
    until = np.iinfo(np.int64).max if finding.end_ns is None else finding.end_ns
    rates = {a: _rate_bps(parts, a, finding.start_ns, until) for a in own}
    rates = {a: rate for a, rate in rates.items() if np.isfinite(rate)}
    if not rates:
        return finding
    quickest = max(rates.values())
    slow = tuple(a for a, rate in rates.items() if rate < SLOW_SHARE * quickest)
    subject = _subject(finding.subject, own[0], slow, plugged)
    window_ns = (finding.start_ns, int(min(until, parts.frame["time_flow_end_ns"].max(initial=finding.start_ns))))
    evidence = [
        Evidence(
            metric="rate of one of its addresses",
            value=round(rate),
            baseline=round(quickest),
            unit="bit/s",
            where=address + (f", {plugged[address].switch}" if address in plugged else ""),
            window_ns=window_ns,
        )
        for address, rate in rates.items()
    ]
    update = {"subject": subject, "evidence": (*finding.evidence, *evidence)}
    update["id"] = finding_id(finding.job or "", finding.kind, subject.identity, finding.start_ns)
    return finding.model_copy(update=update | _texts(finding, subject, slow, rates))


def _subject(said: Subject, name: str, slow: tuple[str, ...], plugged: Mapping[str, Attachment]) -> Subject:
    """The link of the one slow address; the endpoint where they all are slow, or it is not known where that leads."""
    if len(slow) == 1 and slow[0] in plugged:
        port = plugged[slow[0]]
        return Subject(type="link", ids=(port.switch, name), a_port=port.port)
    return said.model_copy(update={"type": "endpoint", "ids": (name,), "a_port": None})


def _texts(finding: Finding, subject: Subject, slow: tuple[str, ...], rates: Mapping[str, float]) -> dict[str, str]:
    """The summary with the right switch, and with the slow addresses."""
    said = finding.summary
    if finding.subject.type == "link":
        to = f" to {subject.ids[0]}" if subject.type == "link" else ""
        said = said.replace(f" to {finding.subject.ids[0]}", to, 1)
    if not slow:
        return {"summary": f"{said} All of its addresses are slow alike."}
    listing = listed(tuple(f"{a} ({gbps(rates[a])})" for a in slow))
    return {"summary": f"{said} Of its {len(rates)} addresses, {listing} {'is' if len(slow) == 1 else 'are'} slow."}


def _rate_bps(parts: Flows, address: str, start_ns: int, end_ns: int) -> float:
    """Rate at which an address sends or receives its messages, whichever is less; nan where it moved none."""
    if address not in parts.addresses:
        return float("nan")
    code, frame = parts.addresses.index(address), parts.frame
    within = (frame["time_flow_end_ns"] > start_ns) & (frame["time_flow_start_ns"] < end_ns)
    took_ns = frame["time_flow_end_ns"] - frame["time_flow_start_ns"]
    rates = []
    for side in ("src_addr", "dst_addr"):
        own = within & (frame[side] == code) & (took_ns > 0)
        if own.any():
            rates.append(8e9 * float(frame["bytes"][own].sum()) / float(took_ns[own].sum()))
    return min(rates, default=float("nan"))
