"""sFlow's descriptions of sampled packets, by enterprise and format, in the notation of `capture.sflow.structures`."""

from __future__ import annotations

from capture.sflow.structures import Member, Number, Structure, each

_ETHERNET = (("length", "u32"), ("src_mac", "mac"), ("dst_mac", "mac"), ("type", "u32"))
_IPV4: tuple[Member, ...] = (
    *each("u32", "length protocol"),
    *each("ip4", "src_ip dst_ip"),
    *each("u32", "src_port dst_port tcp_flags tos"),
)
_IPV6: tuple[Member, ...] = (
    *each("u32", "length protocol"),
    *each("ip6", "src_ip dst_ip"),
    *each("u32", "src_port dst_port tcp_flags priority"),
)
_SOCKET = "local_port remote_port"
_SOCKET4 = (("protocol", "u32"), *each("ip4", "local_ip remote_ip"), *each("u32", _SOCKET))
_SOCKET6 = (("protocol", "u32"), *each("ip6", "local_ip remote_ip"), *each("u32", _SOCKET))
_CONTEXT = each("text", "application operation attributes")
_WIRELESS = (("ssid", "text"), ("bssid", "mac"), ("version", "u32"))

FLOW_STRUCTURES: dict[Number, Structure] = {
    (0, 1): ("sampled_header", (*each("u32", "protocol frame_length stripped"), ("header", "hex"))),
    (0, 2): ("sampled_ethernet", _ETHERNET),
    (0, 3): ("sampled_ipv4", _IPV4),
    (0, 4): ("sampled_ipv6", _IPV6),
    (0, 1001): ("extended_switch", each("u32", "src_vlan src_priority dst_vlan dst_priority")),
    (0, 1002): ("extended_router", (("nexthop", "ip"), *each("u32", "src_mask_len dst_mask_len"))),
    (0, 1003): (
        "extended_gateway",
        (
            ("nexthop", "ip"),
            *each("u32", "as src_as src_peer_as"),
            ("dst_as_path", (("type", "u32"), ("as_numbers", "u32s"))),
            ("communities", "u32s"),
            ("localpref", "u32"),
        ),
    ),
    (0, 1004): (
        "extended_user",
        (("src_charset", "u32"), ("src_user", "text"), ("dst_charset", "u32"), ("dst_user", "text")),
    ),
    (0, 1005): ("extended_url", (("direction", "u32"), ("url", "text"), ("host", "text"))),
    (0, 1006): ("extended_mpls", (("nexthop", "ip"), ("in_stack", "u32s"), ("out_stack", "u32s"))),
    (0, 1007): ("extended_nat", each("ip", "src_address dst_address")),
    (0, 1008): ("extended_mpls_tunnel", (("tunnel_lsp_name", "text"), *each("u32", "tunnel_id tunnel_cos"))),
    (0, 1009): ("extended_mpls_vc", (("vc_instance_name", "text"), *each("u32", "vll_vc_id vc_label_cos"))),
    (0, 1010): ("extended_mpls_FTN", (("mplsFTNDescr", "text"), ("mplsFTNMask", "u32"))),
    (0, 1011): ("extended_mpls_LDP_FEC", (("mplsFecAddrPrefixLength", "u32"),)),
    (0, 1012): ("extended_vlantunnel", (("stack", "u32s"),)),
    (0, 1013): ("extended_80211_payload", (("ciphersuite", "u32"), ("data", "hex"))),
    (0, 1014): (
        "extended_80211_rx",
        (*_WIRELESS, ("channel", "u32"), ("speed", "u64"), *each("u32", "rsni rcpi packet_duration")),
    ),
    (0, 1015): (
        "extended_80211_tx",
        (
            *_WIRELESS,
            *each("u32", "transmissions packet_duration retrans_duration channel"),
            ("speed", "u64"),
            ("power", "u32"),
        ),
    ),
    (0, 1016): ("extended_80211_aggregation", (("pdus", (("flow_records", "records"),)),)),
    (0, 1017): ("extended_openflow_v1", (("flow_cookie", "u64"), *each("u32", "flow_match flow_actions"))),
    (0, 1018): ("extended_fc", each("u32", "src_mask_len dst_mask_len next_hop metric")),
    (0, 1019): ("extended_queue_length", each("u32", "queueIndex queueLength")),
    (0, 1020): ("extended_nat_port", each("u32", "src_port dst_port")),
    (0, 1021): ("extended_L2_tunnel_egress", _ETHERNET),
    (0, 1022): ("extended_L2_tunnel_ingress", _ETHERNET),
    (0, 1023): ("extended_ipv4_tunnel_egress", _IPV4),
    (0, 1024): ("extended_ipv4_tunnel_ingress", _IPV4),
    (0, 1025): ("extended_ipv6_tunnel_egress", _IPV6),
    (0, 1026): ("extended_ipv6_tunnel_ingress", _IPV6),
    (0, 1027): ("extended_decapsulate_egress", (("inner_header_offset", "u32"),)),
    (0, 1028): ("extended_decapsulate_ingress", (("inner_header_offset", "u32"),)),
    (0, 1029): ("extended_vni_egress", (("vni", "u32"),)),
    (0, 1030): ("extended_vni_ingress", (("vni", "u32"),)),
    (0, 1031): (
        "extended_ib_lrh",
        each("u32", "src_vl src_sl src_dlid src_slid src_lnh dst_vl dst_sl dst_dlid dst_slid dst_lnh"),
    ),
    (0, 1032): (
        "extended_ib_grh",
        (*each("u32", "flow_label tc"), *each("ip6", "s_gid d_gid"), *each("u32", "next_header length")),
    ),
    (0, 1033): ("extended_ib_brh", each("u32", "pkey dst_qp opcode")),
    (0, 1034): ("extended_vlanin", (("stack", "u32s"),)),
    (0, 1035): ("extended_vlanout", (("stack", "u32s"),)),
    (0, 1036): ("extended_egress_queue", (("queue", "u32"),)),
    (0, 1037): ("extended_acl", (("number", "u32"), ("name", "text"), ("direction", "u32"))),
    (0, 1038): ("extended_function", (("symbol", "text"),)),
    (0, 1039): ("extended_transit", (("delay", "u32"),)),
    (0, 1040): ("extended_queue", (("depth", "u32"),)),
    (0, 1041): ("extended_hw_trap", each("text", "group trap")),
    (0, 1042): ("extended_linux_drop_reason", (("reason", "text"),)),
    (0, 1043): ("extended_timestamp", (("nanoseconds", "u64"),)),
    (0, 2000): (
        "transaction",
        (*each("u32", "direction wait duration status"), *each("u64", "bytes_received bytes_send")),
    ),
    (0, 2001): ("extended_nfs_storage_transaction", (("path", "hex"), *each("u32", "operation status"))),
    (0, 2002): ("extended_scsi_storage_transaction", each("u32", "lun operation status")),
    (0, 2003): (
        "extended_http_transaction",
        (*each("text", "url host referer useragent user"), ("status", "u32")),
    ),
    (0, 2100): ("extended_socket_ipv4", _SOCKET4),
    (0, 2101): ("extended_socket_ipv6", _SOCKET6),
    (0, 2102): ("extended_proxy_socket_ipv4", _SOCKET4),
    (0, 2103): ("extended_proxy_socket_ipv6", _SOCKET6),
    (0, 2200): (
        "memcache_operation",
        (
            *each("u32", "protocol cmd"),
            ("key", "text"),
            *each("u32", "nkeys value_bytes uS status"),
        ),
    ),
    (0, 2201): (
        "http_request",
        (
            *each("u32", "method protocol"),
            *each("text", "uri host referer useragent authuser mime_type"),
            ("bytes", "u64"),
            *each("u32", "uS status"),
        ),
    ),
    (0, 2202): (
        "app_operation",
        (
            *_CONTEXT,
            ("status_descr", "text"),
            *each("u64", "req_bytes resp_bytes"),
            *each("u32", "uS status"),
        ),
    ),
    (0, 2203): ("app_parent_context", _CONTEXT),
    (0, 2204): ("app_initiator", (("actor", "text"),)),
    (0, 2205): ("app_target", (("actor", "text"),)),
    (0, 2206): (
        "http_request",
        (
            *each("u32", "method protocol"),
            *each("text", "uri host referer useragent xff authuser mime_type"),
            *each("u64", "req_bytes resp_bytes"),
            *each("u32", "uS status"),
        ),
    ),
    (0, 2207): ("extended_proxy_request", each("text", "uri host")),
    (0, 2208): (
        "extended_nav_timing",
        each(
            "u32",
            "type redirectCount navigationStart unloadEventStart unloadEventEnd redirectStart redirectEnd fetchStart"
            " domainLookupStart domainLookupEnd connectStart connectEnd secureConnectionStart requestStart"
            " responseStart responseEnd domLoading domInteractive domContentLoadedEventStart"
            " domContentLoadedEventEnd domComplete loadEventStart loadEventEnd",
        ),
    ),
    (0, 2209): (
        "extended_tcp_info",
        each("u32", "dirn snd_mss rcv_mss unacked lost retrans pmtu rtt rttvar snd_cwnd reordering min_rtt"),
    ),
    (0, 2210): ("extended_entities", each("u32", "src_ds_class src_ds_index dst_ds_class dst_ds_index")),
    (4413, 1): ("extended_bst_egress_queue", (("queue", "u32"),)),
}
