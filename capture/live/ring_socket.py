"""The packet socket behind a ring: asks Linux for one interface's frames, into memory shared with us (packet(7))."""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
from contextlib import ExitStack

from capture.live.receive_errors import refusal, require_linux
from datamodel.errors import InputError

BLOCK_BYTES = 1 << 19  # about 2,000 cut frames: one batch
RETIRE_MS = 50  # after which a block that is not full is handed over; 64 MiB thus hold 6 s of sparse traffic

# <linux/if_packet.h>, <linux/if_ether.h>, <asm-generic/socket.h>, <linux/if_arp.h>
_SOL_PACKET = 263
_ADD_MEMBERSHIP, _RX_RING, _STATISTICS, _VERSION, _FANOUT, _IGNORE_OUTGOING = 1, 5, 6, 10, 18, 23
_TPACKET_V3, _PROMISCUOUS, _FANOUT_HASH = 2, 1, 0
_ALL_PROTOCOLS = 0x0003
_LAST_GROUP = 0xFFFF
_ATTACH_FILTER = 26
_FRAME_BYTES = 2048  # has no meaning in version 3 but must divide the block
_RETURN = 0x06  # BPF_RET | BPF_K
_LINK_OF_HARDWARE = {1: 1, 772: 1, 519: 101, 0xFFFE: 101}  # ARPHRD_ETHER, _LOOPBACK, _RAWIP, _NONE -> LINKTYPE_


def open_socket(interface: str, blocks: int, snap_bytes: int, fanout: int | None) -> socket.socket:
    """A packet socket that receives the frames that come in on `interface` into a ring of `blocks` blocks.

    It sees frames for any station (promiscuous), none that this machine sends, and of each the first `snap_bytes`.

    Args:
        interface: its name.
        blocks: of BLOCK_BYTES each; maps as one piece of memory.
        snap_bytes: of every frame, from its link header on.
        fanout: number of a group of sockets that share the interface, each flow going to one of them; None: all of it.

    Raises:
        InputError: there is no such interface, it is down or of a kind we cannot read, we may not, or a number is out
            of its range.
    """
    require_linux(interface)
    if snap_bytes < 1:
        raise InputError(f"{interface}: at least one byte of every frame must be kept, not {snap_bytes}")
    if fanout is not None and not 0 <= fanout <= _LAST_GROUP:
        raise InputError(f"{interface}: fan-out groups are numbered from 0 to {_LAST_GROUP}, not {fanout}")
    with ExitStack() as undo:
        try:
            sock = undo.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            number = _number(interface)
            sock.setsockopt(_SOL_PACKET, _VERSION, _TPACKET_V3)
            sock.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
            ring = (BLOCK_BYTES, blocks, _FRAME_BYTES, BLOCK_BYTES // _FRAME_BYTES * blocks, RETIRE_MS, 0, 0)
            sock.setsockopt(_SOL_PACKET, _RX_RING, struct.pack("=7I", *ring))
            _keep(sock, 0)  # nothing yet: until it has joined its group it would see what the others see
            sock.bind((interface, _ALL_PROTOCOLS))
            _raise_pending(sock)
            sock.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, struct.pack("=iHH8x", number, _PROMISCUOUS, 0))
            link_type(sock)
            _join(sock, fanout)
            _keep(sock, snap_bytes)
        except OSError as error:
            raise refusal(interface, error) from None
        undo.pop_all()
    return sock


def link_type(sock: socket.socket) -> int:
    """The LINKTYPE_ value of the interface that `sock` is bound to.

    Raises:
        InputError: its frames are neither Ethernet nor bare IP packets.
    """
    interface, _, _, hardware, _ = sock.getsockname()
    if hardware not in _LINK_OF_HARDWARE:
        raise InputError(f"{interface}: neither Ethernet nor bare IP (hardware type {hardware}), cannot be read")
    return _LINK_OF_HARDWARE[hardware]


def counted(sock: socket.socket) -> tuple[int, int, int]:
    """Frames put into the ring, frames dropped for want of room, times the ring ran full; since the last call."""
    seen, dropped, freezes = struct.unpack("=3I", sock.getsockopt(_SOL_PACKET, _STATISTICS, 12))
    return seen - dropped, dropped, freezes


def check(sock: socket.socket, interface: str) -> None:
    """Take note of what happened to the interface: down is a pause, but one that was removed does not come back.

    Raises:
        InputError: the interface is gone.
    """
    pending = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if pending not in (0, errno.ENETDOWN):
        raise refusal(interface, OSError(pending, ""))
    if not sock.getsockname()[0]:
        raise InputError(f"{interface}: the interface was removed")


def _number(interface: str) -> int:
    try:
        return socket.if_nametoindex(interface)
    except OSError:  # comes without an error number
        raise OSError(errno.ENODEV, "") from None


def _keep(sock: socket.socket, snap_bytes: int) -> None:
    """Have the kernel pass on the first `snap_bytes` of every frame; 0: no frame at all (a one-line socket filter)."""
    program = ctypes.create_string_buffer(struct.pack("=HBBI", _RETURN, 0, 0, snap_bytes), 8)
    sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(program)))


def _join(sock: socket.socket, fanout: int | None) -> None:
    if fanout is None:
        return
    try:
        sock.setsockopt(_SOL_PACKET, _FANOUT, fanout | _FANOUT_HASH << 16)
    except OSError as error:
        interface = sock.getsockname()[0]
        raise InputError(f"{interface}: cannot join fan-out group {fanout}: {error.strerror}") from None


def _raise_pending(sock: socket.socket) -> None:
    pending = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if pending:
        raise OSError(pending, "")
