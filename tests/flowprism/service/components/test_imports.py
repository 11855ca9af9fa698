"""What processes load: no more than they use, so that they start soon."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

KERNEL_FREE = (
    "flowprism.cli.actions.service.collect",
    "flowprism.collector.supervisor",
    "flowprism.service.supervisor",
    "flowprism.service.components.alerter",
    "flowprism.service.components.api",
    "flowprism.service.components.compactor",
)


def first_to_load(library: str, modules: Sequence[str]) -> str:
    """The first of these modules, loaded one after the other in a process of its own, with which `library` comes."""
    program = (
        "import importlib, sys\n"
        f"for module in {modules!r}:\n"
        "    importlib.import_module(module)\n"
        f"    if {library!r} in sys.modules:\n"
        "        sys.exit(module)"
    )
    return subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, check=False).stderr


def test_processes_without_kernels_load_no_compiler() -> None:
    """Numba costs a process 60 MB and half a second, which supervisors, API, alerter and compactor need not pay."""
    assert first_to_load("numba", KERNEL_FREE) == ""


@pytest.mark.parametrize(
    ("library", "modules"),
    [
        ("fastapi", ["flowprism.service.supervisor"]),
        ("scipy.optimize", ["flowprism.service.components.api", "flowprism.pipeline"]),
    ],
)
def test_a_start_does_not_wait_for_what_it_does_not_use(library: str, modules: Sequence[str]) -> None:
    """The components start once the supervisor is loaded; it serves no page, and few pages and windows assign."""
    assert first_to_load(library, modules) == ""
