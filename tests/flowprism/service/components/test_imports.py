"""What processes load: no more than they use, so that they start soon."""

import json
import subprocess
import sys

import pytest

LIBRARIES = ("numba", "fastapi", "scipy.optimize")
KERNEL_FREE = (
    "flowprism.cli.actions.service.collect",
    "flowprism.collector.supervisor",
    "flowprism.service.supervisor",
    "flowprism.service.components.alerter",
    "flowprism.service.components.api",
    "flowprism.service.components.compactor",
)
PROGRAM = f"""
import importlib, json, sys
found = {{}}
for module in {(*KERNEL_FREE, "flowprism.pipeline")}:
    importlib.import_module(module)
    found[module] = [library for library in {LIBRARIES} if library in sys.modules]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """Which of the libraries are loaded once each module is, in this order, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_processes_without_kernels_load_no_compiler(loaded: dict[str, list[str]]) -> None:
    """Numba costs a process 60 MB and half a second, which supervisors, API, alerter and compactor need not pay."""
    assert [module for module in KERNEL_FREE if "numba" in loaded[module]] == []
    assert "numba" in loaded["flowprism.pipeline"]


@pytest.mark.parametrize(
    ("library", "module"),
    [
        ("fastapi", "flowprism.service.supervisor"),
        ("scipy.optimize", "flowprism.service.components.api"),
        ("scipy.optimize", "flowprism.pipeline"),
    ],
)
def test_a_start_does_not_wait_for_what_it_does_not_use(
    library: str, module: str, loaded: dict[str, list[str]]
) -> None:
    """The components start once the supervisor is loaded; it serves no page, and few pages and windows assign."""
    assert library not in loaded[module]
