"""What reads and writes storage."""

import numpy as np
import pytest

from datamodel.telemetry.flows import TCP
from simulate.network.fabric import Fabric
from simulate.workloads.storing import Kind, Storing

FABRIC = Fabric(hosts=4, services=3)


@pytest.mark.parametrize(("kind", "ways"), [("checkpoints", 2), ("reads", 1), ("parameters", 2)])
def test_all_of_it_has_a_server_at_one_end(kind: Kind, ways: int) -> None:
    """Reads come from there; checkpoints and parameters go both ways."""
    made = Storing(kind, (0, 1), 20.0, 2.0, 1e7, 2049).traffic(FABRIC, np.random.default_rng(1))
    written, read = made.dst >= FABRIC.nics, made.src >= FABRIC.nics
    assert (written != read).all()
    assert len(set(written.tolist())) == ways
    assert set(made.proto.tolist()) == {TCP}
    assert (np.where(written, made.dst_port, made.src_port) == 2049).all()
