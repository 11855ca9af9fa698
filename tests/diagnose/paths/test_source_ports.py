"""Ports for planned routes: none that a connection of the same sender and receiver has."""

import numpy as np

from diagnose.paths.source_ports import FIRST_PORT, choose_ports, ports_in_use


def test_ports_of_ipv6_connections_are_not_given_twice() -> None:
    """Also where the low 64 bits of an address have the highest bit set, as most interface identifiers have."""
    pair = {"src_addr": np.array([1 << 63 | 1] * 2, np.uint64), "dst_addr": np.array([1 << 63 | 2] * 2, np.uint64)}
    headers = {**pair, "src_port": np.array([FIRST_PORT, FIRST_PORT + 1], np.uint64)}
    hops, unchosen = np.array([[0], [0]]), np.zeros((2, 1), np.bool_)
    found = choose_ports(headers, hops, unchosen, np.array([0]), {}, ports_in_use(headers))
    assert found.tolist() == [FIRST_PORT + 2, FIRST_PORT + 3]
