"""A plan of paths as text for a terminal: notes, jobs, collisions, then what connections have to do."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from datamodel.reports.path_plan import JobPaths, PathPlan, Port
from diagnose.finding_text import listed
from flowprism.rendering import units

_MOST = 12


def print_path_plan(plan: PathPlan, console: Console) -> None:
    """Print the plan; what is longer than a screen is in the other formats."""
    for note in plan.notes or (() if plan.jobs else ("no long connection between switches is known",)):
        console.print(Text(note if plan.jobs else f"No plan: {note}"), soft_wrap=True)
    for job in plan.jobs:
        _job(job, console)
    _lines("Collisions", [_collision(plan, n) for n in range(len(plan.collisions))], console)
    uneven = sorted(plan.balance, key=lambda b: (-b.now, b.job, b.switch))
    balance = [f"{b.switch}, {b.job}: {b.now:.2f} now, {b.planned:.2f} planned" for b in uneven]
    _lines("Uplink balance (most of a cable / mean)", balance, console)
    learnt = [f"{listed(h.switches)}: {', '.join(h.fields)} ({h.right} of {h.checked} right)" for h in plan.hashes]
    learnt += [f"{switch}: unknown" for switch in plan.unknown_hashes]
    _lines("Hashes", learnt, console)
    agreeing = sum(one.agrees for one in plan.counted)
    if plan.counted:
        _lines("Interface counters", [f"agree with the records on {agreeing} of {len(plan.counted)} cables"], console)
    _lines("Source ports", _ports(plan), console)
    if plan.applied:
        _lines("Earlier plan", [f"{name}: {count}" for name, count in plan.applied.items()], console)


def _job(job: JobPaths, console: Console) -> None:
    now, planned = (sum(getattr(p, name) for p in job.phases) for name in ("now_s", "planned_s"))
    console.print(Text(f"\n{job.job}", "bold"))
    known = f"paths of {job.known_ratio:.0%} of the bytes known"
    console.print(f"  {job.connections} connections between switches, {job.elephants} long; {known}", soft_wrap=True)
    gain = f"saves up to {job.gain_ratio:.1%} of the iteration time"
    slowest = f"slowest cables: {units.duration(now)} an iteration now, {units.duration(planned)} planned"
    console.print(f"  {slowest}; {gain}", soft_wrap=True)
    pairs = f"{job.queue_pairs} queue pairs" if job.queue_pairs else "not even 128 queue pairs"
    console.print(f"  Without setting ports, {pairs} a connection come within 5 % of the plan.", soft_wrap=True)


def _collision(plan: PathPlan, n: int) -> str:
    one = plan.collisions[n]
    times = f"{units.duration(one.now_s)}, {units.duration(one.best_s)} at best"
    return f"{_named(one.link[0])} - {one.link[1].switch}, {one.job}: {len(one.elephants)} long connections, {times}"


def _ports(plan: PathPlan) -> list[str]:
    lines = []
    for one in plan.connections:
        ends = f"{one.src_addr}:{one.src_port} > {one.dst_addr}"
        if one.action == "set":
            lines.append(f"{ends}: port {one.new_src_port}, by {', '.join(_named(p) for p in one.planned)}")
        elif one.action == "try":
            ports = f"{one.try_src_ports[0]} to {one.try_src_ports[-1]}"
            lines.append(f"{ends}: try ports {ports} until it leaves by {', '.join(_named(p) for p in one.planned)}")
        elif one.action == "none":
            lines.append(f"{ends}: no port leads over {', '.join(_named(p) for p in one.planned)}")
    return lines


def _named(port: Port) -> str:
    return port.switch if port.port is None else f"{port.switch} port {port.port}"


def _lines(title: str, lines: list[str], console: Console) -> None:
    if not lines:
        return
    console.print(Text(f"\n{title}", "bold"))
    for line in lines[:_MOST]:
        console.print(f"  {line}", soft_wrap=True)
    if len(lines) > _MOST:
        console.print(f"  and {len(lines) - _MOST} more, see --format json")
