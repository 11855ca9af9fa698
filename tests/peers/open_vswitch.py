"""Open vSwitch with its userspace datapath in a namespace, forwarding between two ports and exporting what it sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.capture.live.namespaces import Namespace
from tests.peers.collector import PORT
from tests.peers.daemon import PATIENCE_S, daemon
from tests.peers.namespaces import SWITCH_PORTS

TOOLS = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl")
AGENT = "192.0.2.78"  # the switch's own address
TARGET = f'targets="127.0.0.1:{PORT}"'
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


class Switch:
    """A running one, with the bridge br0."""

    def __init__(self, space: Namespace, folder: Path) -> None:
        self._space, self._folder = space, folder

    def set(self, *command: str) -> None:
        """Change its configuration, as `ovs-vsctl` does, and wait until it is so."""
        self._space.run("ovs-vsctl", f"--timeout={PATIENCE_S:.0f}", f"--db=unix:{self._folder}/db.sock", *command)

    def export_sflow(self, one_in: int) -> None:
        """Send sFlow: one packet in so many, whole interface counters every second."""
        values = ["agent=br0", TARGET, f"sampling={one_in}", "polling=1", "header=128"]
        self._export("sflow", *values)

    def export_ipfix(self, one_in: int) -> None:
        """Send IPFIX of sampled packets: each is a candidate as it comes in, and again as it goes out."""
        values = [TARGET, f"sampling={one_in}", "obs_domain_id=7", "cache_active_timeout=1", "cache_max_flows=64"]
        self._export("ipfix", *values)

    def export_netflow(self) -> None:
        """Send NetFlow v5, a record of each active flow every second."""
        self._export("netflow", TARGET, "active_timeout=1", "engine_id=7", "engine_type=0")

    def stop_exporting(self, kind: str) -> None:
        """Send what is left, and no more."""
        self.set("clear", "bridge", "br0", kind)

    def _export(self, kind: str, *values: str) -> None:
        self.set("--", "--id=@it", "create", kind, *values, "--", "set", "bridge", "br0", f"{kind}=@it")


@contextmanager
def open_vswitch(space: Namespace, folder: Path) -> Iterator[Switch]:
    """A switch that hands what comes in at one port out at the other; its daemons end with it."""
    space.run("ovsdb-tool", "create", str(folder / "conf.db"), str(_SCHEMA))
    switch = Switch(space, folder)
    server = ["ovsdb-server", str(folder / "conf.db"), f"--remote=punix:{folder}/db.sock"]
    with _daemon(space, folder, server, folder / "db.sock"):
        switch.set("--no-wait", "init")
        with _daemon(space, folder, ["ovs-vswitchd", f"unix:{folder}/db.sock"], folder / "ovs-vswitchd.ctl"):
            _build(switch, space, folder)
            yield switch


def _build(switch: Switch, space: Namespace, folder: Path) -> None:
    switch.set("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail_mode=secure")
    for number, port in enumerate(SWITCH_PORTS, 1):
        switch.set("add-port", "br0", port, "--", "set", "interface", port, f"ofport_request={number}")
    for rule in ("in_port=1,ip,actions=output:2", "in_port=2,ip,actions=output:1"):
        space.run("ovs-ofctl", "add-flow", f"unix:{folder}/br0.mgmt", rule)
    space.run("ip", "address", "add", f"{AGENT}/32", "dev", "br0")
    space.run("ip", "link", "set", "br0", "up")


def _daemon(space: Namespace, folder: Path, command: list[str], ready: Path) -> AbstractContextManager[None]:
    """One of the two; it is up when the socket `ready` is there."""
    name = command[0]
    options = [f"--unixctl={folder}/{name}.ctl", "--no-chdir"]
    places = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(folder))
    return daemon(space, [*command, *options], folder / f"{name}.log", ready.exists, places)
