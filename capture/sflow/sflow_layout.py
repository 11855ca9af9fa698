"""Numbers of the sFlow version 5 wire format: types, sizes, and what may stand where a value is unknown."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from capture.sflow.counter_structures import COUNTER_STRUCTURES
from capture.sflow.flow_structures import FLOW_STRUCTURES
from capture.sflow.structures import Number

LONGEST_DATAGRAM_BYTES = 65_535  # a UDP datagram holds no more; longer ones were never sent

# Address types.
ADDRESS_IPV4, ADDRESS_IPV6 = 1, 2

# Sample types of enterprise 0.
FLOW_SAMPLE, COUNTER_SAMPLE, FLOW_SAMPLE_EXPANDED, COUNTER_SAMPLE_EXPANDED, DISCARDED_PACKET = range(1, 6)
FLOW_SAMPLE_BYTES, FLOW_SAMPLE_EXPANDED_BYTES, DISCARDED_PACKET_BYTES = 32, 44, 32
COUNTER_SAMPLE_BYTES, COUNTER_SAMPLE_EXPANDED_BYTES = 12, 16
SMALLEST_SAMPLE_BYTES = 20  # a counter sample without structures, and the type and length before it

# Flow structures of enterprise 0 that are decoded; the others are walked over.
HEADER, ETHERNET_DATA, IPV4_DATA, IPV6_DATA = 1, 2, 3, 4
EGRESS_QUEUE, QUEUE_DEPTH, TIMESTAMP = 1036, 1040, 1043
BROADCOM_EGRESS_QUEUE = 4413 << 12 | 1  # the one flow structure of an enterprise's that is known; says what 1036 does
HEADER_FIELDS_BYTES, IPV4_DATA_BYTES, IPV6_DATA_BYTES = 16, 32, 56

# Counter structures that are decoded, by type word.
IF_COUNTERS, PFC_COUNTERS = 1, 11
IF_COUNTERS_BYTES, PFC_COUNTERS_BYTES = 88, 20
HOST_CPU, HOST_MEMORY = 2003, 2004
HOST_CPU_BYTES, HOST_MEMORY_BYTES = 68, 72  # as the specification of 2010 has them: steal and guest times came later
NVIDIA_GPU, NVIDIA_GPU_BYTES = 5703 << 12 | 1, 48

# Header protocols (sFlow version 5, enum header_protocol).
ETHERNET_HEADER, PPP_HEADER, IPV4_HEADER, IPV6_HEADER, MPLS_HEADER, POS_HEADER = 1, 7, 11, 12, 13, 14
LINK_ETHERNET, LINK_RAW = 1, 101  # what `capture.packets.packet.frame_packet` calls them

# Interfaces: two bits of format and thirty of value.
ONE_INTERFACE, DISCARDED, SEVERAL_INTERFACES = range(3)
NO_INTERFACE, NO_INTERFACE_EXPANDED = 0x3FFFFFFF, 0xFFFFFFFF  # traffic of the device itself
IF_INDEX = 0  # class of a data source whose index is an ifIndex
PHYSICAL_ENTITY = 2  # of one that is the device, or a part of it

UNKNOWN_COUNTER = 0xFFFFFFFF  # an agent that cannot count something says so (section 5 of the specification)

_FORMATS = 4096  # twelve bits
KNOWN_ENTERPRISE = 0


def _known(numbers: Iterable[Number]) -> npt.NDArray[np.uint8]:
    """Per format of enterprise 0 whether it is one of these."""
    known = np.zeros(_FORMATS, np.uint8)
    known[[number for enterprise, number in numbers if enterprise == KNOWN_ENTERPRISE]] = 1
    return known


def _known_elsewhere(numbers: Iterable[Number]) -> npt.NDArray[np.int64]:
    """Type words (enterprise << 12 | format) of other enterprises' structures."""
    words = [enterprise << 12 | number for enterprise, number in numbers if enterprise != KNOWN_ENTERPRISE]
    return np.array(sorted(words), np.int64)


KNOWN_FLOW, KNOWN_COUNTER = _known(FLOW_STRUCTURES), _known(COUNTER_STRUCTURES)
KNOWN_COUNTER_ELSEWHERE = _known_elsewhere(COUNTER_STRUCTURES)
