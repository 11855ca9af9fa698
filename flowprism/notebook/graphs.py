"""The fabric, and who waited for which endpoint, as networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from datamodel.service.api_models import FabricView
from flowprism.notebook.data_frames import require

if TYPE_CHECKING:
    import networkx as nx


def fabric_graph(view: FabricView) -> nx.MultiGraph:
    """Switches and endpoints with `role`, `host`, `rail` and `jobs`; cables with the fields of `FabricLink`.

    Hosts are attributes, not nodes: packets do not pass through them from one NIC to another.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    require("networkx")
    import networkx as nx

    graph = nx.MultiGraph()
    graph.add_nodes_from((node.id, node.model_dump(exclude={"id"})) for node in view.nodes if node.role != "host")
    graph.add_edges_from((link.a, link.b, link.model_dump()) for link in view.links)
    return graph


def waits_graph(timeline: pa.Table) -> nx.DiGraph:
    """All endpoints of a timeline; an edge to the one waited for: `wait_s` in all, `longest_s`, `waits` their number.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    require("networkx")
    import networkx as nx

    waits = timeline.filter(pc.equal(timeline["span"], "wait")).select(["endpoint", "peer", "duration_s"])
    sums = waits.drop_null().group_by(["endpoint", "peer"], use_threads=False)
    found = sums.aggregate([("duration_s", "sum"), ("duration_s", "max"), ("duration_s", "count")])
    names = ("endpoint", "peer", "duration_s_sum", "duration_s_max", "duration_s_count")
    graph = nx.DiGraph()
    graph.add_nodes_from(pc.unique(timeline["endpoint"]).to_pylist())
    graph.add_edges_from(
        (waiting, awaited, {"wait_s": total_s, "longest_s": longest_s, "waits": count})
        for waiting, awaited, total_s, longest_s, count in zip(*(found[n].to_pylist() for n in names), strict=True)
    )
    return graph
