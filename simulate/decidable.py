"""Which sizes of a layout the traffic between hosts decides: those that a truth asks for."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from simulate.network.fabric import Fabric
from simulate.training.job import SimulatedJob

SIZES = ("tp", "cp", "ep", "dp", "pp")


def decidable_sizes(fabric: Fabric, job: SimulatedJob, *, hosts_known: bool) -> frozenset[str]:
    """Sizes of a job's layout that flow records decide in principle; of the others several explain the same records.

    They are not where:

    1. a group of contexts, or of experts whose messages are proxied along rails, has several members on a host: what
       passes between them crosses no link, and the others look like a smaller group;
    2. GPUs share a NIC and contexts or experts are in use: messages of both look like those of replicas;
    3. there is no pipeline and hosts hold several GPUs: all rails start together, in all groups;
    4. gradients stay inside hosts: nothing shows how far replicas lie apart;
    5. a gradient group of two is a context or an expert group at the same time: the same two directed pairs;
    6. neighboring stages share a host: their activations cross no link;
    7. hosts are unknown: queue pairs, channels and GPUs behind a NIC look alike, and so do a ring and a mesh of four.

    Args:
        fabric: where GPUs and NICs are.
        job: it, as placed by its last attempt.
        hosts_known: whether an inventory says which endpoints share a host.
    """
    plan, how = job.plan_of(-1), job.workload.collectives
    gpus = job.attempts[-1].gpus
    host, nic = gpus // fabric.gpus_per_host, fabric.nic_of_gpu(gpus)
    shared = fabric.gpus_per_host // fabric.nics_per_host
    several = len(np.unique(host)) < len(host)
    proxied = job.proxied and fabric.rail_optimised and fabric.nics_per_host > 1
    hidden: set[str] = set()
    for kind, size, groups in (("cp", plan.cp, plan.cp_groups()), ("ep", plan.ep, plan.ep_groups())):
        met = _hosts_of_groups(host, groups)
        inside = met < size if kind == "cp" or proxied else met == 1
        if size > 1 and inside:
            hidden |= {kind, "tp", "dp"} | ({"cp", "ep"} if met == 2 else set())
    if len(np.unique(nic)) < len(nic) and (plan.cp > 1 or plan.ep > 1):
        hidden |= {"cp", "ep", "tp", "dp"}
    if several and (plan.pp == 1 or _hosts_of_groups(host, plan.gradient_groups()) == 1):
        hidden |= {"tp", "dp"}
    if plan.dp * plan.cp == 2 and (plan.cp == 2 or plan.ep == 2):
        hidden |= {"cp", "ep", "dp"}
    chains = host[plan.pp_groups()]
    if (chains[:, 1:] == chains[:, :-1]).any():
        hidden |= {"pp", "tp", "dp"}
    if not hosts_known:
        hidden |= {"tp"} if shared * job.queue_pairs * how.channels > 1 else set()
        hidden |= {"tp", "dp"} if shared > 1 else set()
        hidden |= {"cp", "ep", "dp"} if 4 in (plan.cp, plan.ep) else set()
    return frozenset(SIZES) - hidden


def _hosts_of_groups(host: Int, groups: Int) -> int:
    """Hosts that the members of a group are on, the fewest of all groups."""
    placed = np.sort(host[groups], axis=1)
    return int((np.diff(placed, axis=1) != 0).sum(axis=1).min()) + 1
