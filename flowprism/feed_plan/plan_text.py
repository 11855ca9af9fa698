"""A choice of plans as text and as JSON."""

from __future__ import annotations

from flowprism.feed_plan.cost_model import Costs, worst_error
from flowprism.feed_plan.plan_document import OwnSamples, choice_document
from flowprism.feed_plan.plan_search import FeedPlan, PlanChoice, rates_text
from flowprism.feed_plan.shown_by_rate import ShownByRate

_NAMES = {"straggler": "stragglers", "slow_nic": "slow NICs"}


def render_text(choice: PlanChoice, costs: Costs, own: OwnSamples) -> str:
    """The plan, its neighbors, what cannot be reached, and how well costs are known."""
    lines = [f"not reachable: {text}" for text in choice.unreachable]
    lines += _plan_lines("plan", choice.chosen)
    for name, other in (("denser", choice.denser), ("sparser", choice.sparser)):
        lines.append(f"{name:8}{_difference(choice.chosen, other)}" if other is not None else f"{name:8}none")
    for protocol, stages in costs.protocols.items():
        error = worst_error((stages.decode, stages.commit, stages.analyze, stages.stored_bytes))
        lines.append(f"costs   measured here; lines fit {protocol} to {error:.0%}")
    for factor, jobs in own.items():
        lines += [f"own samples, one in {factor}: {job}: {_shown_text(shown)}" for job, shown in jobs]
        lines += [] if jobs else [f"own samples, one in {factor}: no job is recognized"]
    return "\n".join(lines) + "\n"


def _plan_lines(name: str, plan: FeedPlan) -> list[str]:
    memory_gib = plan.cost.memory_bytes / (1 << 30)
    cores = (
        f"cores {plan.cost.cores:.2f} (collect {plan.cost.collect_cores:.2f}, analyze {plan.cost.analyze_cores:.2f})"
    )
    return [
        f"{name:8}{rates_text(plan)}; exporters: {plan.points.value}",
        f"        windows of {plan.window_s:g} s every {plan.every_s:g} s; collector workers: {plan.workers}",
        f"shows   {_shown_text(plan.shown)}; found after {plan.minutes:.1f} min",
        f"costs   {plan.samples_per_s:,.0f} samples/s; {cores}",
        f"        memory {memory_gib:.1f} GiB; disk {plan.disk_gib:.0f} GiB",
        f"        a worker loses the first datagrams at {plan.cost.most_records_per_s:,.0f} samples/s",
    ]


def _shown_text(shown: ShownByRate) -> str:
    if shown.smallest_slowdown_ratio is None:
        return "no slowdown"
    error = f"{shown.timeline_error_ratio:.2%}" if shown.timeline_error_ratio is not None else "unknown"
    text = f"slowdowns from {shown.smallest_slowdown_ratio - 1:.1%}, iteration times to {error}"
    if shown.named is None:
        return text
    named = [_NAMES[kind] for kind in shown.named]
    return f"{text}, names {' and '.join(named)}" if named else f"{text}, names no endpoint"


def _difference(chosen: FeedPlan, other: FeedPlan) -> str:
    """What another plan costs more or less, and gains or loses."""
    return (
        f"{rates_text(other)}: cores {other.cost.cores - chosen.cost.cores:+.2f}, disk "
        f"{other.disk_gib - chosen.disk_gib:+.0f} GiB; {format_change(chosen.shown, other.shown)}"
    )


def format_change(now: ShownByRate, then: ShownByRate) -> str:
    """Format what another rate shows more or less, `no longer names stragglers`."""
    gained = [f"names {_NAMES[kind]}" for kind in then.named or () if kind not in (now.named or ())]
    lost = [f"no longer names {_NAMES[kind]}" for kind in now.named or () if kind not in (then.named or ())]
    if then.smallest_slowdown_ratio != now.smallest_slowdown_ratio:
        least = then.smallest_slowdown_ratio
        lost.append("shows no slowdown" if least is None else f"shows slowdowns from {least - 1:.1%}")
    return ", ".join([*gained, *lost]) or "shows no more and no less"


def render_json(choice: PlanChoice, costs: Costs, own: OwnSamples) -> str:
    """`flowprism.feed_plan/v1`."""
    return choice_document(choice, costs, own).model_dump_json(indent=2, by_alias=True) + "\n"
