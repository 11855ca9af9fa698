"""RDMA over Converged Ethernet: what each Base Transport Header opcode carries.

Source: InfiniBand Architecture Specification, volume 1, chapter 9 (table 38, opcodes and the extended headers that
follow them), and its annexes A16 (RoCE) and A17 (RoCEv2, congestion notification packets).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit
from capture.packets import uet

BTH_BYTES, RETH_BYTES, AETH_BYTES, ICRC_BYTES = 12, 16, 4, 4
PSN_BITS = 24
CNP = 0x81
RELIABLE_ACK, ATOMIC_ACK = 0x11, 0x12

_RECEIVER_NOT_READY, _NEGATIVE = 1, 3  # bits 5 and 6 of an AETH syndrome

# Bits of TRAITS. What is not numbered has no place among the packets of its connection.
PAYLOAD, ENDS_MESSAGE, RESPONSE, ACKNOWLEDGES, UNNUMBERED = 1, 2, 4, 8, 16

_DETH, _XRCETH, _RDETH, _IMMEDIATE, _INVALIDATE, _ATOMIC, _ATOMIC_ACK = 8, 4, 4, 4, 4, 28, 8

_SEND_OR_WRITE = range(12)
_ENDS = frozenset({0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0F, 0x10, 0x16, 0x17})
_WITH_RETH = frozenset({0x06, 0x0A, 0x0B, 0x0C})
_WITH_IMMEDIATE = frozenset({0x03, 0x05, 0x09, 0x0B})
_WITH_AETH = frozenset({0x0D, 0x0F, 0x10, 0x11, 0x12})
_READ_RESPONSES = range(0x0D, 0x11)
_RESPONSES = range(0x0D, 0x13)
_ATOMICS = range(0x13, 0x15)
_INVALIDATES = range(0x16, 0x18)
_RC, _UC, _RD, _UD, _XRC = 0, 1, 2, 3, 5

Table = npt.NDArray[np.uint8]


def _tables() -> tuple[Table, Table, Table, Table]:
    """Per opcode: bytes of extended headers, traits, and where RETH and AETH begin after the BTH (255: not there).

    Beyond RoCE's opcodes stand the traits of Ultra Ethernet's packets.
    """
    extended, traits = np.zeros(256, np.uint8), np.zeros(2 * uet.UET, np.uint8)
    reth, aeth = np.full(256, 255, np.uint8), np.full(256, 255, np.uint8)
    for service in (_RC, _UC, _RD, _UD, _XRC):
        for operation in range(0x18):
            opcode = service << 5 | operation
            before = _before(service, operation)
            if operation in _WITH_RETH:
                reth[opcode] = before
            if operation in _WITH_AETH:
                aeth[opcode] = before
            extended[opcode] = before + _after(operation)
            has_payload = operation in _SEND_OR_WRITE or operation in _READ_RESPONSES or operation in _INVALIDATES
            traits[opcode] = (
                PAYLOAD * has_payload | ENDS_MESSAGE * (operation in _ENDS) | RESPONSE * (operation in _RESPONSES)
            )
    traits[[RELIABLE_ACK, ATOMIC_ACK]] |= ACKNOWLEDGES
    traits[CNP] = RESPONSE | UNNUMBERED
    for begin, ends in ((uet.UET, 0), (uet.UET_ENDS, ENDS_MESSAGE)):
        traits[[begin + kind for kind in uet.NUMBERED_REQUESTS]] = PAYLOAD | ends
        traits[[begin + kind for kind in uet.OTHER_DATA]] = PAYLOAD | UNNUMBERED | ends
    traits[[uet.UET + kind for kind in uet.ACKS]] = RESPONSE | ACKNOWLEDGES
    traits[[uet.UET + kind for kind in uet.OTHER_ANSWERS]] = RESPONSE | UNNUMBERED
    return extended, traits, reth, aeth


def _before(service: int, operation: int) -> int:
    """Bytes between the BTH and the headers of the operation itself, which the transport service adds."""
    if service == _RD:
        return _RDETH + (0 if operation in _RESPONSES else _DETH)
    if service == _UD:
        return _DETH
    return _XRCETH if service == _XRC and operation not in _RESPONSES else 0


def _after(operation: int) -> int:
    """Bytes of the headers of the operation itself."""
    return (
        RETH_BYTES * (operation in _WITH_RETH)
        + AETH_BYTES * (operation in _WITH_AETH)
        + _IMMEDIATE * (operation in _WITH_IMMEDIATE)
        + _INVALIDATE * (operation in _INVALIDATES)
        + _ATOMIC * (operation in _ATOMICS)
        + _ATOMIC_ACK * (operation == ATOMIC_ACK)
    )


EXTENDED_BYTES, TRAITS, RETH_AT, AETH_AT = _tables()


@jit
def is_negative(syndrome: int) -> bool:
    """Whether an AETH syndrome, -1 where there is none, is a negative acknowledgement or says that none is ready."""
    return syndrome >> 5 == _RECEIVER_NOT_READY or syndrome >> 5 == _NEGATIVE
