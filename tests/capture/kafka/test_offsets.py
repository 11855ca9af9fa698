"""Offsets: what a manifest carries."""

import json

from capture.kafka.offsets import Offsets


def test_json_and_back() -> None:
    """A manifest in JSON gives the same offsets back."""
    offsets = Offsets({("flows", 10): 7, ("flows", 2): 1 << 60, ("other", 0): 0})
    text = json.dumps(offsets.to_json())
    assert text == f'{{"flows": {{"2": {1 << 60}, "10": 7}}, "other": {{"0": 0}}}}'
    assert Offsets.from_json(json.loads(text)) == offsets
    assert Offsets.from_json({}) == Offsets()


def test_joined_takes_the_further_one() -> None:
    """Offsets of several segments add up to where the manifest stands, in any order."""
    first, second = Offsets({("a", 0): 5, ("a", 1): 9}), Offsets({("a", 0): 8, ("b", 0): 1})
    assert first.joined(second) == second.joined(first) == Offsets({("a", 0): 8, ("a", 1): 9, ("b", 0): 1})
