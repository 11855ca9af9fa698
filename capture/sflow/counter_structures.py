"""What sFlow counts, by enterprise and format, in the notation of `capture.sflow.structures`."""

from __future__ import annotations

from capture.sflow.structures import Number, Structure, each

_NIO = (
    ("bytes_in", "u64"),
    *each("u32", "pkts_in errs_in drops_in"),
    ("bytes_out", "u64"),
    *each("u32", "packets_out errs_out drops_out"),
)
_LANE = each(
    "u32",
    "index tx_bias_current tx_power tx_power_min tx_power_max tx_wavelength"
    " rx_power rx_power_min rx_power_max rx_wavelength",
)

COUNTER_STRUCTURES: dict[Number, Structure] = {
    (0, 1): (
        "if_counters",
        (
            *each("u32", "ifIndex ifType"),
            ("ifSpeed", "u64"),
            *each("u32", "ifDirection ifStatus"),
            ("ifInOctets", "u64"),
            *each(
                "u32",
                "ifInUcastPkts ifInMulticastPkts ifInBroadcastPkts ifInDiscards ifInErrors ifInUnknownProtos",
            ),
            ("ifOutOctets", "u64"),
            *each(
                "u32",
                "ifOutUcastPkts ifOutMulticastPkts ifOutBroadcastPkts ifOutDiscards ifOutErrors ifPromiscuousMode",
            ),
        ),
    ),
    (0, 2): (
        "ethernet_counters",
        each(
            "u32",
            "dot3StatsAlignmentErrors dot3StatsFCSErrors dot3StatsSingleCollisionFrames"
            " dot3StatsMultipleCollisionFrames dot3StatsSQETestErrors dot3StatsDeferredTransmissions"
            " dot3StatsLateCollisions dot3StatsExcessiveCollisions dot3StatsInternalMacTransmitErrors"
            " dot3StatsCarrierSenseErrors dot3StatsFrameTooLongs dot3StatsInternalMacReceiveErrors"
            " dot3StatsSymbolErrors",
        ),
    ),
    (0, 3): (
        "tokenring_counters",
        each(
            "u32",
            "dot5StatsLineErrors dot5StatsBurstErrors dot5StatsACErrors dot5StatsAbortTransErrors"
            " dot5StatsInternalErrors dot5StatsLostFrameErrors dot5StatsReceiveCongestions"
            " dot5StatsFrameCopiedErrors dot5StatsTokenErrors dot5StatsSoftErrors dot5StatsHardErrors"
            " dot5StatsSignalLoss dot5StatsTransmitBeacons dot5StatsRecoverys dot5StatsLobeWires"
            " dot5StatsRemoves dot5StatsSingles dot5StatsFreqErrors",
        ),
    ),
    (0, 4): (
        "vg_counters",
        (
            ("dot12InHighPriorityFrames", "u32"),
            ("dot12InHighPriorityOctets", "u64"),
            ("dot12InNormPriorityFrames", "u32"),
            ("dot12InNormPriorityOctets", "u64"),
            *each(
                "u32",
                "dot12InIPMErrors dot12InOversizeFrameErrors dot12InDataErrors dot12InNullAddressedFrames"
                " dot12OutHighPriorityFrames",
            ),
            ("dot12OutHighPriorityOctets", "u64"),
            ("dot12TransitionIntoTrainings", "u32"),
            *each("u64", "dot12HCInHighPriorityOctets dot12HCInNormPriorityOctets dot12HCOutHighPriorityOctets"),
        ),
    ),
    (0, 5): (
        "vlan_counters",
        (("vlan_id", "u32"), ("octets", "u64"), *each("u32", "ucastPkts multicastPkts broadcastPkts discards")),
    ),
    (0, 6): (
        "ieee80211_counters",
        each(
            "u32",
            "dot11TransmittedFragmentCount dot11MulticastTransmittedFrameCount dot11FailedCount dot11RetryCount"
            " dot11MultipleRetryCount dot11FrameDuplicateCount dot11RTSSuccessCount dot11RTSFailureCount"
            " dot11ACKFailureCount dot11ReceivedFragmentCount dot11MulticastReceivedFrameCount dot11FCSErrorCount"
            " dot11TransmittedFrameCount dot11WEPUndecryptableCount dot11QoSDiscardedFragmentCount"
            " dot11AssociatedStationCount dot11QoSCFPollsReceivedCount dot11QoSCFPollsUnusedCount"
            " dot11QoSCFPollsUnusableCount dot11QoSCFPollsLostCount",
        ),
    ),
    (0, 7): (
        "lag_port_stats",
        (
            ("dot3adAggPortActorSystemID", "mac"),
            ("dot3adAggPortPartnerOperSystemID", "mac"),
            *each(
                "u32",
                "dot3adAggPortAttachedAggID dot3adAggPortState dot3adAggPortStatsLACPDUsRx"
                " dot3adAggPortStatsMarkerPDUsRx dot3adAggPortStatsMarkerResponsePDUsRx"
                " dot3adAggPortStatsUnknownRx dot3adAggPortStatsIllegalRx dot3adAggPortStatsLACPDUsTx"
                " dot3adAggPortStatsMarkerPDUsTx dot3adAggPortStatsMarkerResponsePDUsTx",
            ),
        ),
    ),
    (0, 10): (
        "sfp",
        (
            *each("u32", "module_id module_num_lanes module_supply_voltage"),
            ("module_temperature", "i32"),
            ("lanes", _LANE),
        ),
    ),
    (0, 11): ("pfc_counters", each("u32", "requests indications pause_duration storm_detected storm_restored")),
    (0, 1001): (
        "processor",
        (*each("u32", "cpu_5s cpu_1m cpu_5m"), *each("u64", "total_memory free_memory")),
    ),
    (0, 1002): ("radio_utilization", each("u32", "elapsed_time on_channel_time on_channel_busy_time")),
    (0, 1003): (
        "queue_length",
        each(
            "u32",
            "queueIndex segmentSize queueSegments queueLength0 queueLength1 queueLength2 queueLength4 queueLength8"
            " queueLength32 queueLength128 queueLength1024 queueLengthMore dropped",
        ),
    ),
    (0, 1004): ("of_port", (("datapath_id", "u64"), ("port_no", "u32"))),
    (0, 1005): ("port_name", (("name", "text"),)),
    (0, 2000): (
        "host_descr",
        (
            ("hostname", "text"),
            ("uuid", "hex16"),
            *each("u32", "machine_type os_name"),
            ("os_release", "text"),
        ),
    ),
    (0, 2001): (
        "host_adapters",
        (("adapters", (("ifIndex", "u32"), ("mac_addresses", (("mac_address", "mac"),)))),),
    ),
    (0, 2002): ("host_parent", each("u32", "container_type container_index")),
    (0, 2003): (
        "host_cpu",
        (
            *each("f32", "load_one load_five load_fifteen"),
            *each(
                "u32",
                "proc_run proc_total cpu_num cpu_speed uptime cpu_user cpu_nice cpu_system cpu_idle cpu_wio"
                " cpu_intr cpu_sintr interrupts contexts cpu_steal cpu_guest cpu_guest_nice",
            ),
        ),
    ),
    (0, 2004): (
        "host_memory",
        (
            *each("u64", "mem_total mem_free mem_shared mem_buffers mem_cached swap_total swap_free"),
            *each("u32", "page_in page_out swap_in swap_out"),
        ),
    ),
    (0, 2005): (
        "host_disk_io",
        (
            *each("u64", "disk_total disk_free"),
            *each("u32", "part_max_used reads"),
            ("bytes_read", "u64"),
            *each("u32", "read_time writes"),
            ("bytes_written", "u64"),
            ("write_time", "u32"),
        ),
    ),
    (0, 2006): ("host_net_io", _NIO),
    (0, 2007): (
        "mib2_ip_group",
        each(
            "u32",
            "ipForwarding ipDefaultTTL ipInReceives ipInHdrErrors ipInAddrErrors ipForwDatagrams"
            " ipInUnknownProtos ipInDiscards ipInDelivers ipOutRequests ipOutDiscards ipOutNoRoutes"
            " ipReasmTimeout ipReasmReqds ipReasmOKs ipReasmFails ipFragOKs ipFragFails ipFragCreates",
        ),
    ),
    (0, 2008): (
        "mib2_icmp_group",
        each(
            "u32",
            "icmpInMsgs icmpInErrors icmpInDestUnreachs icmpInTimeExcds icmpInParamProbs icmpInSrcQuenchs"
            " icmpInRedirects icmpInEchos icmpInEchoReps icmpInTimestamps icmpInAddrMasks icmpInAddrMaskReps"
            " icmpOutMsgs icmpOutErrors icmpOutDestUnreachs icmpOutTimeExcds icmpOutParamProbs"
            " icmpOutSrcQuenchs icmpOutRedirects icmpOutEchos icmpOutEchoReps icmpOutTimestamps"
            " icmpOutTimestampReps icmpOutAddrMasks icmpOutAddrMaskReps",
        ),
    ),
    (0, 2009): (
        "mib2_tcp_group",
        each(
            "u32",
            "tcpRtoAlgorithm tcpRtoMin tcpRtoMax tcpMaxConn tcpActiveOpens tcpPassiveOpens tcpAttemptFails"
            " tcpEstabResets tcpCurrEstab tcpInSegs tcpOutSegs tcpRetransSegs tcpInErrs tcpOutRsts tcpInCsumErrs",
        ),
    ),
    (0, 2010): (
        "mib2_udp_group",
        each(
            "u32",
            "udpInDatagrams udpNoPorts udpInErrors udpOutDatagrams udpRcvbufErrors udpSndbufErrors udpInCsumErrors",
        ),
    ),
    (0, 2100): (
        "virt_node",
        (*each("u32", "mhz cpus"), *each("u64", "memory memory_free"), ("num_domains", "u32")),
    ),
    (0, 2101): ("virt_cpu", each("u32", "state cpuTime nrVirtCpu")),
    (0, 2102): ("virt_memory", each("u64", "memory maxMemory")),
    (0, 2103): (
        "virt_disk_io",
        (
            *each("u64", "capacity allocation available"),
            ("rd_req", "u32"),
            ("rd_bytes", "u64"),
            ("wr_req", "u32"),
            ("wr_bytes", "u64"),
            ("errs", "u32"),
        ),
    ),
    (0, 2104): ("virt_net_io", _NIO),
    (0, 2105): ("jvm_runtime", each("text", "vm_name vm_vendor vm_version")),
    (0, 2106): (
        "jvm_statistics",
        (
            *each(
                "u64",
                "heap_initial heap_used heap_committed heap_max non_heap_initial non_heap_used non_heap_committed"
                " non_heap_max",
            ),
            *each(
                "u32",
                "gc_count gc_time classes_loaded classes_total classes_unloaded compilation_time thread_num_live"
                " thread_num_daemon thread_num_started fd_open_count fd_max_count",
            ),
        ),
    ),
    (0, 2200): (
        "memcache_counters",
        (
            *each(
                "u32",
                "uptime rusage_user rusage_system curr_connections total_connections connection_structures cmd_get"
                " cmd_set cmd_flush get_hits get_misses delete_misses delete_hits incr_misses incr_hits decr_misses"
                " decr_hits cas_misses cas_hits cas_badval auth_cmds auth_errors",
            ),
            *each("u64", "bytes_read bytes_written"),
            *each("u32", "limit_maxbytes accepting_conns listen_disabled_num threads conn_yields"),
            ("bytes", "u64"),
            *each("u32", "curr_items total_items evictions"),
        ),
    ),
    (0, 2201): (
        "http_counters",
        each(
            "u32",
            "method_option_count method_get_count method_head_count method_post_count method_put_count"
            " method_delete_count method_trace_count method_connect_count method_other_count status_1XX_count"
            " status_2XX_count status_3XX_count status_4XX_count status_5XX_count status_other_count",
        ),
    ),
    (0, 2202): (
        "app_operations",
        (
            ("application", "text"),
            *each(
                "u32",
                "success other timeout internal_error bad_request forbidden too_large not_implemented not_found"
                " unavailable unauthorized",
            ),
        ),
    ),
    (0, 2203): (
        "app_resources",
        (
            *each("u32", "user_time system_time"),
            *each("u64", "mem_used mem_max"),
            *each("u32", "fd_open fd_max conn_open conn_max"),
        ),
    ),
    (0, 2204): (
        "memcache_counters",
        (
            *each(
                "u32",
                "cmd_set cmd_touch cmd_flush get_hits get_misses delete_hits delete_misses incr_hits incr_misses"
                " decr_hits decr_misses cas_hits cas_misses cas_badval auth_cmds auth_errors threads conn_yields"
                " listen_disabled_num curr_connections rejected_connections total_connections connection_structures"
                " evictions reclaimed curr_items total_items",
            ),
            *each("u64", "bytes_read bytes_written bytes limit_maxbytes"),
        ),
    ),
    (0, 2205): (
        "vdi_counters",
        each(
            "u32",
            "sessions_current sessions_total sessions_duration rx_bytes tx_bytes rx_packets tx_packets"
            " rx_packets_lost tx_packets_lost rtt_min_ms rtt_max_ms rtt_avg_ms audio_rx_bytes audio_tx_bytes"
            " audio_tx_limit img_rx_bytes img_tx_bytes img_frames img_qual_min img_qual_max img_qual_avg"
            " usb_rx_bytes usb_tx_bytes",
        ),
    ),
    (0, 2206): ("app_workers", each("u32", "workers_active workers_idle workers_max req_delayed req_dropped")),
    (0, 2207): ("ovs_dp_stats", each("u32", "hits misses lost mask_hits flows masks")),
    (0, 3000): (
        "energy",
        (*each("u32", "voltage current real_power"), ("power_factor", "i32"), *each("u32", "energy errors")),
    ),
    (0, 3001): ("temperature", (*each("i32", "minimum maximum"), ("errors", "u32"))),
    (0, 3002): ("humidity", (("relative", "i32"),)),
    (0, 3003): ("fans", each("u32", "total failed speed")),
    (4413, 1): ("bst_device_buffers", each("i32", "uc_pc mc_pc")),
    (4413, 2): (
        "bst_port_buffers",
        (
            *each("i32", "ingress_uc_pc ingress_mc_pc egress_uc_pc egress_mc_pc"),
            *((name, (("pc", "i32"),)) for name in ("egress_queue_uc_pc", "egress_queue_mc_pc")),
        ),
    ),
    (4413, 3): (
        "hw_tables",
        each(
            "u32",
            "host_entries host_entries_max ipv4_entries ipv4_entries_max ipv6_entries ipv6_entries_max"
            " ipv4_ipv6_entries ipv4_ipv6_entries_max long_ipv6_entries long_ipv6_entries_max total_routes"
            " total_routes_max ecmp_nexthops ecmp_nexthops_max mac_entries mac_entries_max ipv4_neighbors"
            " ipv6_neighbors ipv4_routes ipv6_routes acl_ingress_entries acl_ingress_entries_max"
            " acl_ingress_counters acl_ingress_counters_max acl_ingress_meters acl_ingress_meters_max"
            " acl_ingress_slices acl_ingress_slices_max acl_egress_entries acl_egress_entries_max"
            " acl_egress_counters acl_egress_counters_max acl_egress_meters acl_egress_meters_max"
            " acl_egress_slices acl_egress_slices_max",
        ),
    ),
    (5703, 1): (
        "nvidia_gpu",
        (
            *each("u32", "device_count processes gpu_time mem_time"),
            *each("u64", "mem_total mem_free"),
            *each("u32", "ecc_errors energy temperature fan_speed"),
        ),
    ),
}
