"""Connections and the doors by which they left switches -> the switches' hash, as far as doors of others follow.

CRC, XOR and Toeplitz hashes are affine over GF(2). The difference (XOR) of two headers that left a switch by the same
door then lies in the kernel of the part of the hash that picks the door, whatever seed, polynomial and numbering of
doors: headers that differ by a vector of the kernel leave by the same door. A number of doors that is no power of two,
and a hash that is not affine, fit no kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Int
from reconstruct.paths.gf2 import WORD_BITS, Subspace, Words, pack, span

# Header fields that switches hash, in network order, with their number of bits; of IPv6 the last 64.
FIELD_BITS = {"src_addr": 64, "dst_addr": 64, "src_port": 16, "dst_port": 16}
UNKNOWN = -1
# Sightings set aside must be predicted rightly to this share; noise and hashes that are not affine miss it by far.
RIGHT = 0.99
# ... and must be so many that chance would get them right once in a million times: bits of doors guessed.
EVIDENCE_BITS = 20.0
FOLDS = 5
# A kernel has at most as many dimensions as headers have bits: more sightings than this make it no better known.
MOST_SIGHTINGS = 2048

Headers = Mapping[str, npt.NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class DoorNumbering:
    """How residuals number doors, where doors in order of their interfaces are numbered by the hash's own bits.

    Doors that no connection was seen to take then follow from those that were, at this or another switch.

    Attributes:
        steps: span of differences of residuals, with those of the doors' numbers as the last word.
        reference: by switch, a residual and the number of its door.
        doors: by switch, all of them in order.
    """

    steps: Subspace
    reference: Mapping[int, tuple[Words, int]]
    doors: Mapping[int, Int]

    def look_up(self, residual: Words, switch: int) -> Int:
        """(n,) door of each residual at a switch; UNKNOWN where none follows."""
        if switch not in self.reference:
            return np.full(len(residual), UNKNOWN, np.int64)
        (origin, number), doors = self.reference[switch], self.doors[switch]
        ahead = np.concatenate([residual ^ origin, np.zeros((len(residual), 1), np.uint64)], axis=1)
        rest = self.steps.residual(ahead)
        place = number ^ rest[:, -1].astype(np.int64)
        follows = ~rest[:, :-1].any(axis=1) & (place < len(doors))
        return np.where(follows, doors[np.where(follows, place, 0)], UNKNOWN)


@dataclass(frozen=True, slots=True)
class UplinkHash:
    """How some switches choose a door.

    Attributes:
        fields: of the header that the hash is seen to read.
        kernel: differences of headers that change no door.
        cosets: (known,) key of switch and residual of headers whose door is known, in order.
        doors: (known,) their doors.
        numbering: of doors; None where it is not the hash's.
        checked, right: sightings set aside that were predicted, and rightly.
    """

    fields: tuple[str, ...]
    kernel: Subspace
    cosets: Words
    doors: Int
    numbering: DoorNumbering | None
    checked: int
    right: int

    def predict(self, headers: Headers, switch: Int) -> Int:
        """(n,) door of each header at a switch; UNKNOWN where none like it was seen there."""
        return self.look_up(self.residual(headers), switch)

    def residual(self, headers: Headers) -> Words:
        """(n, words) part of each header that decides the door; that of the XOR of two is the XOR of theirs."""
        return self.kernel.residual(_packed(headers, self.fields))

    def look_up(self, residual: Words, switch: Int) -> Int:
        """(n,) door of each residual at a switch; UNKNOWN where it was not seen there, and does not follow."""
        if not len(self.doors):
            return np.full(len(switch), UNKNOWN, np.int64)
        keys = _keys(switch, residual)
        place = np.minimum(np.searchsorted(self.cosets, keys), len(self.doors) - 1)
        found = np.where(self.cosets[place] == keys, self.doors[place], UNKNOWN)
        if self.numbering is not None:
            for one in np.unique(switch[found == UNKNOWN]).tolist():
                rows = np.flatnonzero((found == UNKNOWN) & (switch == one))
                found[rows] = self.numbering.look_up(residual[rows], one)
        return found


def learn_hashes(
    headers: Headers, switch: Int, door: Int, role: Int, doors: Mapping[int, Int]
) -> dict[int, UplinkHash]:
    """The hash of each switch whose hash could be learnt: of all switches of a role together, else of each alone.

    Switches of one model have one function with seeds of their own, which change no kernel; where kernels differ, what
    they span together contradicts sightings, and each switch has to stand on its own.

    Args:
        headers: fields of (n,) sighted headers, each once a switch.
        switch: (n,) where each was sighted.
        door: (n,) by which it left.
        role: (switches,) code of each switch's role, by its number.
        doors: by switch, all that it may choose from, in order of their interfaces.
    """
    found: dict[int, UplinkHash] = {}
    for one in np.unique(role[switch]).tolist():
        rows = np.flatnonzero(role[switch] == one)
        pooled = _learnt(headers, switch, door, rows, doors)
        members = np.unique(switch[rows]).tolist()
        for member in members:
            own = pooled or _learnt(headers, switch, door, rows[switch[rows] == member], doors)
            if own is not None:
                found[member] = own
    return found


def _learnt(headers: Headers, switch: Int, door: Int, rows: Int, doors: Mapping[int, Int]) -> UplinkHash | None:
    """The hash by the fewest fields that predicts sightings set aside; None where none does."""
    headers = {name: headers[name][rows] for name in FIELD_BITS if name in headers}
    switch, door = switch[rows], door[rows]
    chosen = _spread(headers, switch)
    fold = _folds(headers)[chosen]
    varying = [name for name, values in headers.items() if len(values) and (values != values[0]).any()]
    for size in range(1, len(varying) + 1):
        for fields in combinations(varying, size):
            vectors = _packed(headers, fields)
            checked, right = _checked(vectors[chosen], switch[chosen], door[chosen], fold, doors)
            if checked:
                kernel = _kernel(vectors[chosen], switch[chosen], door[chosen])
                return _fitted(fields, kernel, (vectors, switch, door), doors, (checked, right))
    return None


def _spread(headers: Headers, switch: Int) -> Int:
    """Rows in an order that depends on the headers alone and mixes them; at most MOST_SIGHTINGS."""
    key = _mixed((*headers.values(), switch.astype(np.uint64)))
    return np.argsort(key, kind="stable")[:MOST_SIGHTINGS]


def _folds(headers: Headers) -> Int:
    """(n,) part in which each sighting is set aside: both directions of a connection, and all its sightings, in one.

    What flows back by the same port differs from others as what flows forth does: one would answer for the other.
    """
    nothing = np.zeros(len(headers["src_port"]), np.uint64)
    one, other = headers.get("src_addr", nothing), headers.get("dst_addr", nothing)
    keys = _mixed((np.minimum(one, other), np.maximum(one, other), headers["src_port"]))
    return np.asarray(np.unique(keys, return_inverse=True)[1] % FOLDS)


def _checked(vectors: Words, switch: Int, door: Int, fold: Int, doors: Mapping[int, Int]) -> tuple[int, int]:
    """(sightings set aside that the others answer, rightly); none where too few are right, or too few are answered."""
    checked = right = 0
    bits = 0.0
    ways = np.bincount(np.unique(np.stack([switch, door]), axis=1)[0])
    for one in range(FOLDS):
        made, test = fold != one, np.flatnonzero(fold == one)
        kernel = _kernel(vectors[made], switch[made], door[made])
        learnt = _fitted((), kernel, (vectors[made], switch[made], door[made]), doors, (0, 0))
        found = learnt.look_up(kernel.residual(vectors[test]), switch[test])
        answered = found != UNKNOWN
        checked += int(answered.sum())
        right += int((found == door[test])[answered].sum())
        bits += float(np.log2(ways[switch[test][answered]]).sum())
        if right < RIGHT * checked - 1 or bits < EVIDENCE_BITS / FOLDS / 2:  # the other folds will not make up for it
            break
    return (checked, right) if right >= RIGHT * checked and bits >= EVIDENCE_BITS else (0, 0)


def _fitted(
    fields: tuple[str, ...],
    kernel: Subspace,
    seen: tuple[Words, Int, Int],
    doors: Mapping[int, Int],
    checks: tuple[int, int],
) -> UplinkHash:
    """Cosets of sightings (headers, switches, doors) and the numbering of doors, where sightings agree on one."""
    vectors, switch, door = seen
    residual = kernel.residual(vectors)
    keys, first, known = _cosets(residual, switch, door)
    numbering = _numbered(residual[first], switch[first], known, doors)
    return UplinkHash(fields, kernel, keys, known, numbering, *checks)


def _numbered(residual: Words, switch: Int, door: Int, doors: Mapping[int, Int]) -> DoorNumbering | None:
    """The numbering that cosets show; None where equal steps lead to different doors."""
    number = np.zeros(len(door), np.int64)
    reference: dict[int, tuple[Words, int]] = {}
    steps = np.concatenate([residual, np.zeros((len(door), 1), np.uint64)], axis=1)
    for one in np.unique(switch).tolist():
        rows = np.flatnonzero(switch == one)
        order = np.argsort(doors[one])
        number[rows] = order[np.searchsorted(doors[one][order], door[rows])]
        reference[one] = residual[rows[0]], int(number[rows[0]])
        steps[rows, -1] = number[rows].astype(np.uint64)
        steps[rows] ^= steps[rows[0]]
    found = span(steps)
    consistent = not len(found.pivot) or int(found.pivot.max()) < residual.shape[1] * WORD_BITS
    return DoorNumbering(found, reference, doors) if consistent else None


def _kernel(vectors: Words, switch: Int, door: Int) -> Subspace:
    """Span of the differences of headers that left a switch by the same door."""
    _, first, which = np.unique(switch << 32 | door, return_index=True, return_inverse=True)
    return span(vectors ^ vectors[first[which]])


def _cosets(residual: Words, switch: Int, door: Int) -> tuple[Words, Int, Int]:
    """Keys of cosets, a row of each, and doors; one that is seen at several doors of a switch is left out."""
    keys, first, which = np.unique(_keys(switch, residual), return_index=True, return_inverse=True)
    clear = np.bincount(which, door != door[first][which], len(keys)) == 0
    return keys[clear], first[clear], door[first][clear]


def _packed(headers: Headers, fields: tuple[str, ...]) -> Words:
    return pack([(headers[name], FIELD_BITS[name]) for name in fields])


def _keys(switch: Int, residual: Words) -> Words:
    """(n,) a number of 64 bits for switch and residual; that two pairs share one is as good as impossible."""
    return _mixed((switch.astype(np.uint64), *residual.T))


def _mixed(columns: Iterable[Words]) -> Words:
    """(n,) columns hashed into one, by the multiplier of SplitMix64."""
    key = np.zeros(1, np.uint64)
    for values in columns:
        key = (key ^ values) * np.uint64(0x9E3779B97F4A7C15)
        key = key ^ key >> np.uint64(29)
    return key
