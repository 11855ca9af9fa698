"""`python -m datamodel.schemas DIR`: writes the JSON Schemas of the published documents into DIR."""

from __future__ import annotations

import sys
from pathlib import Path

from datamodel.schemas.published import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
