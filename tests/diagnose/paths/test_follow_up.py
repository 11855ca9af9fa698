"""What becomes of a plan over scans: when it is kept, drifted or not applied, and when another takes its place."""

from __future__ import annotations

import pytest

from datamodel.reports.path_plan import Action, Applied, JobPaths, PathPlan, PlannedConnection, PlanState, Port
from datamodel.reports.report import Window
from diagnose.paths.follow_up import followed, of_job, outcome

Doors = tuple[Port, ...]
OLD, NEW, OTHER = ((Port(switch="leaf0", port=n),) for n in (1, 2, 3))
HOUR_NS = 3_600_000_000_000


def connection(
    number: int, port: int, now: Doors | None, planned: Doors, action: Action, new: int | None = None
) -> PlannedConnection:
    """From one address to another, each number its own."""
    return PlannedConnection(
        job="a", src_addr="10.0.0.1", dst_addr=f"10.0.1.{number}", src_port=port, queue_pairs=1, dst_qp=None, bytes=1,
        now=now, planned=planned, action=action, new_src_port=new, try_src_ports=(7, 8) if action == "try" else (),
    )  # fmt: skip


def plan(hour: int, *connections: PlannedConnection, gain: float = 0.2) -> PathPlan:
    """A plan of a window that ends at some hour."""
    job = JobPaths(
        job="a", connections=9, elephants=len(connections), known_ratio=1, phases=(), gain_ratio=gain, queue_pairs=4
    )
    window = Window(start_ns=(hour - 1) * HOUR_NS, end_ns=hour * HOUR_NS)
    return PathPlan(window=window, jobs=(job,), connections=connections)


def moving(hour: int, count: int = 4) -> PathPlan:
    """Connections that are to get port 9."""
    return plan(hour, *(connection(n, 5, OLD, NEW, "set", 9) for n in range(count)))


def seen(hour: int, *ports_and_doors: tuple[int, Doors | None], gain: float = 0.0) -> PathPlan:
    """Connections by the ports and doors that a later window shows, each where its own plan wants it."""
    made = (connection(n, port, now, now or NEW, "keep") for n, (port, now) in enumerate(ports_and_doors))
    return plan(hour, *made, gain=gain)


@pytest.mark.parametrize(
    ("later", "state", "applied"),
    [
        ([(9, NEW)] * 4, "kept", (4, 0, 0, 0)),
        ([(9, NEW)] * 3 + [(9, OTHER)], "drifted", (3, 1, 0, 0)),
        ([(9, NEW)] * 3 + [(5, OLD)], "not applied", (3, 0, 1, 0)),
        ([(5, OLD)] * 4, "not applied", (0, 0, 4, 0)),
        ([(9, NEW)] * 3 + [(9, None)], "kept", (3, 0, 0, 1)),
        ([(6, NEW)] * 4, "not seen", (0, 0, 0, 4)),
    ],
)
def test_doors_and_ports_say_what_became_of_a_plan(
    later: list[tuple[int, Doors | None]], state: PlanState, applied: tuple[int, ...]
) -> None:
    """The worst of its connections is the state of the whole; a connection of unknown path is not seen."""
    found = outcome(moving(1), seen(2, *later))
    assert (found.state, tuple(found.applied.values())) == (state, applied)
    assert found.made_ns == HOUR_NS


@pytest.mark.parametrize(("door", "became"), [(NEW, "kept"), (OTHER, "drifted")])
def test_any_port_of_a_list_to_try_counts_as_applied(door: Doors, became: Applied) -> None:
    """By its door it is kept or not; with another port that is not of the list, it was not seen."""
    tried = plan(1, connection(0, 5, OLD, NEW, "try"))
    assert outcome(tried, seen(2, (8, door))).applied[became] == 1
    assert outcome(tried, seen(2, (6, door))).applied["not seen"] == 1


def test_a_connection_that_was_to_stay_and_moved_has_drifted() -> None:
    """One that stayed counts for nothing: there was nothing to do."""
    staying = plan(1, connection(0, 5, OLD, OLD, "keep"), connection(1, 5, OLD, NEW, "set", 9))
    assert outcome(staying, seen(2, (5, OTHER), (9, NEW))).applied["drifted"] == 1
    assert tuple(outcome(staying, seen(2, (5, OLD), (9, NEW))).applied.values()) == (1, 0, 0, 0)


def test_a_plan_stays_in_force_until_it_is_applied_and_then_says_kept_since_when() -> None:
    """A later window's own plan does not take its place: what an operator applies is what is looked for."""
    first = followed(None, moving(1))
    waiting = followed(first, plan(2, *(connection(n, 5, OLD, OTHER, "set", 77) for n in range(4))))
    assert (waiting.state.outcome.state, waiting.plan) == ("not applied", first.plan)
    assert waiting.state.since_ns == HOUR_NS
    done = followed(followed(waiting, seen(3, *[(9, NEW)] * 4)), seen(4, *[(9, NEW)] * 4))
    assert (done.state.outcome.state, done.state.outcome.made_ns) == ("kept", HOUR_NS)
    assert (done.state.since_ns, done.state.seen_ns) == (3 * HOUR_NS, 4 * HOUR_NS)


@pytest.mark.parametrize("gain", [0.0, 0.2])
def test_a_drifted_plan_is_replaced_where_another_gains_enough(gain: float) -> None:
    """What the one before came to is kept with it."""
    drifted = followed(followed(None, moving(1)), seen(2, *[(9, OTHER)] * 4, gain=gain))
    assert (drifted.plan.window.end_ns == 2 * HOUR_NS) == (gain > 0)
    if gain:
        assert drifted.state.before is not None
        assert drifted.state.before.state == "drifted"
    else:
        assert drifted.state.outcome.state == "drifted"


def test_a_plan_for_connections_that_are_gone_or_over_a_slow_link_is_replaced() -> None:
    """A job that was restarted has others; a link with an incident is none to plan over."""
    first = followed(None, moving(1))
    assert followed(first, seen(2, *[(6, OLD)] * 4)).plan.window.end_ns == 2 * HOUR_NS
    slow = moving(2).model_copy(update={"left_out": ((NEW[0], Port(switch="spine0", port=1)),)})
    assert followed(first, slow).plan is slow


def test_a_window_without_a_plan_changes_nothing_but_the_notes() -> None:
    """Where no record names an interface the state is as before, with the line that says so."""
    first = followed(None, moving(1))
    blind = followed(first, PathPlan(window=Window(start_ns=1, end_ns=2 * HOUR_NS), notes=("paths are unknown",)))
    assert (blind.plan, blind.state.outcome) == (first.plan, first.state.outcome)
    assert (blind.state.paths, blind.state.notes) == (None, ("paths are unknown",))


def test_part_of_a_job_has_nothing_of_others() -> None:
    """Jobs, connections and findings of one job alone."""
    both = plan(
        1, connection(0, 5, OLD, NEW, "set", 9), connection(1, 5, OLD, NEW, "set", 9).model_copy(update={"job": "b"})
    )
    assert len(of_job(both, "a").connections) == 1
    assert of_job(both, "b").jobs == ()
