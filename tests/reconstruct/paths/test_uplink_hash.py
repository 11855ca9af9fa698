"""Hashes of simulated switches, learnt from sightings of connections and held against connections not seen."""

import numpy as np
import numpy.typing as npt
import pytest

from datamodel.reconstructed.streams import Int
from reconstruct.paths.gf2 import pack, span
from reconstruct.paths.uplink_hash import UNKNOWN, Headers, UplinkHash, learn_hashes
from simulate.network.hashing import FiveTuples, HashFamily, hash_tuples

SWITCHES = 8
ROLES = np.zeros(SWITCHES, np.int64)
DOORS = {n: np.arange(16) for n in range(SWITCHES)}


def sighted(family: HashFamily, each: int, doors: int, draw: int) -> tuple[Headers, Int, Int]:
    """(headers, switch, door) of so many connections a switch between hosts of a training fabric."""
    random = np.random.default_rng(draw)
    count = SWITCHES * each
    switch = np.repeat(np.arange(SWITCHES), each)
    src = (10 << 24) + (switch * 16 + random.integers(0, 16, count) << 8) + random.integers(1, 9, count)
    dst = (10 << 24) + (random.integers(0, 128, count) << 8) + random.integers(1, 9, count)
    port = random.integers(0xC000, 0x10000, count)
    door = hash_tuples(family, FiveTuples(src, dst, port), switch + 100 * draw) % doors
    words = {"src_addr": src, "dst_addr": dst, "src_port": port, "dst_port": np.full(count, 4791)}
    return {name: values.astype(np.uint64) for name, values in words.items()}, switch, door


def answers(found: dict[int, UplinkHash], headers: Headers, switch: Int) -> Int:
    """Door of each header by what was learnt."""
    doors = np.full(len(switch), UNKNOWN)
    for number, learnt in found.items():
        own = switch == number
        doors[own] = learnt.predict({name: values[own] for name, values in headers.items()}, switch[own])
    return doors


@pytest.mark.parametrize("doors", [2, 4, 8, 16])
@pytest.mark.parametrize("family", ["crc", "xor", "toeplitz"])
def test_eighty_sightings_a_switch_answer_almost_all_others_rightly(family: HashFamily, doors: int) -> None:
    """>= 98 % of unseen connections are answered, >= 99.9 % of the answers are right."""
    found = learn_hashes(*sighted(family, 80, doors, doors), ROLES, DOORS)
    headers, switch, door = unseen(family, doors, doors)
    said = answers(found, headers, switch)
    known = said != UNKNOWN
    assert known.mean() >= 0.98
    assert (said == door)[known].mean() >= 0.999


def unseen(family: HashFamily, doors: int, draw: int) -> tuple[Headers, Int, Int]:
    """Connections of the same switches, of another draw."""
    headers, switch, _ = sighted(family, 400, doors, draw + 1000)
    src, dst, port = (headers[name].astype(np.int64) for name in ("src_addr", "dst_addr", "src_port"))
    return headers, switch, hash_tuples(family, FiveTuples(src, dst, port), switch + 100 * draw) % doors


@pytest.mark.parametrize(("family", "doors"), [("nonlinear", 8), ("nonlinear", 2), ("crc", 3), ("crc", 6), ("crc", 12)])
def test_a_hash_that_is_not_affine_is_refused(family: HashFamily, doors: int) -> None:
    """Neither the nonlinear hash nor a number of doors that is no power of two gives any answer."""
    for draw in range(2):
        assert learn_hashes(*sighted(family, 200, doors, draw), ROLES, DOORS) == {}


@pytest.mark.parametrize("family", ["crc", "xor", "toeplitz"])
def test_wrong_sightings_leave_answers_right_or_none(family: HashFamily) -> None:
    """With 2 % of the sightings at a wrong door: >= 99.9 % of what is answered is right, or nothing is answered."""
    for draw in range(2):
        headers, switch, door = sighted(family, 80, 8, draw)
        wrong = np.random.default_rng(draw).random(len(door)) < 0.02
        found = learn_hashes(headers, switch, np.where(wrong, (door + 3) % 8, door), ROLES, DOORS)
        others, at, truth = unseen(family, 8, draw)
        said = answers(found, others, at)
        known = said != UNKNOWN
        assert (said == truth)[known].sum() >= 0.999 * known.sum()


def test_fields_that_the_hash_does_not_read_are_left_out() -> None:
    """A hash of addresses alone is learnt as such, whatever the ports are."""
    headers, switch, _ = sighted("crc", 80, 8, 5)
    src, dst = (headers[name].astype(np.int64) for name in ("src_addr", "dst_addr"))
    door = hash_tuples("crc", FiveTuples(src, dst, np.zeros_like(src)), switch) % 8
    found = learn_hashes(headers, switch, door, ROLES, DOORS)
    assert {one.fields for one in found.values()} == {("src_addr", "dst_addr")}


def test_few_sightings_are_no_evidence() -> None:
    """Three connections a switch fit any hash, and none is claimed."""
    assert learn_hashes(*sighted("xor", 3, 8, 1), ROLES, DOORS) == {}


def test_what_flows_back_is_no_evidence_for_what_flows_forth() -> None:
    """A ring between three leaves, seen both ways by the same ports: too few to know what ports do, whatever fits."""
    for draw in range(8):
        random = np.random.default_rng(draw)
        src = np.repeat((10 << 24) + (np.arange(8) << 8) + 1, 2)
        dst, port = np.roll(src, 2), random.integers(0xC000, 0x10000, 16)
        both = np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([port, port])
        switch = (both[0] >> 8 & 255) // 3
        door = hash_tuples("crc", FiveTuples(*both), switch + draw) % 2
        names = ("src_addr", "dst_addr", "src_port")
        headers = {name: values.astype(np.uint64) for name, values in zip(names, both, strict=True)}
        assert learn_hashes(headers | {"dst_port": np.full(32, 4791, np.uint64)}, switch, door, ROLES, DOORS) == {}


def test_rows_in_any_order_give_the_same_hash() -> None:
    """The kernel, its cosets and their doors do not depend on the order of sightings."""
    headers, switch, door = sighted("crc", 80, 8, 2)
    order = np.random.default_rng(0).permutation(len(door))
    one = learn_hashes(headers, switch, door, ROLES, DOORS)[0]
    two = learn_hashes({n: v[order] for n, v in headers.items()}, switch[order], door[order], ROLES, DOORS)[0]
    assert one.kernel.basis.tolist() == two.kernel.basis.tolist()
    assert (one.cosets.tolist(), one.doors.tolist()) == (two.cosets.tolist(), two.doors.tolist())


def test_the_span_of_vectors_holds_their_sums_and_nothing_else() -> None:
    """Over two words: sums of the vectors have no residual, a vector with a further bit has one."""
    random = np.random.default_rng(3)
    values: npt.NDArray[np.uint64] = random.integers(0, 1 << 40, 12).astype(np.uint64)
    vectors = pack([(values, 40), (values[::-1].copy(), 40)])
    whole = span(vectors)
    assert len(whole.pivot) == 12
    sums = vectors[:6] ^ vectors[6:]
    assert not whole.residual(sums).any()
    assert whole.residual(sums ^ pack([(np.zeros(6, np.uint64), 40), (np.full(6, 1 << 39, np.uint64), 40)])).any()
