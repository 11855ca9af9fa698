"""What a served model moves."""

import numpy as np
import pytest

from simulate.network.fabric import Fabric
from simulate.workloads.serving import KV_BYTES, Kind, Serving

FABRIC = Fabric(hosts=6)


def drawn(kind: Kind, load_ratio: float = 0.5) -> Serving:
    """Some hosts that serve for ten seconds."""
    return Serving(kind, (1, 2, 3, 4), 10.0, prefill_hosts=2, load_ratio=load_ratio)


def test_keys_go_from_prefill_to_decoding_rail_by_rail() -> None:
    """One way; each rail has an eighth of each prompt's."""
    made = drawn("disaggregated").traffic(FABRIC, np.random.default_rng(1))
    assert set((made.src // 8).tolist()) == {1, 2}
    assert set((made.dst // 8).tolist()) <= {3, 4}
    assert (made.src % 8 == made.dst % 8).all()
    assert (made.bytes % (KV_BYTES // 8) == 0).all()


@pytest.mark.parametrize("kind", ["tensor", "expert"])
def test_engines_exchange_both_ways_as_much_as_they_are_asked_for(kind: Kind) -> None:
    """More load, more bytes; every pair in both directions."""
    little, much = (drawn(kind, load).traffic(FABRIC, np.random.default_rng(1)) for load in (0.1, 0.9))
    pairs = set(zip(much.src.tolist(), much.dst.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}
    assert much.bytes.sum() > 2 * little.bytes.sum()
