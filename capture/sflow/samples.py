"""What a sample means before its packet is looked at: its rate, its interfaces and direction, its time.

Per data source the sample pool and the sample numbers are followed: between two samples of one source the pool grows
by the packets that could have been sampled, so pool over samples is the actual rate, whatever rate is exported and
however many datagrams were lost (sFlow version 5, section 5: sample_pool, sequence_number, drops).
"""

from __future__ import annotations

import numpy as np

from capture.exporters.exporter_table import IN_DATAGRAMS, Exporter, Table
from capture.exporters.sequence_runs import step
from capture.jit import jit, wide
from capture.packets.packet_columns import Record
from capture.sflow.reasons import CAPTURE_CUT
from capture.sflow.sflow_layout import IF_INDEX, NO_INTERFACE, NO_INTERFACE_EXPANDED, ONE_INTERFACE
from capture.sflow.walk import ABSENT
from capture.tables.key_table import Keys, Words, place_of

MOST_SOURCES = 1 << 16  # more ports than a fabric's switches have; beyond it sources are invented
MOST_RATES = 8  # of one exporter that are counted separately

INGRESS, EGRESS, NO_DIRECTION = 0, 1, 255
LONGEST_HOLD_NS = 1_000_000_000  # no agent may hold a sample longer (sFlow version 5, section 4)
FARTHEST_STAMP_NS = 10_000_000_000  # from the arrival; beyond it the two clocks do not agree

_RESET_STEP = 1 << 20  # samples: nothing loses so many of one source between two that arrive
_MOST_COUNTED = 1 << 61  # sums stop growing before they overflow

SOURCE = np.dtype(
    [
        ("exporter", "i8"),  # its row in the exporter table
        ("source_class", "i8"),
        ("source_index", "i8"),
        ("sequence", "i8"),  # of its newest sample
        ("pool", "i8"),
        ("drops", "i8"),
        ("unsteady", "i8"),  # datagrams of its exporter that had come out of turn or cut when that sample came
        ("counters", "i8"),  # and how many counters of datagrams that had begun
        ("samples", "i8"),  # that the agent took between the samples that came, by their numbers
        ("packets", "i8"),  # that could have been sampled meanwhile, by the pool
        ("exported_packets", "i8"),  # the same by the rate in the samples
        ("missing", "i8"),  # samples that did not come though every datagram did, whole and in turn
    ]
)

AGENT = np.dtype(
    [
        ("configured", "i8"),  # rate an operator gave; 0 where none
        ("overruled", "i8"),  # samples with another rate than the configured one
        ("without_rate", "i8"),
        ("dropped", "i8"),  # samples the agent could not take for lack of resources
        ("cut_headers", "i8"),  # sampled headers that end inside the transport header or before a RETH or AETH
        ("far_stamps", "i8"),  # samples whose time stamp was not believed
        ("rates_used", "i8"),
        ("rates", "i8", (MOST_RATES,)),  # that its records carry
        ("begun", "i8"),  # 1 once `configured` is looked up
        ("source_high", "i8"),  # address that its newest datagram came from
        ("source_low", "i8"),
    ]
)

# What all samples of a datagram share, and those of the sample at hand.
MOMENT = np.dtype(
    [
        ("arrival_ns", "i8"),
        ("hold_ns", "i8"),  # how long before the arrival its samples may have been taken
        ("samples", "i8"),  # in the datagram
        ("place", "i8"),  # of the sample among them
        ("sampler", "i8"),  # address code of the agent
        ("domain", "i8"),
        ("time_ns", "i8"),
        ("uncertainty_ns", "i8"),
        ("sampling_rate", "i8"),
        ("in_if", "i8"),
        ("out_if", "i8"),
        ("direction", "i8"),
    ]
)


@jit
def source_of(sources: Table, keys: Keys, exporter: int, sample: Record) -> int:
    """The row of a sample's data source, begun now if it is new; FULL where there is no room left for it."""
    known = keys.used[0]
    place = place_of(keys, (wide(exporter), sample["source_class"] << 32 ^ sample["source_index"]))
    if place == known:
        row = sources[place]
        row["exporter"] = exporter
        row["source_class"] = sample["source_class"]
        row["source_index"] = sample["source_index"]
        row["sequence"] = ABSENT
    return place


def source_keys(sources: Table) -> Words:
    """What rows of `SOURCE` are found by."""
    return np.stack([sources["exporter"], sources["source_class"] << 32 ^ sources["source_index"]], axis=1)


