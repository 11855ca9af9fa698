"""What processes load: those that decode and analyze nothing do without the compiler of kernels."""

import subprocess
import sys

import pytest

KERNEL_FREE = (
    "flowprism.cli.actions.collect",
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
