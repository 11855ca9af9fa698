"""Findings of single periods -> one finding of each cause, whether it lasts or comes and goes."""

from __future__ import annotations

from datamodel.findings import Finding


def continued(
    going: list[Finding], found: list[Finding], further: list[Finding], end_ns: int | None
) -> tuple[list[Finding], list[Finding]]:
    """What of the period right before a period is over in it, and what is on.

    Where something came on top of what was there, that is what goes on, and what came; else it is what explains the
    period as a whole. What explains both periods lasts.

    Args:
        going: findings of the period before.
        found: those of this period, against the job at its best.
        further: those of what changed between the two; empty where nothing stands out.
        end_ns: of this period; None where it goes on.
    """
    before, now = {_name(f): f for f in going}, {_name(f): f for f in found}
    names = list(dict.fromkeys([*before, *map(_name, further)])) if further else list(now)
    added = now | {n: f for f in further if (n := _name(f)) not in before}
    on = [_lasting(before.get(n), added.get(n), end_ns) for n in names]
    return [f for n, f in before.items() if n not in names], on


def _lasting(before: Finding | None, now: Finding | None, end_ns: int | None) -> Finding:
    """One finding of two periods in a row, as grave as in the worse of them."""
    if before is None or now is None:
        return (before or now).model_copy(update={"end_ns": end_ns})  # type: ignore[union-attr]
    worst = max(before, now, key=lambda f: f.slowdown_ratio)
    return worst.model_copy(update={"id": before.id, "start_ns": before.start_ns, "end_ns": end_ns})


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
            "evidence": tuple(e for f in same for e in f.evidence[:2]),
            "summary": f"{first.summary} "
            + ("Iterations between are as fast as ever." if sporadic else f"It came and went {len(same)} times."),
        }
    )
