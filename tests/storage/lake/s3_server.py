"""An S3 server on this machine: it proves what is asked of S3, not that S3 keeps it."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

SERVER = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""
NUMBERS = count(1)


@contextmanager
def s3_server() -> Iterator[int]:
    """The port at which one answers for the time of the block; the test is skipped where there is none."""
    pytest.importorskip("moto", reason="no moto on this machine")
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        yield int(process.stdout.readline())
        process.kill()


def new_bucket(port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a prefix of a new bucket, with credentials where AWS's own tools would find them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setitem(os.environ, name, "test")
    monkeypatch.setitem(os.environ, "AWS_EC2_METADATA_DISABLED", "true")
    name = f"bucket{next(NUMBERS)}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{name}", method="PUT")
    urllib.request.urlopen(request).close()  # noqa: S310
    return f"s3://{name}/some/prefix?endpoint_override=http://127.0.0.1:{port}&region=us-east-1"
