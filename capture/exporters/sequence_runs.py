"""Which sequence counters an exporter keeps, and what each of them lacks.

An exporter may have one counter or several: one for each transport session (RFC 7011 section 3.1) or for each
line card or process behind the same address and sub-agent. Received numbers are stored as runs: stretches without a
gap. A datagram continues the run that ends where it begins, whatever else arrived in between. The hole between two
runs of one counter is loss, as long as the lower run has ended. A lower run that is continued again and again, while
the one above it grows too, is another counter, and there is no hole between them.

What numbers count is followed in three ways at a time (`capture.exporters.exporter_table`), each with runs of its
own, until all but one are ruled out. All arithmetic is modulo 2^32.
"""

from __future__ import annotations

from typing import Any

from capture.jit import jit, outlined, wide

Exporter = Any  # one row of the exporter table; numba and NumPy have no static type for its fields in common

IN_ORDER, LATE = range(2)  # what `place` says of a datagram

RUNS = 8  # of each way of counting; the one continued longest ago makes room for another
# Fields of a run. COUNTER is 0 where the place is free. LAST: first number of its newest datagram. SEEN: which datagram
# that was. RETURNS: how often the run was continued after another one had been. FILLED: late datagrams among those.
# OPEN: its end is only a lower bound, for records could not be counted. BEGAN: the counter that its own seemed to
# replace.
FIRST, NEXT, LAST, PORT, COUNTER, SEEN, RETURNS, FILLED, OPEN, BEGAN = range(10)
RUN_FIELDS = 10

_MASK = 0xFFFFFFFF
# Nothing loses so many units between two datagrams that arrive: it is another counter, or one that restarted.
_LARGEST_LOSS = 1 << 26
_LARGEST_DELAY = 1 << 16  # units by which a late datagram may lag behind
_MOST_UNITS = 1 << 16  # records of one datagram
# So often a run is continued below another one before it counts as another counter. Reordering fills small holes; one
# larger than any delay it cannot fill.
_RETURNS_NEAR, _RETURNS_FAR = 8, 2
_HOPS = 3  # runs continued from another port so often: the counter is the exporter's, not the session's
_MOST_RETURNS = 1 << 30


@jit
def step(expected: int, sequence: int) -> int:
    """By how much `sequence` is ahead of what was expected, modulo 2^32, as a signed number."""
    ahead = (sequence - expected) & _MASK
    return ahead - (_MASK + 1) if ahead > _MASK >> 1 else ahead


@outlined
def place(exporter: Exporter, unit: int, port: int, first: int, units: int, began_anew: bool) -> int:
    """Enter a datagram's numbers; the answer is LATE where higher ones of the same counter came before, else IN_ORDER.

    Args:
        exporter: its row.
        unit: what the numbers are taken to count.
        port: source port of the datagram, which stands for its transport session.
        first: first number of what it holds.
        units: how many it holds; -1 where that is not known.
        began_anew: the exporter's uptime says so; then only an exact continuation belongs to what came before.
    """
    run = continued(exporter, unit, port, first)
    if run >= 0:
        return extend(exporter, unit, run, port, first, units)
    runs = exporter["runs"]
    latest = wide(exporter["latest"][unit])
    if runs[unit, latest, COUNTER]:
        exporter["misfits"][unit] += 1
        if not began_anew and runs[unit, latest, LAST] == first and runs[unit, latest, PORT] == port:
            return IN_ORDER  # the number of the datagram before, and another content: it does not count this way
        run = overlapped(exporter, unit, port, first)
        if run >= 0 and not began_anew:
            return extend(exporter, unit, run, port, first, units)
    near = wide(-1)
    if not began_anew and not is_taken(exporter, unit, port, first):
        near = nearest(exporter, unit, port, first, max(units, wide(0)))
    if near < 0:
        begin_counter(exporter, unit, port, first, units, began_anew)
        return IN_ORDER
    return begin_run(exporter, unit, near, port, first, units)


