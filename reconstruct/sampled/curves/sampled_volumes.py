"""Sampled packets of connections -> the bytes that each stands for, by sequence numbers where packets have them.

A sample stands for the sampling rate times its payload in the mean, so that chance makes a tenth of the volume of a
connection with a hundred samples. Sequence numbers give what lies between two samples exactly: each stands for half of
that on either side, and the first and the last of a connection for what the rate says beyond.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import TCP, Flows
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.factorize import factorize_rows
from reconstruct.sampled.curves.curve_builder import PSN_MODULUS, SURE_ADVANCES, TCP_MODULUS, in_turn, positions
from reconstruct.sampled.curves.progress_curves import has_sequence_number, sequence_numbers
from reconstruct.streams.stream_builder import volumes

# Chance moves the distance of the first and the last sample by so many standard errors once in a million connections;
# where it is further off, numbers began again, or samples are missing.
_CHANCE = 5.0
# Fewer samples of a connection leave as much to the rate as numbers decide.
_FEWEST = 3
_CONNECTION = ("src_addr", "dst_addr", "src_port", "dst_port", "proto", "dst_qp")


def sampled_volumes(flows: Flows, primary: Bool) -> Int:
    """(rows,) payload that each record stands for, scaled by the sampling rate or by what numbers say; 0 of control.

    Args:
        flows: of all feeds, duplicate observations included.
        primary: (rows,) records that carry the volume: numbers are taken of these alone.
    """
    volume = volumes(flows.frame)
    sampled = has_sequence_number(flows) & (flows.frame["sampling_rate"] > 1)
    rows = np.flatnonzero(sampled & primary & (volume > 0))
    if not len(rows):
        return volume
    names = ("proto", "sampling_rate", "time_flow_start_ns")
    proto, rate, time_ns = (flows.frame[name][rows] for name in names)
    sequence = to_contiguous(sequence_numbers(flows.frame)[rows])
    first, number = factorize_rows(*(flows.frame[name][rows] for name in _CONNECTION))
    turn, bounds = in_turn(to_contiguous(number), len(first), to_contiguous(time_ns), sequence)
    found, own = volume.copy(), volume[rows].astype(np.float64)
    _by_distance(own, turn, bounds, sequence, proto == TCP, rate.astype(np.float64))
    found[rows] = np.rint(own).astype(np.int64)
    return found


@compiled
def _by_distance(volume: Float, turn: Int, bounds: Int, sequence: Int, tcp: Bool, rate: Float) -> None:
    """Replace the volumes of samples by what lies around each, connection by connection."""
    for n in range(len(bounds) - 1):
        rows = turn[bounds[n] : bounds[n + 1]]
        if len(rows) < _FEWEST:
            continue
        payload = volume[rows].sum() / rate[rows].sum()  # of a packet
        unit = 1.0 if tcp[rows[0]] else payload  # bytes of a number
        apart = rate[rows].mean() * payload / unit  # numbers from one sample to the next
        modulus = TCP_MODULUS if tcp[rows[0]] else PSN_MODULUS
        position = positions(sequence[rows], modulus)
        order = np.argsort(position, kind="mergesort")
        gaps = len(rows) - 1
        surplus = position[order[gaps]] / apart - gaps
        if SURE_ADVANCES * apart > modulus / 2 or abs(surplus) > _CHANCE * np.sqrt(gaps):
            continue
        for k in range(len(rows)):
            before = position[order[k]] - position[order[k - 1]] if k else 2 * apart
            behind = position[order[k + 1]] - position[order[k]] if k < gaps else 2 * apart
            volume[rows[order[k]]] = unit * (before + behind) / 2
