"""The drawing of a fabric: everybody stands somewhere, and what is unusual shows however much is drawn together."""

from __future__ import annotations

import re

from datamodel.service.api_models import FabricLink, FabricNode, FabricView, NodeRole
from flowprism.rendering.figures.fabric import DrawnLink, describe, draw_fabric, natural, tiers


def fabric(leaves: int, spines: int, each: int, hot: tuple[str, str] | None = None) -> FabricView:
    """Leaves and spines joined all to all, and so many endpoints under each leaf; one cable may be suspect."""
    roles: list[tuple[str, NodeRole]] = [(f"leaf{n}", "leaf") for n in range(leaves)]
    roles += [(f"spine{n}", "spine") for n in range(spines)]
    ends = [(f"10.0.{leaf}.{n}", f"leaf{leaf}") for leaf in range(leaves) for n in range(each)]
    nodes = [FabricNode(id=name, role=role) for name, role in roles]
    nodes += [FabricNode(id=address, role="endpoint") for address, _ in ends]
    trunks = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(leaves) for spine in range(spines)]
    links = [
        FabricLink(a=a, b=b, speed_bps=1e9, load_ratio=0.2, suspicion=0.9 if (a, b) == hot else 0.0)
        for a, b in (*trunks, *ends)
    ]
    return FabricView(nodes=tuple(nodes), links=tuple(links))


def test_small_fabrics_are_lines() -> None:
    """A line a cable between switches, a square an endpoint, a box a switch."""
    drawn = draw_fabric(fabric(4, 2, 4))
    assert drawn.count("<line") == 8
    assert drawn.count('class="port ') == 16
    assert drawn.count('class="switch"') == 6
    assert "leaf3</text>" in drawn


def test_large_fabrics_are_a_grid_that_keeps_the_worst() -> None:
    """Of 320 leaves by 32 spines, one suspect cable among 10,240: its cell is marked and names the cable."""
    drawn = draw_fabric(fabric(320, 32, 1, ("leaf201", "spine7")))
    assert "<line" not in drawn
    (cell,) = re.findall(r'<rect[^>]*class="port suspect"[^>]*><title>([^<]*)', drawn)
    assert cell.startswith("leaf201 – spine7, 1.00 Gbit/s, load at most 20 %, suspected with 90 %; the worst of 8")
    assert len(drawn) < 400_000


def test_endpoints_without_room_share_a_square_that_shows_the_worst() -> None:
    """Of 1,000 endpoints under one leaf the suspect one is still to be seen."""
    view = fabric(2, 1, 200)
    links = [link.model_copy(update={"suspicion": 0.5}) if link.a == "10.0.1.77" else link for link in view.links]
    drawn = draw_fabric(view.model_copy(update={"links": tuple(links)}))
    assert drawn.count('class="port suspect"') == 1
    assert drawn.count('class="port ') < 2 * 128 + 1


def test_who_holds_endpoints_is_a_leaf() -> None:
    """Where the inventory tells no roles, cables do."""
    view = fabric(2, 1, 1)
    told = tuple(n.model_copy(update={"role": "switch"}) if n.role in {"leaf", "spine"} else n for n in view.nodes)
    placed = tiers(view.model_copy(update={"nodes": told}))
    assert placed.columns == (("leaf0",), ("leaf1",))
    assert placed.spines == (("spine0",),)


def test_path_marks_its_nodes_and_cables() -> None:
    """Both cables of a path over one spine, and neither of the other's."""
    drawn = draw_fabric(fabric(3, 2, 1), ("10.0.0.0", "leaf0", "spine1", "leaf2", "10.0.2.0"))
    assert len(re.findall(r"<line[^>]*on-path", drawn)) == 2
    assert len(re.findall(r'<rect[^>]*"switch on-path"', drawn)) == 3
    assert len(re.findall(r'<rect[^>]*port [^"]*on-path', drawn)) == 2


def test_unknown_load_is_said() -> None:
    """No figure is not nought."""
    assert describe(DrawnLink([FabricLink(a="a", b="b")])) == "a – b, load unknown"


def test_names_are_sorted_as_people_do() -> None:
    """leaf2 before leaf10, also with several numbers and with none."""
    names = ["leaf10", "leaf2", "leaf1-rail10", "leaf1-rail9", "core"]
    assert sorted(names, key=natural) == ["core", "leaf1-rail9", "leaf1-rail10", "leaf2", "leaf10"]


def test_nothing_known_draws_nothing_and_does_not_fail() -> None:
    """An empty fabric is an empty picture."""
    assert "<svg" in draw_fabric(FabricView())


def test_hostile_names_are_text() -> None:
    """Markup in a name is shown, not meant."""
    node = FabricNode(id='<script>alert("1")</script>', role="leaf")
    assert "<script>" not in draw_fabric(FabricView(nodes=(node,)))