@jit
def continued(exporter: Exporter, unit: int, port: int, first: int) -> int:
    """The run that ends where a datagram begins: the latest one, one of its session, or one of another; or -1."""
    runs, latest = exporter["runs"], wide(exporter["latest"][unit])
    if ends_at(exporter, unit, latest, first) and runs[unit, latest, PORT] == port:
        return latest
    other = wide(-1)
    for r in range(RUNS):
        if ends_at(exporter, unit, wide(r), first):
            if runs[unit, r, PORT] == port:
                return wide(r)
            if runs[unit, r, FIRST] != runs[unit, r, NEXT]:  # an empty run of another session may start anywhere
                other = wide(r)
    return other


@jit
def ends_at(exporter: Exporter, unit: int, run: int, first: int) -> bool:
    """Whether a run goes on with this number."""
    runs = exporter["runs"]
    if not runs[unit, run, COUNTER]:
        return False
    ahead = step(wide(runs[unit, run, NEXT]), first)
    return ahead == 0 or bool(runs[unit, run, OPEN] and 0 < ahead < _MOST_UNITS)


@jit
def overlapped(exporter: Exporter, unit: int, port: int, first: int) -> int:
    """The run of this session in whose newest datagram a number lies, above the first of it; -1 where there is none.

    Such a counter went on, by less than was counted in that datagram or in this one: softflowd leaves out the records
    of options. One that restarted falls below.
    """
    runs = exporter["runs"]
    for r in range(RUNS):
        if runs[unit, r, COUNTER] and runs[unit, r, PORT] == port:
            held = (wide(runs[unit, r, NEXT]) - wide(runs[unit, r, LAST])) & _MASK
            if 0 < (first - wide(runs[unit, r, LAST])) & _MASK < held:
                return wide(r)
    return wide(-1)


@jit
def first_before(exporter: Exporter, unit: int, port: int, last: int) -> int:
    """Where a datagram of unknown length that ends at `last` begins, if nothing of its session is missing."""
    runs, first, least = exporter["runs"], wide(last), wide(_MOST_UNITS)
    for r in range(RUNS):
        if runs[unit, r, COUNTER] and runs[unit, r, PORT] == port:
            ahead = step(wide(runs[unit, r, NEXT]), last)
            if 0 <= ahead < least:
                first, least = wide(runs[unit, r, NEXT]), ahead
    return first


@jit
def is_taken(exporter: Exporter, unit: int, port: int, first: int) -> bool:
    """Whether a number lies inside a run of the same session: nothing is missing there that could come late."""
    runs = exporter["runs"]
    for r in range(RUNS):
        if runs[unit, r, COUNTER] and runs[unit, r, PORT] == port:
            size = (wide(runs[unit, r, NEXT]) - wide(runs[unit, r, FIRST])) & _MASK
            if (first - wide(runs[unit, r, FIRST])) & _MASK < size:
                return True
    return False


@jit
def nearest(exporter: Exporter, unit: int, port: int, first: int, units: int) -> int:
    """The run closest to a datagram's numbers among those it may share a counter with; -1 where there is none."""
    runs, best, least = exporter["runs"], wide(-1), wide(_LARGEST_LOSS)
    any_port = exporter["hops"][unit] >= _HOPS
    for r in range(RUNS):
        if not runs[unit, r, COUNTER] or not (any_port or runs[unit, r, PORT] == port):
            continue
        ahead = step(wide(runs[unit, r, NEXT]), first)
        behind = step(first + units, wide(runs[unit, r, FIRST]))
        if 0 <= ahead < least:
            best, least = wide(r), ahead
        if 0 <= behind < min(least, wide(_LARGEST_DELAY)):
            best, least = wide(r), behind
    return best


