"""YAML's loader keeps the last of two equal keys in silence: what the first one said would vanish."""

from __future__ import annotations

import yaml


def repeated_key(node: yaml.Node) -> yaml.Node | None:
    """The first key, from above, that stands a second time in its mapping; None where each stands once."""
    if isinstance(node, yaml.MappingNode):
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        seen: set[str] = set()
        for key, value in pairs:
            if key.value in seen:
                return key
            seen.add(key.value)
            if (inside := repeated_key(value)) is not None:
                return inside
    elif isinstance(node, yaml.SequenceNode):
        return next((found for item in node.value if (found := repeated_key(item)) is not None), None)
    return None