@jit
def follow_source(source: Record, agent: Record, sample: Record, exporter: Exporter) -> None:
    """Add what happened between a source's previous sample and this one, which did not come late.

    Samples are missed only where no datagram since could have held them: none was lost, late or cut.

    Args:
        source: its row.
        agent: the `AGENT` row of its exporter.
        sample: the sample's fields.
        exporter: its account.
    """
    counters = exporter["counters"][IN_DATAGRAMS]
    unsteady = exporter["misfits"][IN_DATAGRAMS] + exporter["rejected"][CAPTURE_CUT]
    ahead = step(source["sequence"], sample["sequence"]) if source["sequence"] >= 0 else wide(0)
    if source["counters"] == counters and 0 < ahead < _RESET_STEP:
        fewer = step(source["drops"], sample["drops"])
        if fewer > 0:
            agent["dropped"] += fewer
        if max(source["packets"], source["exported_packets"]) < _MOST_COUNTED:
            source["samples"] += ahead
            source["packets"] += (sample["pool"] - source["pool"]) & 0xFFFFFFFF
            source["exported_packets"] += ahead * sample["sampling_rate"]
        if source["unsteady"] == unsteady:
            source["missing"] += ahead - 1
    source["sequence"] = sample["sequence"]
    source["pool"] = sample["pool"]
    source["drops"] = sample["drops"]
    source["unsteady"] = unsteady
    source["counters"] = counters


@jit
def rate(agent: Record, exported: int) -> int:
    """The rate that a sample's record is to carry; 0 is unknown."""
    used = exported
    if agent["configured"] > 0:
        used = agent["configured"]
        if exported != used:
            agent["overruled"] += 1
    if used == 0:
        agent["without_rate"] += 1
    for k in range(agent["rates_used"]):
        if agent["rates"][k] == used:
            return wide(used)
    place = min(agent["rates_used"], wide(MOST_RATES - 1))
    agent["rates"][place] = used
    agent["rates_used"] = place + 1
    return wide(used)


@jit
def interface(kind: int, value: int) -> int:
    """The interface index that an interface field names; 0 where it names none, several, or the device itself."""
    if kind != ONE_INTERFACE or value in (NO_INTERFACE, NO_INTERFACE_EXPANDED):
        return wide(0)
    return wide(value)


@jit
def direction(sample: Record, in_if: int, out_if: int) -> int:
    """Whether a port sampled what came in or what went out: its data source is then the input or output interface."""
    source = sample["source_index"]
    if sample["source_class"] != IF_INDEX or source == 0 or in_if == out_if:
        return NO_DIRECTION
    if source == in_if:
        return INGRESS
    return EGRESS if source == out_if else NO_DIRECTION


@jit
def hold_ns(exporter: Exporter, arrival_ns: int) -> int:
    """How long before its arrival the samples of a datagram in turn may have been taken.

    They were taken after the agent's previous datagram left, for that would have carried them, and no more than
    `LONGEST_HOLD_NS` ago. `last_ns` of the exporter must still be that of the datagrams before.
    """
    if exporter["datagrams"] == 0:
        return wide(LONGEST_HOLD_NS)
    return wide(min(max(arrival_ns - exporter["last_ns"], 0), LONGEST_HOLD_NS))


@jit
def place_in_time(moment: Record, agent: Record, sample: Record) -> None:
    """Set the moment's time: the agent's own stamp where it is there and believable, else by the sample's place.

    The reference agent (sflow_receiver.c of sFlow.org, which hsflowd and Open vSwitch build in) sends a datagram when
    the next sample does not fit into it any more, and that sample opens the next one. So the first sample was taken
    when the previous datagram left, the others in their order between then and the arrival: evenly, as far as one
    can know. Where no datagram left within `LONGEST_HOLD_NS`, the first sample is spread with the others.
    """
    stamp, held = sample["stamp_ns"], moment["hold_ns"]
    halves = 2 * moment["place"] + (1 if held == LONGEST_HOLD_NS else 0)
    moment["time_ns"] = moment["arrival_ns"] - held + held * halves // (2 * moment["samples"])
    moment["uncertainty_ns"] = (held + 1) // 2
    if stamp < 0:
        return
    if abs(stamp - moment["arrival_ns"]) > FARTHEST_STAMP_NS:
        agent["far_stamps"] += 1
        return
    moment["time_ns"] = stamp
    moment["uncertainty_ns"] = 0