@outlined
def above(exporter: Exporter, unit: int, counter: int, number: int, but: int) -> int:
    """The run of a counter that begins at `number` or next above it, leaving out run `but`; -1 where there is none."""
    runs, best, least = exporter["runs"], wide(-1), wide(_MASK)
    for r in range(RUNS):
        if runs[unit, r, COUNTER] == counter and r != but:
            ahead = step(number, wide(runs[unit, r, FIRST]))
            if 0 <= ahead < least:
                best, least = wide(r), ahead
    return best


@jit
def below(exporter: Exporter, unit: int, counter: int, number: int) -> int:
    """The run of a counter that ends at `number` or next below it; -1 where there is none."""
    runs, best, least = exporter["runs"], wide(-1), wide(_MASK)
    for r in range(RUNS):
        if runs[unit, r, COUNTER] == counter:
            ahead = step(wide(runs[unit, r, NEXT]), number)
            if 0 <= ahead < least:
                best, least = wide(r), ahead
    return best


@jit
def extend(exporter: Exporter, unit: int, run: int, port: int, first: int, units: int) -> int:
    """Continue a run with a datagram."""
    runs = exporter["runs"]
    if runs[unit, run, PORT] != port:
        exporter["hops"][unit] += 1
        runs[unit, run, PORT] = port
    before = wide(runs[unit, run, NEXT])
    after = (first + max(units, wide(0))) & _MASK
    runs[unit, run, NEXT] = after
    runs[unit, run, LAST] = first
    runs[unit, run, OPEN] = 1 if units < 0 else 0
    verdict = wide(IN_ORDER)
    if exporter["several"][unit]:
        returned(exporter, unit, run)
        upper = above(exporter, unit, wide(runs[unit, run, COUNTER]), before, run)
        if upper >= 0:
            fill(exporter, unit, run, upper, before)
            verdict = wide(LATE)
    touch(exporter, unit, run)
    return verdict


@outlined
def fill(exporter: Exporter, unit: int, run: int, upper: int, before: int) -> None:
    """Take off the loss what a run that has grown from `before` on fills of the hole below another one."""
    runs = exporter["runs"]
    hole = step(before, wide(runs[unit, upper, FIRST]))
    grown = step(before, wide(runs[unit, run, NEXT]))
    lose(exporter, unit, -min(hole, grown))
    exporter["late"][unit] += 1
    runs[unit, run, FILLED] += 1
    if grown >= hole:
        exporter["misfits"][unit] += 1 if grown > hole else 0
        for field in (NEXT, LAST, PORT, OPEN):
            runs[unit, run, field] = runs[unit, upper, field]
        runs[unit, run, RETURNS] = 0
        runs[unit, run, FILLED] = 0
        runs[unit, upper, COUNTER] = 0
        return
    limit = _RETURNS_FAR if hole >= _LARGEST_DELAY else _RETURNS_NEAR
    if runs[unit, run, RETURNS] >= limit:
        part(exporter, unit, run, hole - grown)


@jit
def part(exporter: Exporter, unit: int, run: int, hole: int) -> None:
    """Make the runs above `run` another counter: both go on, so what lies between them was never sent."""
    runs = exporter["runs"]
    exporter["counters"][unit] += 1
    own, end = wide(runs[unit, run, COUNTER]), wide(runs[unit, run, NEXT])
    for r in range(RUNS):
        if r != run and runs[unit, r, COUNTER] == own and step(end, wide(runs[unit, r, FIRST])) >= 0:
            runs[unit, r, COUNTER] = exporter["counters"][unit]
    lose(exporter, unit, -hole)
    exporter["late"][unit] -= min(wide(exporter["late"][unit]), wide(runs[unit, run, FILLED]))
    runs[unit, run, FILLED] = 0


@jit
def returned(exporter: Exporter, unit: int, run: int) -> None:
    """Note that a run goes on after another one did: counters that seemed to have replaced its own have not."""
    runs = exporter["runs"]
    if exporter["latest"][unit] == run:
        return
    runs[unit, run, RETURNS] = min(wide(runs[unit, run, RETURNS]) + 1, wide(_MOST_RETURNS))
    if runs[unit, run, RETURNS] < _RETURNS_FAR:
        return
    for r in range(RUNS):
        if runs[unit, r, BEGAN] == runs[unit, run, COUNTER]:
            runs[unit, r, BEGAN] = 0
            exporter["restarts"][unit] -= 1


