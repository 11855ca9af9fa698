"""What became of a plan: the doors by which its connections are seen now, scan after scan.

A plan stays in force until another is needed, so that what an operator applies is what later scans look for: until
most of its connections are gone, it leads over a link that has become slow, or all of it was applied and a new one
gains as much as is worth a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from datamodel.reports.path_plan import (
    Applied,
    Collision,
    FollowedPlan,
    JobPathsState,
    PathPlan,
    PlannedConnection,
    PlanOutcome,
    PlanState,
    Port,
)
from diagnose.paths.path_options import PATHS

# Worst first: one connection that leaves by another door than planned is worth a look, whatever the others do.
_ORDER: tuple[Applied, ...] = ("drifted", "not applied", "kept", "not seen")
_SHOWN: tuple[Applied, ...] = ("kept", "drifted", "not applied", "not seen")
# With more of its connections gone than this, the job has others, and a plan for them is another plan.
_GONE_SHARE = 0.5

Ends = tuple[str, str, int]


def outcome(plan: PathPlan, now: PathPlan) -> PlanOutcome:
    """What became of a plan, by the doors at which its connections are seen in a later window."""
    counts = Counter(become(plan, now).values())
    applied = {name: counts[name] for name in _SHOWN}
    state: PlanState = next((name for name in _ORDER if counts[name]), "nothing to move")
    return PlanOutcome(made_ns=plan.window.end_ns, state=state, applied=applied)


def become(plan: PathPlan, now: PathPlan) -> dict[Ends, Applied]:
    """What became of each connection that a plan moves, by its addresses and the port that it had.

    One that is to stay where it is counts only where it does not.
    """
    seen = {one.ends: one for one in now.connections}
    moved = {one.ends: _applied(one, seen) for one in plan.connections if one.action in {"set", "try"}}
    staying = {one.ends: one.planned for one in plan.connections if one.action == "keep" and one.planned}
    gone = {ends for ends, planned in staying.items() if ends in seen and seen[ends].now not in {None, planned}}
    return {**moved, **dict.fromkeys(sorted(gone), "drifted")}


def follow_up(plan: PathPlan, now: PathPlan) -> PathPlan:
    """The newer plan with what became of the earlier one."""
    return now.model_copy(update={"applied": outcome(plan, now).applied})


def of_job(plan: PathPlan, job: str) -> PathPlan:
    """The part of a plan that is about one job."""
    parts = {name: tuple(one for one in getattr(plan, name) if one.job == job) for name in _PARTS}
    return plan.model_copy(update=parts)


_PARTS = ("jobs", "collisions", "balance", "connections", "findings")


def followed(earlier: FollowedPlan | None, now: PathPlan) -> FollowedPlan:
    """A job's plans after one more window.

    Args:
        earlier: as the scan before left them; None where there was none.
        now: the plan of the window, of this job alone. Where it has none, the one in force stays as it is.
    """
    end_ns = now.window.end_ns
    if earlier is None:
        return FollowedPlan(_state(outcome(now, now), end_ns, now, None), now, now)
    if not now.jobs:
        known = earlier.state
        return FollowedPlan(_state(known.outcome, known.since_ns, now, known.before), earlier.plan, now)
    found, before = outcome(earlier.plan, now), earlier.state.before
    if _outdated(earlier.plan, found, now):
        if earlier.plan.jobs and found.state != "nothing to move":
            before = found
        return FollowedPlan(_state(outcome(now, now), end_ns, now, before), now, now)
    since_ns = earlier.state.since_ns if found.state == earlier.state.outcome.state else end_ns
    return FollowedPlan(_state(found, since_ns, now, before), earlier.plan, now)


def _state(found: PlanOutcome, since_ns: int, now: PathPlan, before: PlanOutcome | None) -> JobPathsState:
    own = {f"{one.src_addr}:{one.src_port} > {one.dst_addr}" for one in now.connections}
    passed = {port.switch for port in _planned_ports(now.connections)}
    return JobPathsState(
        outcome=found,
        since_ns=since_ns,
        seen_ns=now.window.end_ns,
        before=before,
        paths=now.jobs[0] if now.jobs else None,
        balance=now.balance,
        collisions=tuple(_own_alone(one, own) for one in now.collisions),
        unknown_hashes=tuple(switch for switch in now.unknown_hashes if switch in passed),
        notes=now.notes,
    )


def _own_alone(shared: Collision, own: Collection[str]) -> Collision:
    """A collision without the names of other jobs' connections: not everybody who sees the job sees those."""
    named = tuple(one for one in shared.elephants if one in own)
    return shared.model_copy(update={"elephants": named, "others": len(shared.elephants) - len(named)})


def _outdated(plan: PathPlan, found: PlanOutcome, now: PathPlan) -> bool:
    """Whether another plan is needed: see the module."""
    if found.state == "nothing to move" or found.applied["not seen"] > _GONE_SHARE * sum(found.applied.values()):
        return True
    slow = {(end.switch, end.port) for link in now.left_out for end in link}
    if slow & {(p.switch, p.port) for p in _planned_ports(plan.connections)}:
        return True
    if found.state == "not applied" and not found.applied["kept"]:
        return all(one.action == "keep" for one in now.connections)  # whatever it was for is over
    return not found.applied["not applied"] and now.jobs[0].gain_ratio >= PATHS.gain_ratio


def _planned_ports(connections: Iterable[PlannedConnection]) -> Iterable[Port]:
    return (port for one in connections for port in one.planned)


def _applied(planned: PlannedConnection, seen: dict[Ends, PlannedConnection]) -> Applied:
    """By the planned port or, where there is a list to try, by any of it."""
    given = planned.try_src_ports if planned.new_src_port is None else (planned.new_src_port,)
    tried = [seen[ends] for port in given if (ends := (planned.src_addr, planned.dst_addr, port)) in seen]
    if not tried:
        return "not applied" if planned.ends in seen else "not seen"
    if all(one.now is None for one in tried):
        return "not seen"
    return "kept" if any(one.now == planned.planned for one in tried) else "drifted"
