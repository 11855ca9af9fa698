"""What the classes of traffic are decided by."""

from __future__ import annotations

from dataclasses import dataclass

# Ports of servers by IANA or their projects' documents; others are known by behavior alone.
STORAGE_PORTS = frozenset(
    {111, 445, 988, 2049, 3260, 4420, 5044, 6789, 9000, 20049, *range(6800, 7301)}
)  # NFS, SMB, Lustre, iSCSI, NVMe over TCP, Ceph, MinIO
MANAGEMENT_PORTS = frozenset(
    {22, 53, 67, 123, 161, 162, 179, 514, 2379, 2380, 4789, 6343, 6443, 6817, 6818, 9090, 9091, 9093, 9100, 9400, 10250}
)  # SSH, DNS, NTP, SNMP, BGP, syslog, etcd, sFlow, Kubernetes, Slurm, Prometheus and its exporters


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """Thresholds of the classes.

    Attributes:
        bulk_record_bytes: what moves data (files, weights, keys and values) has messages of at least this size; calls,
            metrics and logs stay below a few hundred kilobytes.
        bulk_bytes: and moves at least so much in the window.
        hub_peers: a store or a parameter server is known by at least so many peers.
        hub_ratio: and by so many times as many as its peers have: pools that read prompts and pools that answer them
            are sized within a factor of four of one another, a store serves all endpoints.
        one_way_ratio: traffic whose reverse is smaller goes one way: answers to data are metadata.
        sync_share: weights are synchronized at least every so many-th iteration (one in four: later ones would be
            trained on answers of long outdated weights); checkpoints are rarer.
        same_volume: all who take weights in one chain take as much, to this share.
        fixed_sizes, fixed_share: messages of a training job have few sizes: so many hold at least this share of them.
            Those of serving follow from batches and prompts.
        fewest_records, least_s: whoever exchanges so many messages for so long without being found in a job does not
            train: iterations take seconds.
        sync_pause: a synchronization ends where nothing of it moves for this share of the job's iteration.
    """

    bulk_record_bytes: int = 256 * 1024
    bulk_bytes: int = 1 << 20
    hub_peers: int = 8
    hub_ratio: float = 4.0
    one_way_ratio: float = 0.1
    sync_share: float = 0.25
    same_volume: float = 0.1
    fixed_sizes: int = 3
    fixed_share: float = 0.8
    fewest_records: int = 100
    least_s: float = 30.0
    sync_pause: float = 0.1
