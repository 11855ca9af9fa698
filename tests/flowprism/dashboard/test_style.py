"""The tokens of the pages' style: text can be read on its ground, in both themes."""

from __future__ import annotations

import re

import pytest

from flowprism.dashboard.static_files import static_files

_GROUNDS = ("ground", "card", "faint")
_SOFT = ("critical", "warning", "info", "good", "none")
ON = [
    *((text, ground) for ground in _GROUNDS for text in ("ink", "quiet", "accent")),
    *((tone, "card") for tone in (*_SOFT, "event")),
    *((tone, f"{tone}-soft") for tone in _SOFT),
    *(("ink", f"{tone}-soft") for tone in _SOFT),
    *(("quiet", f"{tone}-soft") for tone in ("critical", "warning", "info")),
    *(("ink", f"heat-{level}") for level in (0, 1, 2)),
    ("on-heat", "heat-3"),
    ("on-heat", "heat-4"),
    ("card", "ink"),
    ("ink", "field"),
]


@pytest.fixture(scope="module")
def tokens() -> dict[str, tuple[str, str]]:
    """Colour by name, light and dark."""
    text = static_files()["figures.css"].body.decode()
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text)
    return {name: (light, dark) for name, light, dark in found}


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), ON)
def test_text_can_be_read(tokens: dict[str, tuple[str, str]], text: str, ground: str, theme: int) -> None:
    """A contrast of 4.5 to 1 and more (WCAG 2.2, 1.4.3, AA)."""
    ratio = _contrast(tokens[text][theme], tokens[ground][theme])
    assert ratio >= 4.5, f"{text} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_fields_can_be_told_from_their_ground(tokens: dict[str, tuple[str, str]], theme: int) -> None:
    """A field's border has 3 to 1 and more (1.4.11)."""
    assert _contrast(tokens["field-rule"][theme], tokens["card"][theme]) >= 3


def test_pages_load_nothing_from_elsewhere() -> None:
    """Neither style nor module names another host; no style runs code."""
    for path, file in static_files().items():
        text = file.body.decode()
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path
        assert "eval(" not in text, path


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
