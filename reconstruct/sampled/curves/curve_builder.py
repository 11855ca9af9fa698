"""Rows of samples -> the points of each connection's curve: put in turn and drawn, compiled."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled

# How a connection came out: drawn, of too few samples, or with numbers that may wrap between two of them.
DRAWN, FEW, AMBIGUOUS = 0, 1, 2
# Fewer points show no rhythm.
FEWEST_POINTS = 12
# Samples lie as many packets apart in the mean as the rate says, geometrically distributed: an advance of so many times
# the mean comes by a chance of e^-8. Where half the modulus is less, wraps cannot be told.
SURE_ADVANCES = 8.0
TCP_MODULUS, PSN_MODULUS = 1 << 32, 1 << 24


@compiled
def in_turn(number: Int, count: int, time_ns: Int, sequence: Int) -> tuple[Int, Int]:
    """(rows by connection, time and sequence number, equal ones as they were; where those of each connection begin).

    Those of a connection mostly stand by time, and few came at one time, so that there is little to be sorted.
    """
    bounds = np.zeros(count + 1, np.int64)
    for own in number:
        bounds[own + 1] += 1
    bounds = np.cumsum(bounds)
    order, free = np.empty(len(number), np.int64), bounds.copy()
    for row in range(len(number)):
        order[free[number[row]]] = row
        free[number[row]] += 1
    for n in range(count):
        _by_time(order[bounds[n] : bounds[n + 1]], time_ns, sequence)
    return order, bounds


@compiled
def _by_time(rows: Int, time_ns: Int, sequence: Int) -> None:
    """Put the rows of one connection in turn."""
    for k in range(1, len(rows)):
        if time_ns[rows[k]] < time_ns[rows[k - 1]]:
            rows[:] = rows[np.argsort(time_ns[rows], kind="mergesort")]
            break
    first = 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and time_ns[rows[last]] == time_ns[rows[first]]:
            last += 1
        if last - first > 1:
            run = rows[first:last]
            run[:] = run[np.argsort(sequence[run], kind="mergesort")]
        first = last


@compiled
def typical(number: Int, values: Int, rows: Int, bounds: Int) -> Float:
    """(connections,) the median of each one's values; mostly one value is that of more than half, which needs no order.

    Args:
        number: of each row that of its connection.
        values: of each row.
        rows: by connection.
        bounds: where those of each connection begin.
    """
    count = len(bounds) - 1
    usual, lead, alike = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for row in range(len(number)):
        n, value = number[row], values[row]
        if not lead[n]:
            usual[n] = value
        lead[n] += 1 if value == usual[n] else -1
    for row in range(len(number)):
        alike[number[row]] += values[row] == usual[number[row]]
    found = np.empty(count)
    for n in range(count):
        own = rows[bounds[n] : bounds[n + 1]]
        found[n] = usual[n] if 2 * alike[n] > len(own) else np.median(values[own])
    return found


@compiled
def drawn(
    rows: Int, bounds: Int, sequence: Int, packet_bytes: Float, rates: Float, tcp: Bool, stamps: tuple[Int, Int, Int]
) -> tuple[Int, tuple[Float, Float, Float, Float]]:
    """Draw every connection's curve.

    Args:
        rows: by connection and time.
        bounds: where those of each connection begin.
        sequence: of each row its sequence number.
        packet_bytes: (connections,) a typical packet.
        rates: (connections,) typically 1 in how many was sampled.
        tcp: (connections,) whether numbers count bytes, else packets.
        stamps: of each row the likeliest time, and between which two it was.

    Returns:
        (connections,) how each came out; and of each point the time, before when it cannot have been, how long after
        that it may have been, and the position. Those of connections that are not drawn mean nothing.
    """
    connections, points = len(bounds) - 1, len(rows)
    came_out = np.full(connections, FEW)
    columns = np.empty(points), np.empty(points), np.empty(points), np.empty(points)
    for n in range(connections):
        first, last = bounds[n], bounds[n + 1]
        own, modulus = rows[first:last], TCP_MODULUS if tcp[n] else PSN_MODULUS
        if len(own) < FEWEST_POINTS:
            continue
        advance = rates[n] * (packet_bytes[n] if tcp[n] else 1.0)
        came_out[n] = AMBIGUOUS if SURE_ADVANCES * advance > modulus / 2 else DRAWN
        if came_out[n] == DRAWN:
            position = positions(sequence[own], modulus)
            order = _ascending(position)
            _steady(own[order], stamps, columns[0][first:last], columns[1][first:last], columns[2][first:last])
            columns[3][first:last] = position[order] * (1.0 if tcp[n] else packet_bytes[n])
    return came_out, columns


@compiled
def positions(sequence: Int, modulus: int) -> Int:
    """Bytes or packets before each of one connection's samples, in order of time, from the least of them."""
    position, half, least = np.zeros(len(sequence), np.int64), modulus // 2, 0
    for n in range(1, len(sequence)):
        position[n] = position[n - 1] + (sequence[n] - sequence[n - 1] + half) % modulus - half
        least = min(least, position[n])
    return position - least


@compiled
def _ascending(values: Int) -> Int:
    """What puts values in order, equal ones as they were; mostly they are."""
    for n in range(1, len(values)):
        if values[n] < values[n - 1]:
            return np.argsort(values, kind="mergesort")
    return np.arange(len(values))


@compiled
def _steady(rows: Int, stamps: tuple[Int, Int, Int], time_ns: Float, earliest_ns: Float, doubt_ns: Float) -> None:
    """Times of points by position: a byte is sampled no later than any that follows it."""
    early, late, likely = stamps[1][rows], stamps[2][rows], np.empty(len(rows), np.int64)
    for n in range(1, len(rows)):
        early[n] = max(early[n], early[n - 1])
    for n in range(len(rows) - 2, -1, -1):
        late[n] = min(late[n], late[n + 1])
    for n in range(len(rows)):
        likely[n] = min(max(stamps[0][rows[n]], early[n]), max(late[n], early[n]))
        earliest_ns[n], doubt_ns[n] = early[n], max(late[n] - early[n], 0)
    after = likely.copy()
    for n in range(len(rows) - 2, -1, -1):
        after[n] = min(after[n], after[n + 1])
    before = likely[0]
    for n in range(len(rows)):
        before = max(before, likely[n])
        time_ns[n] = (before + after[n]) / 2
