"""Who an endpoint is, as far as classes of traffic ask: rank of a job, store, host with GPUs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from reconstruct.traffic_classes.conversations import Conversations
from reconstruct.traffic_classes.options import TrafficOptions


@dataclass(frozen=True, slots=True)
class KnownEndpoints:
    """What is known of endpoints before their traffic is looked at; (addresses,) each.

    Attributes:
        job: number of the job that it is a rank of; -1 none.
        service: named as a service by the inventory.
        computes: the inventory gives it GPUs.
        stepping: turns over with others, too fast for training (`Recognition.stepping`).
    """

    job: Int
    service: Bool
    computes: Bool
    stepping: Bool


def bulk(found: Conversations, options: TrafficOptions) -> Bool:
    """(conversations,) which move data, or answer to what does."""
    most, volume = found.both_ways(found.largest_bytes), found.both_ways(found.bytes)
    return (most >= options.bulk_record_bytes) & (volume >= options.bulk_bytes)


def find_stores(found: Conversations, known: KnownEndpoints, moves: Bool, options: TrafficOptions) -> Bool:
    """(addresses,) which are stores, parameter servers or management hosts.

    Services of the inventory are, and hosts without a GPU where it lists GPUs. Others are known by serving all:
    many peers, several times as many as these have.
    """
    stores = known.service.copy()
    if known.computes.any():
        stores |= ~known.computes
    degree = np.bincount(_pairs(found, moves)[0], minlength=len(stores))
    src, dst = _pairs(found, moves)
    order = np.lexsort([degree[dst], src])
    first = np.searchsorted(src[order], np.arange(len(stores) + 1))
    middle = np.minimum((first[:-1] + first[1:]) // 2, max(len(order) - 1, 0))
    usual = degree[dst[order]][middle] if len(order) else degree
    hub = (degree >= options.hub_peers) & (degree >= options.hub_ratio * usual) & (known.job < 0)
    return np.asarray(stores | hub)


def _pairs(found: Conversations, moves: Bool) -> tuple[Int, Int]:
    """Endpoints that exchange data, each pair both ways once."""
    size = int(max(found.src.max(initial=0), found.dst.max(initial=0))) + 1
    src, dst = found.src[moves], found.dst[moves]
    pairs = np.unique(np.concatenate([src * size + dst, dst * size + src]))
    return pairs // size, pairs % size
