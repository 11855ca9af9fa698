"""Addresses of several overlay networks: equal ones of two tenants are two endpoints.

An address that is met in one network only keeps its name, and with it what a switch outside of the overlay sees of it.
One that is met in several is named by each of them, as `10.0.0.1%5001`. Networks that the inventory gives to one tenant
are one.
"""

from __future__ import annotations

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import Flows, recode


def apart_by_network(flows: Flows, inventory: Inventory | None) -> tuple[Flows, tuple[str, ...]]:
    """Records whose addresses are of one network each, and addresses that several use, by their plain names.

    Args:
        flows: as they were read.
        inventory: says which networks are of one tenant; None for nothing.
    """
    told = flows.frame["network"]
    if not told[:1].any() and not told.any():
        return flows, ()
    network = _of_tenants(told, inventory)
    ends = [flows.frame[side].astype(np.int64) for side in ("src_addr", "dst_addr")]
    met = np.unique(np.concatenate([end << 32 | network for end in ends])[np.tile(network > 0, 2)])
    code, times = np.unique(met >> 32, return_counts=True)
    shared = code[times > 1]
    if not len(shared):
        return flows, ()
    met = met[np.isin(met >> 32, shared)]
    names = tuple(f"{flows.addresses[one >> 32]}%{one & 0xFFFFFFFF}" for one in met.tolist())
    columns = {}
    for side, end in zip(("src_addr", "dst_addr"), ends, strict=True):
        key = end << 32 | network
        place = np.minimum(np.searchsorted(met, key), len(met) - 1)
        columns[side] = np.where(met[place] == key, len(flows.addresses) + place, end)
    plain = tuple(flows.addresses[one] for one in shared.tolist())
    return recode(flows.frame.replace(**columns), flows.addresses + names), plain


def _of_tenants(network: Int, inventory: Inventory | None) -> Int:
    """(rows,) the network, the first one of a tenant for all of its others."""
    found, of = np.unique(network, return_inverse=True)
    first = {n: t.networks[0] for t in (inventory.tenants if inventory is not None else ()) for n in t.networks}
    return np.array([first.get(n, n) for n in found.tolist()], np.int64)[of]
