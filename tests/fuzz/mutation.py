"""Seeded damage to valid inputs: what links, snap lengths, broken exporters and attackers do to datagrams."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_EXTREMES = (0, 1, 2, 3, 4, 5, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many damaged inputs, the same ones for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    for _ in range(count):
        content = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 4)):
            _damage(content, seeds, rng)
        yield bytes(content)


def _damage(content: bytearray, seeds: Sequence[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(content)) if content else 0
    kind = rng.randrange(7)
    if kind == 0 and content:
        content[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        width = rng.choice((1, 2, 4))
        content[at : at + width] = (rng.choice(_EXTREMES) & (1 << 8 * width) - 1).to_bytes(width, "big")
    elif kind == 2:
        del content[at:]
    elif kind == 3:
        content[at:at] = rng.randbytes(rng.randint(1, 8))
    elif kind == 4:
        del content[at : at + rng.randint(1, 8)]
    elif kind == 5:
        other = rng.choice(seeds)
        content[at:] = other[rng.randrange(len(other)) :]
    else:
        content[at:at] = content[at : at + rng.randint(1, 64)]
