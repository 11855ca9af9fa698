import zlib

import numpy as np
import pytest

from simulate.network.fabric import Fabric
from simulate.network.hashing import FiveTuples, HashFamily, hash_tuples


def drawn(count: int, draw: int) -> FiveTuples:
    """Tuples of any addresses and ports."""
    random = np.random.default_rng(draw)
    return FiveTuples(*(random.integers(0, most, count) for most in (1 << 32, 1 << 32, 1 << 16)))


def combined(*parts: FiveTuples) -> FiveTuples:
    """The XOR of tuples, field by field."""
    fields = zip(*((p.src, p.dst, p.src_port) for p in parts), strict=True)
    return FiveTuples(*(np.bitwise_xor.reduce(field) for field in fields))


@pytest.mark.parametrize(("family", "affine"), [("crc", True), ("xor", True), ("toeplitz", True), ("nonlinear", False)])
def test_crc_xor_and_toeplitz_are_affine_over_gf2(family: HashFamily, affine: bool) -> None:
    """The hash of the XOR of three tuples is that of their hashes at every switch, but for the nonlinear hash."""
    parts, seed = [drawn(200, n) for n in range(3)], np.arange(200) % 7
    hashes = [hash_tuples(family, part, seed) for part in parts]
    whole = hash_tuples(family, combined(*parts), seed)
    assert bool((whole == hashes[0] ^ hashes[1] ^ hashes[2]).all()) is affine


@pytest.mark.parametrize("family", ["crc", "xor", "toeplitz", "nonlinear"])
def test_leaves_have_seeds_of_their_own_and_use_every_spine(family: HashFamily) -> None:
    """The same tuple leaves two leaves by different doors for many tuples; no spine gets a tenth of its share only."""
    fabric = Fabric(hosts=64, gpus_per_host=1, nics_per_host=1, rail_optimised=False, hash_family=family)
    port = np.arange(49152, 65536)
    ends = np.zeros_like(port), np.full_like(port, 63)
    there = fabric.spine(ends[0], ends[1], port)
    seeds = [hash_tuples(family, FiveTuples(*ends, port), np.full_like(port, n)) % 8 for n in (1, 2)]
    assert (seeds[0] != seeds[1]).mean() > 0.5
    assert np.bincount(there, minlength=8).min() > len(port) / 80


def test_a_known_tuple_has_the_checksum_of_zlib() -> None:
    """The hash is affine with zlib's CRC-32 as its linear part: differences of tuples have differences of checksums."""
    one, two = drawn(1, 5), drawn(1, 6)
    found = [int(hash_tuples("crc", t, np.array([3]))[0]) for t in (one, two)]
    checks = [zlib.crc32(t.octets().tobytes()) for t in (one, two)]
    assert found[0] ^ found[1] == checks[0] ^ checks[1]
