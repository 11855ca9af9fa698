"""Which flow samples remain where a collector cannot decode all of them: one in so many, by a hash of each sample.

The choice rests on the sample alone, so it is the same whenever and wherever the sample is decoded, and independent of
what the packet was. What remains at a larger power of two is among what remains at a smaller one.
"""

from __future__ import annotations

from capture.jit import jit
from capture.packets.packet_columns import Record
from capture.tables.key_table import stirred

# Below 2^31, so that products with 32 bits stay below 2^63, the same compiled and not.
_FIRST_ODD, _SECOND_ODD, _WORD = 0x7FEB352D, 0x31848BAB, 0xFFFFFFFF

MOST_THINNING = 64  # one in so many samples is kept at the least; beyond it the rest of the work costs more


@jit
def sample_hash(head: Record, sample: Record) -> int:
    """A hash of agent, sub-agent, data source and sample number, 32 bits.

    Sample numbers count a data source's samples (sFlow version 5, section 5), so that the source belongs to them.
    """
    state = stirred(stirred(stirred(0, head["agent_high"]), head["agent_low"]), head["sub_agent"])
    state = stirred(state, sample["source_class"] << 32 ^ sample["source_index"])
    return mixed(mixed((state ^ state >> 32) & _WORD) ^ sample["sequence"])


@jit
def mixed(word: int) -> int:
    """32 bits that all depend on every bit of a word of 32, so that consecutive numbers give unrelated ones."""
    word = (word ^ word >> 16) * _FIRST_ODD & _WORD
    word = (word ^ word >> 15) * _SECOND_ODD & _WORD
    return word ^ word >> 16


@jit
def is_left_out(head: Record, sample: Record, one_in: int, configured: int) -> bool:
    """Whether a flow sample is left out where one in `one_in`, a power of two, is kept.

    One of unknown rate never is: what remains could not stand for it.

    Args:
        head: of its datagram.
        sample: its fields.
        one_in: how many samples one stands for; 1 keeps all.
        configured: the rate that an operator gave for its agent; 0 where none.
    """
    if one_in <= 1 or (sample["sampling_rate"] == 0 and configured == 0):
        return False
    return (sample_hash(head, sample) & (one_in - 1)) != 0
