"""The checkout under test: its root, its tracked files, its settings."""

import re
import subprocess
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files() -> list[Path]:
    """Files of the project, new ones not yet added included; ignored and deleted ones left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return sorted(ROOT / name for name in set(listed) if name and (ROOT / name).is_file())


def packages() -> set[str]:
    """Top-level folders that are installed: all with an `__init__.py` but the tests and the benchmarks."""
    return {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}


def settings() -> ConfigParser:
    """`setup.cfg`, read as setuptools reads it."""
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def distributions(value: str) -> set[str]:
    """Names of the requirements in a multi-line setting, without their versions."""
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in value.splitlines())
    return {match[0] for match in names if match}


def rows(page: str, heading: str) -> list[list[str]]:
    """Cells of the table rows under `heading` of a Markdown page, header and rule left out."""
    section = (ROOT / page).read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
