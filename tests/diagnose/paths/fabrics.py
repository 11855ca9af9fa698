"""Fabrics of leaves and spines, and connections between leaves, drawn."""

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Float, Int
from diagnose.paths.placing.placement import Demand
from diagnose.paths.shortest_routes import DirectedCables, ShortestRoutes, shortest_routes

GBPS = 400.0
BYTES_PER_S = GBPS * 1e9 / 8


def cables(leaves: int, spines: int) -> DirectedCables:
    """A cable from each leaf to each spine."""
    return DirectedCables.of(
        [
            Link(a=f"leaf{leaf}", b=f"spine{spine}", a_port=1 + spine, b_port=1 + leaf, speed_gbps=GBPS)
            for leaf in range(leaves)
            for spine in range(spines)
        ]
    )


def ends(count: int, leaves: int, draw: int) -> tuple[Int, Int]:
    """(sending leaf, another that receives) of each connection; leaves are the first switches by name."""
    random = np.random.default_rng(draw)
    src = random.integers(0, leaves, count)
    return src, (src + random.integers(1, leaves, count)) % leaves


def demand(fabric: DirectedCables, src: Int, dst: Int, sent: Float) -> tuple[Demand, ShortestRoutes]:
    """Connections with (n, phases) bytes, each phase of all connections' own job, and the routes open to them."""
    number = {name: n for n, name in enumerate(fabric.switches)}
    code = np.array([number[f"leaf{n}"] for n in range(int(max(src.max(), dst.max())) + 1)])
    pairs, pair = np.unique(np.stack([code[src], code[dst]], axis=1), axis=0, return_inverse=True)
    nothing = np.zeros((len(fabric.tail), sent.shape[1]))
    return Demand(pair.ravel(), sent, np.ones(sent.shape, np.bool_), nothing), shortest_routes(fabric, pairs)
