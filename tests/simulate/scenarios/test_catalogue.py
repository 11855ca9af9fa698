import re
from pathlib import Path

from simulate.network.graph import PURPOSES
from simulate.scenarios.catalogue import CATALOGUE
from simulate.training.model import MODELS

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_names_every_module_it_explains() -> None:
    """A module named on the page is there."""
    named = re.findall(r"`(?!tests/)([a-z_/]+\.py)`", (ROOT / "docs" / "simulator.md").read_text())
    assert len(named) > 10
    assert all((ROOT / "simulate" / name).exists() for name in named)


def test_names_are_plain() -> None:
    """Scenarios, models and purposes are told apart by lower-case words."""
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in (*CATALOGUE, *MODELS))
    assert len(set(PURPOSES)) == len(PURPOSES)
