"""What runs uncompiled, and what never does."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from reconstruct.numeric.autocorrelation import autocorrelation

PLACE, WEIGHT, BINS = np.arange(0, 4096, 64), np.linspace(1.0, 2.0, 64), 4096
ASKED = """
import numpy as np
from reconstruct.numeric.autocorrelation import autocorrelation
from reconstruct.periods.byte_period import comb
values = autocorrelation(np.arange(0, 4096, 64), np.linspace(1.0, 2.0, 64), 4096)
print(hasattr(autocorrelation, "signatures"), hasattr(comb, "signatures"), values.sum().hex())
"""


@pytest.mark.parametrize(("uncompiled", "comb_compiled"), [("0", True), ("1", False)])
def test_autocorrelation_is_compiled_even_where_the_rest_is_not(uncompiled: str, comb_compiled: bool) -> None:
    """With compiling switched off it is compiled all the same, with the same values."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": uncompiled}
    shown = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["True", str(comb_compiled), autocorrelation(PLACE, WEIGHT, BINS).sum().hex()]
