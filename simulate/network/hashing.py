"""Hash functions by which switches choose among equal-cost links, as families with a seed of each switch.

CRC-32 and XOR folds are what switch chips document; Toeplitz is that of receive-side scaling (Microsoft, "RSS hashing
functions"). All three are affine over GF(2). `nonlinear` multiplies, and is not; `shared` is the same with one seed for
all switches, of endpoint numbers instead of addresses.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import ROCE_V2_PORT, UDP

HashFamily = Literal["shared", "crc", "xor", "toeplitz", "nonlinear"]
Words = npt.NDArray[np.uint64]
_TUPLE_BYTES, _TUPLE_BITS, _WORD_BITS = 13, 104, 32


@dataclass(frozen=True, slots=True)
class FiveTuples:
    """RoCEv2 packets' headers; (n,) each. Destination port and protocol are always the same.

    Attributes:
        src, dst: IPv4 addresses as numbers.
        src_port: UDP source port.
    """

    src: Int
    dst: Int
    src_port: Int

    def octets(self) -> npt.NDArray[np.uint8]:
        """(n, 13) source, destination, source port, destination port and protocol, in network order."""
        count = len(self.src)
        found = np.empty((count, _TUPLE_BYTES), np.uint8)
        found[:, 0:4] = self.src.astype(">u4").view(np.uint8).reshape(count, 4)
        found[:, 4:8] = self.dst.astype(">u4").view(np.uint8).reshape(count, 4)
        found[:, 8:10] = self.src_port.astype(">u2").view(np.uint8).reshape(count, 2)
        found[:, 10:12] = np.frombuffer(ROCE_V2_PORT.to_bytes(2, "big"), np.uint8)
        found[:, 12] = UDP
        return found


def mixed(*numbers: Int) -> Int:
    """Numbers hashed into one from 0 to 2^31: the finaliser of SplitMix64 (Steele et al., OOPSLA 2014) after each."""
    state = np.zeros(np.broadcast(*numbers).shape, np.uint64)
    for number in numbers:
        state = (state ^ number.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(30)
        state *= np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(27)
    return (state >> np.uint64(33)).astype(np.int64)


def hash_tuples(family: HashFamily, tuples: FiveTuples, seed: Int) -> Int:
    """(n,) hash of each packet at a switch whose seed is (n,) `seed`; a door is its remainder by their number."""
    return _FAMILIES[family](tuples, seed)


def _crc(tuples: FiveTuples, seed: Int) -> Int:
    table = np.array([zlib.crc32(bytes([n])) ^ zlib.crc32(b"\0") for n in range(256)], np.uint64)
    state: Words = mixed(seed).astype(np.uint64)
    for octet in tuples.octets().T:
        state = table[((state ^ octet) & np.uint64(0xFF)).astype(np.int64)] ^ (state >> np.uint64(8))
    return state.astype(np.int64)


def _xor(tuples: FiveTuples, seed: Int) -> Int:
    folded = tuples.src ^ tuples.dst ^ tuples.src_port ^ (mixed(seed) & 0xFFFFFFFF)
    folded ^= folded >> 16
    return (folded ^ folded >> 8) & 0xFF


def _toeplitz(tuples: FiveTuples, seed: Int) -> Int:
    """Key of each switch is drawn from its seed, so that kernels of two switches differ."""
    switches, which = np.unique(seed, return_inverse=True)
    key = np.stack([mixed(switches, np.full_like(switches, n)) & 1 for n in range(_TUPLE_BITS + _WORD_BITS)], axis=1)
    bits = np.unpackbits(tuples.octets(), axis=1)
    found = np.zeros(len(which), np.int64)
    powers = 1 << np.arange(_WORD_BITS)[::-1]
    for n in range(_TUPLE_BITS):
        window = key[:, n : n + _WORD_BITS] @ powers
        found ^= np.where(bits[:, n], window[which], 0)
    return found


def _nonlinear(tuples: FiveTuples, seed: Int) -> Int:
    return mixed(tuples.src, tuples.dst, tuples.src_port, seed)


_FAMILIES: dict[HashFamily, Callable[[FiveTuples, Int], Int]] = {
    "crc": _crc,
    "xor": _xor,
    "toeplitz": _toeplitz,
    "nonlinear": _nonlinear,
}