@jit
def touch(exporter: Exporter, unit: int, run: int) -> None:
    """Note that this datagram's run is the latest one."""
    exporter["runs"][unit, run, SEEN] = exporter["datagrams"] & _MASK
    exporter["latest"][unit] = run


@jit
def lose(exporter: Exporter, unit: int, units: int) -> None:
    """Add to the loss, or take off it."""
    exporter["lost"][unit] = max(wide(exporter["lost"][unit]) + units, wide(0))


@outlined
def begin_run(exporter: Exporter, unit: int, near: int, port: int, first: int, units: int) -> int:
    """Begin a run in the counter of run `near`."""
    runs = exporter["runs"]
    counter, size = wide(runs[unit, near, COUNTER]), max(units, wide(0))
    upper = above(exporter, unit, counter, first, wide(-1))
    lower = below(exporter, unit, counter, first)
    if lower >= 0 and upper >= 0:
        lose(exporter, unit, -min(size, step(first, wide(runs[unit, upper, FIRST]))))
    elif lower >= 0:
        lose(exporter, unit, step(wide(runs[unit, lower, NEXT]), first))
    elif upper >= 0:
        lose(exporter, unit, max(step(first + size, wide(runs[unit, upper, FIRST])), wide(0)))
    if lower >= 0:
        runs[unit, lower, RETURNS] = 0
        runs[unit, lower, FILLED] = 0
    if upper >= 0:
        exporter["late"][unit] += 1
    if upper >= 0 and units >= 0 and (first + size) & _MASK == runs[unit, upper, FIRST]:
        runs[unit, upper, FIRST] = first
        touch(exporter, unit, upper)
        return wide(LATE)
    enter(exporter, unit, counter, port, first, units)
    return wide(LATE) if upper >= 0 else wide(IN_ORDER)


@outlined
def begin_counter(exporter: Exporter, unit: int, port: int, first: int, units: int, began_anew: bool) -> None:
    """Begin a run in a counter of its own: a new session, or one that restarted."""
    runs, same_session = exporter["runs"], False
    replaced = wide(runs[unit, exporter["latest"][unit], COUNTER])
    for r in range(RUNS):
        same_session = same_session or bool(runs[unit, r, COUNTER] and runs[unit, r, PORT] == port)
        runs[unit, r, RETURNS] = 0
    exporter["counters"][unit] += 1
    run = enter(exporter, unit, wide(exporter["counters"][unit]), port, first, units)
    if replaced and (began_anew or same_session):
        runs[unit, run, BEGAN] = replaced
        exporter["restarts"][unit] += 1


@outlined
def enter(exporter: Exporter, unit: int, counter: int, port: int, first: int, units: int) -> int:
    """Write a new run to a free place, or to that of the run continued longest ago; which place that is."""
    runs, found, longest = exporter["runs"], wide(0), wide(-1)
    for r in range(RUNS):
        age = (wide(exporter["datagrams"]) - wide(runs[unit, r, SEEN])) & _MASK
        if not runs[unit, r, COUNTER]:
            age = wide(_MASK + 1)
        if age > longest:
            found, longest = wide(r), age
    for field in range(RUN_FIELDS):
        runs[unit, found, field] = 0
    runs[unit, found, FIRST] = first
    runs[unit, found, NEXT] = (first + max(units, wide(0))) & _MASK
    runs[unit, found, LAST] = first
    runs[unit, found, PORT] = port
    runs[unit, found, COUNTER] = counter
    runs[unit, found, OPEN] = 1 if units < 0 else 0
    exporter["several"][unit] = 1 if exporter["counters"][unit] > 1 or exporter["misfits"][unit] > 0 else 0
    touch(exporter, unit, found)
    return found
