"""`python -m flowprism.demo FOLDER`: the service with the bundled capture played into it; its store lies in FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from datamodel.errors import FlowprismError
from flowprism.demo.demo_service import run_demo


def main(arguments: list[str]) -> int:
    """Run until Ctrl-C; 2 and one line on stderr where that cannot be done."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m flowprism.demo FOLDER\n")
        return 2
    try:
        run_demo(Path(arguments[0]), os.environ)
    except BrokenPipeError:  # the reader has seen enough (`make run | head`); nor may the flush at exit complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except FlowprismError as error:
        sys.stderr.write(f"flowprism: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
