"""Prints what `docs/exporters.md` states: problems by language, and how many mistakes in references are found.

python -m tests.configs
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.configs.problem import problems
from tests.configs.references import mistakes_in_references


def main() -> None:
    """Count and print."""
    by_vendor = Counter(problem.folder.parent.name for problem in problems())
    for vendor, number in sorted(by_vendor.items()):
        sys.stdout.write(f"{vendor:14} {number:4} problems\n")
    with tempfile.TemporaryDirectory() as folder:
        found = [mistake.is_found for mistake in mistakes_in_references(Path(folder))]
    sys.stdout.write(
        f"problems {by_vendor.total()}; mistakes {len(found)}, found {sum(found)}: {sum(found) / len(found):.1%}\n"
    )


if __name__ == "__main__":
    main()
