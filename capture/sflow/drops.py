"""Discarded packets to rows of `DROPS`, and what the reasons are called.

Names: sFlow version 5 (reasons below 256 are ICMP's codes of unreachable destinations) and the sFlow drop
notification structures (sflow.org, 2020) with the later reasons of the same registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capture.jit import jit
from capture.packets.packet_columns import Record
from capture.tables.row_blocks import Block

_UNREACHABLE = (
    "net_unreachable host_unreachable protocol_unreachable port_unreachable frag_needed src_route_failed"
    " dst_net_unknown dst_host_unknown src_host_isolated dst_net_prohibited dst_host_prohibited"
    " dst_net_tos_unreachable dst_host_tos_unreacheable comm_admin_prohibited host_precedence_violation"
    " precedence_cutoff"
)
_DISCARDED = (
    "unknown ttl_exceeded acl no_buffer_space red traffic_shaping pkt_too_big src_mac_is_multicast"
    " vlan_tag_mismatch ingress_vlan_filter ingress_spanning_tree_filter port_list_is_empty port_loopback_filter"
    " blackhole_route non_ip uc_dip_over_mc_dmac dip_is_loopback_address sip_is_mc sip_is_loopback_address"
    " ip_header_corrupted ipv4_sip_is_limited_bc ipv6_mc_dip_reserved_scope ipv6_mc_dip_interface_local_scope"
    " unresolved_neigh mc_reverse_path_forwarding non_routable_packet decap_error overlay_smac_is_mc unknown_l2"
    " unknown_l3 unknown_l3_exception unknown_buffer unknown_tunnel unknown_l4 sip_is_unspecified"
    " mlag_port_isolation blackhole_arp_neigh src_mac_is_dmac dmac_is_reserved sip_is_class_e mc_dmac_mismatch"
    " sip_is_dip dip_is_local_network dip_is_link_local overlay_smac_is_dmac egress_vlan_filter"
    " uc_reverse_path_forwarding split_horizon"
)

DROP_REASONS: Mapping[int, str] = MappingProxyType(
    dict(enumerate(_UNREACHABLE.split())) | dict(enumerate(_DISCARDED.split(), 256))
)


@jit
def drop_row(moment: Record, reason: int, packets: int, source: int, destination: int, block: Block, row: int) -> None:
    """Write a discarded packet.

    Args:
        moment: when and where.
        reason: a key of `DROP_REASONS`, or one that is newer.
        packets: how many it stands for.
        source: address code; -1 unknown.
        destination: likewise.
        block: of `DROPS`.
        row: which one of it.
    """
    block["time_ns"][row] = moment["time_ns"]
    block["sampler_address"][row] = moment["sampler"]
    block["in_if"][row] = moment["in_if"]
    block["out_if"][row] = moment["out_if"]
    block["src_addr"][row] = source
    block["dst_addr"][row] = destination
    block["reason"][row] = min(reason, 0x7FFFFFFF)
    block["packets"][row] = packets
