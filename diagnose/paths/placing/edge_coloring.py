"""Equal connections over equal spines: a coloring of the multigraph of leaves that spreads them evenly at either end.

Each leaf is split into vertices of at most `colors` connections; a bipartite multigraph of that degree has a proper
coloring with as many colors (König 1916), found by alternating paths. No color then has more than
ceil(degree / colors) connections of a leaf, in either direction, which is the least there is.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.jit import compiled

FREE = -1


def color_edges(sender: Int, receiver: Int, colors: int) -> Int:
    """(n,) color of each connection from a sending to a receiving switch, 0 to `colors` - 1.

    Args:
        sender: (n,) code of the sending switch.
        receiver: (n,) code of the receiving switch.
        colors: spines that any of them may take.
    """
    return _colored(_split(sender, colors), _split(receiver, colors), colors)


def _split(switch: Int, colors: int) -> Int:
    """(n,) vertex of each connection: so many of a switch's in a row share one."""
    order = np.argsort(switch, kind="stable")
    own = switch[order]
    first = np.searchsorted(own, own)
    vertex = np.empty(len(switch), np.int64)
    _, code = np.unique(own * (len(switch) + 1) + (np.arange(len(own)) - first) // colors, return_inverse=True)
    vertex[order] = code
    return vertex


@compiled
def _colored(sender: Int, receiver: Int, colors: int) -> Int:
    """Give each edge a color free at both ends; where there is none, swap two colors along an alternating path."""
    color = np.full(len(sender), FREE)
    if not len(sender):
        return color
    at = np.full((2, max(sender.max(), receiver.max()) + 1, colors), FREE)
    path = np.empty(len(sender), np.int64)
    ends = np.empty((2, len(sender)), np.int64)
    ends[0], ends[1] = sender, receiver
    for edge in range(len(sender)):
        one, two = 0, 0
        while at[0, sender[edge], one] != FREE:
            one += 1
        while at[1, receiver[edge], two] != FREE:
            two += 1
        if at[1, receiver[edge], one] != FREE:
            # The path from the receiver along one, two, one ... cannot reach the sender, where one is free.
            length, side, wanted = 0, 1, one
            moved = at[1, receiver[edge], one]
            while moved != FREE:
                path[length] = moved
                length, side, wanted = length + 1, 1 - side, one + two - wanted
                moved = at[side, ends[side, moved], wanted]
            for other in path[:length]:
                at[0, ends[0, other], color[other]] = FREE
                at[1, ends[1, other], color[other]] = FREE
            for other in path[:length]:
                color[other] = one + two - color[other]
                at[0, ends[0, other], color[other]] = other
                at[1, ends[1, other], color[other]] = other
        color[edge] = one
        at[0, sender[edge], one] = edge
        at[1, receiver[edge], one] = edge
    return color
