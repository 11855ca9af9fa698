"""Compiling now what otherwise is compiled when it is first used, for a minute: `python -m flowprism.compiling`.

The decoders are compiled by one process and the analysis by another; what they compile stays beside the package where
that can be written, otherwise in the user's cache, or where NUMBA_CACHE_DIR says.
"""

from __future__ import annotations

import subprocess
import sys

_DECODERS = (
    "from capture.exports import Exports; from capture.sampling import SamplingRates;"
    "from flowprism.collector.warming import warm_up; warm_up(Exports(SamplingRates()))"
)
_ANALYSIS = "from flowprism.service.parts.scanner import warm_up; warm_up()"


def main() -> int:
    """Compile all of it; 0 where that went well."""
    processes = [subprocess.Popen([sys.executable, "-c", code]) for code in (_DECODERS, _ANALYSIS)]  # noqa: S603 - our own
    return max(process.wait() for process in processes)


if __name__ == "__main__":
    sys.exit(main())
