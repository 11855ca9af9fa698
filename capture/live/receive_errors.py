"""System errors on receiving, as one line with the remedy."""

from __future__ import annotations

import errno
import os
import sys

from datamodel.errors import InputError

_CAUSES = {
    errno.EPERM: "not permitted to receive packets; the process needs the capability CAP_NET_RAW",
    errno.EACCES: "not permitted to receive packets; the process needs the capability CAP_NET_RAW",
    errno.ENODEV: "no such interface",
    errno.ENXIO: "no such interface",
    errno.ENETDOWN: "the interface is down",
    errno.EADDRNOTAVAIL: "no interface of this machine has this address",
    errno.ENOMEM: "the kernel has not enough memory for a ring of this size",
    errno.ENOPROTOOPT: "the kernel is too old: receiving live needs Linux 4.20 or later",
}


def require_linux(source: str) -> None:
    """Refuse other systems.

    Raises:
        InputError: this is not Linux; the message names `source` and the way that is open everywhere.
    """
    if sys.platform != "linux":
        raise InputError(f"{source}: receiving from the network needs Linux; elsewhere read a pcap stream from a pipe")


def refusal(source: str, error: OSError) -> InputError:
    """What to raise where the system refused `source` (an interface or an address) with `error`."""
    number = error.errno or 0
    return InputError(f"{source}: {_CAUSES.get(number) or os.strerror(number)}")
