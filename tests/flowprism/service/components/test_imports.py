"""What processes load: no more than they use, so that they start soon."""

import subprocess
import sys

import pytest

KERNEL_FREE = (
    "flowprism.cli.actions.service.collect",
    "flowprism.collector.supervisor",
    "flowprism.service.supervisor",
    "flowprism.service.components.alerter",
    "flowprism.service.components.api",
    "flowprism.service.components.compactor",
)


@pytest.mark.parametrize("module", KERNEL_FREE)
def test_processes_without_kernels_load_no_compiler(module: str) -> None:
    """Numba costs a process 60 MB and half a second, which supervisors, API, alerter and compactor need not pay."""
    program = f"import sys, {module}; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("flowprism.service.supervisor", "fastapi"),
        ("flowprism.service.components.api", "scipy.optimize"),
        ("flowprism.pipeline", "scipy.optimize"),
    ],
)
def test_a_start_does_not_wait_for_what_it_does_not_use(module: str, library: str) -> None:
    """The components start once the supervisor is loaded; it serves no page, and few pages and windows assign."""
    program = f"import sys, {module}; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
