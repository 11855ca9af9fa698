"""Findings of single periods -> one finding of each cause, whether it lasts or comes and goes."""

from __future__ import annotations

from datamodel.reports.findings import Finding

# So much evidence is shown of each further period.
SHOWN = 2


def continued(
    going: list[Finding], found: list[Finding], further: list[Finding], end_ns: int | None, last_ns: int
) -> tuple[list[Finding], list[Finding]]:
    """What of the period right before a period is over in it, and what is on.

    Where something came on top of what was there, that is what goes on, and what came; else it is what explains the
    period as a whole. What explains both periods lasts.

    Args:
        going: findings of the period before.
        found: those of this period, against the job at its best.
        further: those of what changed between the two; empty where nothing stands out.
        end_ns: of this period; None where it goes on.
        last_ns: until when it was measured.
    """
    before, now = {_name(f): f for f in going}, {_name(f): f for f in found}
    names = list(dict.fromkeys([*before, *map(_name, further)])) if further else list(now)
    added = now | {n: f for f in further if (n := _name(f)) not in before}
    on = [_lasting(before[n], added.get(n), end_ns, last_ns) if n in before else added[n] for n in names]
    return [f for n, f in before.items() if n not in names], on


def _lasting(before: Finding, now: Finding | None, end_ns: int | None, last_ns: int) -> Finding:
    """One finding of two periods in a row, as grave as in the worse, with evidence of all the time it was on."""
    longer = [e.model_copy(update={"window_ns": (e.window_ns[0], last_ns)}) for e in before.evidence]
    evidence = longer if now is None else [*before.evidence, *now.evidence[:SHOWN]]
    worst = max([before, now] if now is not None else [before], key=lambda f: f.slowdown_ratio)
    update = {"id": before.id, "start_ns": before.start_ns, "end_ns": end_ns, "evidence": tuple(evidence)}
    return worst.model_copy(update=update)


def _name(finding: Finding) -> tuple[str, tuple[str, ...]]:
    return finding.kind, finding.subject.ids


def merge_recurring(found: list[Finding], sporadic: list[Finding]) -> list[Finding]:
    """One finding of what comes and goes: the same kind and subject in several periods, or in single iterations."""
    joined: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for finding in sorted([*found, *sporadic], key=lambda f: f.start_ns):
        joined.setdefault(_name(finding), []).append(finding)
    return [_recurring(same) for same in joined.values()]


def _recurring(same: list[Finding]) -> Finding:
    first, worst = same[0], max(same, key=lambda f: f.slowdown_ratio)
    if len(same) == 1:
        return first
    sporadic = any(f.cause == "sporadic" for f in same)
    return first.model_copy(
        update={
            "cause": "sporadic" if sporadic else "flap",
            "end_ns": None if any(f.end_ns is None for f in same) else max(f.end_ns or 0 for f in same),
            "severity": worst.severity,
            "slowdown_ratio": worst.slowdown_ratio,
            "evidence": tuple(e for f in same for e in f.evidence[:SHOWN]),
            "summary": f"{first.summary} "
            + ("Iterations between are as fast as ever." if sporadic else f"It came and went {len(same)} times."),
        }
    )
