from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulate.network.fabric import EPHEMERAL_PORT, Fabric
from simulate.network.hashing import mixed

fabrics = st.builds(
    Fabric,
    hosts=st.integers(1, 40),
    nics_per_host=st.sampled_from([1, 2, 4, 8]),
    rail_optimised=st.booleans(),
    hosts_per_leaf=st.integers(1, 8),
    spines=st.integers(1, 8),
    services=st.integers(0, 5),
)


@given(fabrics)
def test_every_endpoint_has_an_address_and_a_port_of_its_own(fabric: Fabric) -> None:
    """No two NICs share an address, nor a port of a leaf."""
    nic = np.arange(fabric.endpoints)
    assert len(set(fabric.addresses())) == fabric.endpoints
    seats = set(zip(fabric.leaf_of_nic(nic).tolist(), fabric.leaf_port(nic).tolist(), strict=True))
    assert len(seats) == fabric.endpoints
    assert int(fabric.leaf_of_nic(nic).max()) < fabric.leaves


@given(fabrics, st.integers(0, 1 << 30))
def test_paths_lead_from_the_senders_leaf_to_the_receivers(fabric: Fabric, draw: int) -> None:
    """Two links inside a leaf, four across, none inside a host, all of them links of the two."""
    random = np.random.default_rng(draw)
    src, dst = random.integers(0, fabric.endpoints, 20), random.integers(0, fabric.endpoints, 20)
    spine = fabric.spine(src, dst, random.integers(0, 65536, 20))
    path = fabric.path(src, dst, spine)
    inside = fabric.host_of_nic(src) == fabric.host_of_nic(dst)
    across = (fabric.leaf_of_nic(src) != fabric.leaf_of_nic(dst)) & ~inside
    assert ((path >= 0).sum(axis=1) == np.where(inside, 0, np.where(across, 4, 2))).all()
    assert path.max(initial=-1) < fabric.resources
    assert (path[across, 2] == fabric.uplink(fabric.leaf_of_nic(src), spine)[across]).all()
    assert (path[across, 3] == fabric.downlink(fabric.leaf_of_nic(dst), spine)[across]).all()


@given(fabrics)
def test_links_are_told_apart(fabric: Fabric) -> None:
    """NICs' directions and cables' directions are numbered without gap or overlap."""
    nic = np.arange(fabric.endpoints)
    leaf, spine = (a.ravel() for a in np.meshgrid(np.arange(fabric.leaves), np.arange(fabric.spines)))
    parts = [fabric.sending(nic), fabric.receiving(nic), fabric.uplink(leaf, spine), fabric.downlink(leaf, spine)]
    assert (
        sorted(np.concatenate(parts).tolist()) == list(range(fabric.resources)) == list(range(len(fabric.capacity())))
    )


def test_gpus_share_nics_evenly() -> None:
    """Eight GPUs on two NICs: four each."""
    fabric = Fabric(hosts=2, nics_per_host=2)
    assert fabric.nic_of_gpu(np.arange(16)).tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4


def test_the_hash_spreads_evenly() -> None:
    """A chi-square of 64,000 connections over 8 spines lies in what chance gives."""
    count = np.bincount(mixed(np.arange(64_000), np.full(64_000, 7)) % 8)
    assert ((count - 8000) ** 2 / 8000).sum() < 24.3  # 0.1 % of draws exceed this with 7 degrees of freedom


def test_planes_are_networks_of_their_own() -> None:
    """Each NIC has an address, links and a share of its rate in each plane; paths in two planes share no link."""
    one, two = Fabric(hosts=4, hosts_per_leaf=2), Fabric(hosts=4, hosts_per_leaf=2, planes=2)
    assert two.resources == 2 * one.resources
    assert two.capacity().tolist() == [*(one.capacity() / 2), *(one.capacity() / 2)]
    assert len(set(two.addresses())) == 2 * two.endpoints
    src, dst = np.arange(8), np.arange(24, 32)
    first, second = (two.path(src, dst, np.zeros(8, np.int64), np.full(8, plane)) for plane in (0, 1))
    assert (second == first + one.resources).all()
    switches = range(two.leaves + two.spines)
    assert len({two.agent(n, p) for n in switches for p in (0, 1)}) == 2 * len(switches)
    assert len({two.switch_name(n, p) for n in switches for p in (0, 1)}) == 2 * len(switches)


def test_bonded_nics_have_one_address_and_choose_their_plane_by_the_source_port() -> None:
    """About half of the ports lead either way, whatever the spine that leaves choose for them."""
    fabric = Fabric(hosts=4, hosts_per_leaf=2, planes=2, bonded=True, spines=2, hash_family="crc")
    assert fabric.addresses() == Fabric(hosts=4).addresses()
    ports = np.arange(EPHEMERAL_PORT, EPHEMERAL_PORT + 4096)
    src, dst = np.full_like(ports, 0), np.full_like(ports, 24)
    plane, spine = fabric.bonded_plane(src, dst, ports), fabric.spine(src, dst, ports)
    assert np.bincount(plane * 2 + spine, minlength=4).min() > 900
    assert fabric.address_code(src, plane).tolist() == src.tolist()


def test_a_segment_holds_its_nics_address_and_no_other() -> None:
    """Of /64 each, in the order of the addresses; without segments packets are addressed to addresses."""
    fabric = Fabric(hosts=20, planes=2, addressing="segments")
    nics, segments = ([IPv6Address(a) for a in found] for found in (fabric.addresses(), fabric.destinations()))
    assert [nic in IPv6Network((int(segment), 64)) for nic, segment in zip(nics, segments, strict=True)] == [True] * 320
    assert len(set(segments)) == 320
    assert not set(nics) & set(segments)
    for addressing in ("ipv4", "ipv6"):
        plain = replace(fabric, addressing=addressing)
        assert plain.destinations() == plain.addresses()
