"""What YAML's loader lets pass: documents that are small as text and huge or endless once read, and repeated keys."""

from __future__ import annotations

import yaml

# The inventory and the settings nest six deep. libyaml and Python read deeper levels by recursion on the C stack.
_MOST_LEVELS = 64
# What aliases stand for together; a hundred thousand endpoints written without aliases have a million nodes.
_MOST_ALIASED_NODES = 1_000_000


def check_bounds(text: str) -> None:
    """Refuse a document that nests too deep, or whose aliases stand for too much ("billion laughs").

    Raises:
        yaml.MarkedYAMLError: it does, or is not YAML.
    """
    sizes: dict[str, int] = {}  # nodes behind each anchor, aliases counted as what they stand for
    nested: list[tuple[str | None, int]] = []  # anchor and nodes so far of each collection that is open
    aliased = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        nodes, anchor = 0, getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            nested.append((anchor, 1))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, nodes = nested.pop()
        elif isinstance(event, yaml.AliasEvent):
            nodes = sizes.get(anchor or "", 1)
            aliased += nodes
            anchor = None
        elif isinstance(event, yaml.ScalarEvent):
            nodes = 1
        if anchor is not None and nodes:
            sizes[anchor] = nodes
        if nodes and nested:
            nested[-1] = (nested[-1][0], nested[-1][1] + nodes)
        if len(nested) > _MOST_LEVELS or aliased > _MOST_ALIASED_NODES:
            what = "too many levels" if len(nested) > _MOST_LEVELS else "aliases that stand for too much"
            raise yaml.composer.ComposerError(None, None, what, event.start_mark)  # type: ignore[arg-type] # a mark of the C reader


def repeated_key(node: yaml.Node) -> yaml.Node | None:
    """The first key, from above, that stands a second time in its mapping; None where each stands once.

    YAML's loader keeps the last of two equal keys in silence: what the first one said would vanish.
    """
    return _repeated(node, set())


def _repeated(node: yaml.Node, known: set[int]) -> yaml.Node | None:
    if id(node) in known:  # an alias: it was looked at where it stands first, and may even lead back to itself
        return None
    known.add(id(node))
    if isinstance(node, yaml.MappingNode):
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        seen: set[object] = set()
        for key, value in pairs:
            name = key.value if isinstance(key, yaml.ScalarNode) else id(key)
            if name in seen:
                return key
            seen.add(name)
            if (inside := _repeated(value, known)) is not None:
                return inside
    elif isinstance(node, yaml.SequenceNode):
        return next((found for item in node.value if (found := _repeated(item, known)) is not None), None)
    return None
