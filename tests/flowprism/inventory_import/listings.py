"""Listings as the systems write them, shortened to the fields that are read and some that are not."""

from __future__ import annotations

from typing import Any

SLURM_TEXT = """JobId=4242 JobName=pretrain 70b, take 2
   UserId=ann(1001) GroupId=ml(100) MCS_label=N/A
   Priority=1 Nice=0 Account=vision QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   SubmitTime=1767225000 EligibleTime=1767225000
   StartTime=1767225600 EndTime=1767830400 Deadline=N/A
   ReqNodeList=(null) ExcNodeList=gpu[08-09]
   NodeList=gpu[01-02]
   BatchHost=gpu01
   Command=/srv/train.sh --name=x

JobId=4243 JobName=waiting
   UserId=bob(1002) GroupId=ml(100) MCS_label=N/A
   Account=(null) QOS=normal
   JobState=PENDING Reason=Resources Dependency=(null)
   StartTime=Unknown EndTime=Unknown Deadline=N/A
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=(null)
"""


IS_INTERFACE = "dcim.interface"


def slurm_job(number: int, name: str, nodes: Any, state: Any = ("RUNNING",), **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as versions differ
    """A job of `squeue --json`."""
    states = list(state) if isinstance(state, tuple) else state
    return {"job_id": number, "name": name, "job_state": states, "nodes": nodes, "account": "vision", **more}


def pod(name: str, namespace: str, node: str | None, labels: dict[str, str], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a pod
    """A pod of `kubectl get pods -o json`."""
    limits = {more.pop("resource", "nvidia.com/gpu"): more.pop("gpus", "8"), "memory": "1Ti"}
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"limits": limits}}, {"name": "side"}]}
    if node is not None:
        spec["nodeName"] = node
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", **more}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
        "status": status,
    }


def device(number: int, name: str | None, role: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a device
    """A device of `/api/dcim/devices/`."""
    return {
        "id": number,
        "name": name,
        "device_type": {"id": 1, "model": "x"},
        "role": {"id": 1, "slug": role, "name": role},
        "status": {"value": "active", "label": "Active"},
        "tenant": None,
        "primary_ip": None,
        "custom_fields": {},
        **more,
    }


def interface(number: int, of: int, name: str, kind: str = "400gbase-x-osfp", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of an interface
    """An interface of `/api/dcim/interfaces/`."""
    return {
        "id": number,
        "device": {"id": of, "name": f"device {of}"},
        "name": name,
        "type": {"value": kind, "label": kind},
        "speed": None,
        "mgmt_only": False,
        "connected_endpoints": None,
        "connected_endpoints_type": None,
        "custom_fields": {},
        **more,
    }


def cable(number: int, a: int, b: int, b_type: str = "dcim.interface") -> dict[str, Any]:
    """A cable of `/api/dcim/cables/`."""
    return {
        "id": number,
        "type": "mmf-om4",
        "a_terminations": [{"object_type": "dcim.interface", "object_id": a}],
        "b_terminations": [{"object_type": b_type, "object_id": b}],
    }


def address(number: int, text: str, interface_id: int | None) -> dict[str, Any]:
    """An address of `/api/ipam/ip-addresses/`."""
    kind = None if interface_id is None else "dcim.interface"
    return {"id": number, "address": text, "assigned_object_type": kind, "assigned_object_id": interface_id}


def netbox() -> dict[str, list[dict[str, Any]]]:
    """Two hosts of two NICs behind a leaf, a spine above it, a patch panel between, and what is of no use."""
    return {
        "devices": [
            device(1, "gpu01.dc1.example", "gpu-server", tenant={"id": 1, "name": "vision", "slug": "vision"}),
            device(2, "gpu02.dc1.example", "gpu-server"),
            device(3, "leaf1", "leaf-switch", primary_ip={"id": 90, "address": "10.255.0.1/32"}),
            device(4, "spine1", "spine-switch"),
            device(5, "pdu1", "power"),
            device(6, None, "gpu-server"),
            device(7, "gpu99", "gpu-server", status={"value": "decommissioning", "label": "Decommissioning"}),
        ],
        "interfaces": [
            interface(11, 1, "mlx0", custom_fields={"gpu": 0, "rail": 0}),
            interface(
                12,
                1,
                "mlx1",
                speed=200_000_000,
                connected_endpoints=[{"id": 32}],
                connected_endpoints_type=IS_INTERFACE,
            ),
            interface(13, 1, "bmc", mgmt_only=True),
            interface(14, 1, "eth9"),
            interface(21, 2, "mlx0"),
            interface(31, 3, "Ethernet1", custom_fields={"ifindex": 101}),
            interface(32, 3, "Ethernet2", custom_fields={"ifindex": "102"}),
            interface(33, 3, "Ethernet3"),
            interface(34, 3, "Ethernet49", "800gbase-x-osfp", custom_fields={"ifindex": 149}),
            interface(41, 4, "Ethernet1", "800gbase-x-osfp", custom_fields={"ifindex": 201}),
        ],
        "cables": [cable(1, 11, 31), cable(2, 12, 900, "dcim.frontport"), cable(3, 33, 21), cable(4, 34, 41)],
        "ip_addresses": [
            address(1, "10.1.1.1/24", 11),
            address(2, "10.1.2.1/24", 12),
            address(3, "10.9.9.1/24", 13),
            address(4, "10.1.1.2/24", 21),
            address(5, "10.1.1.1/24", 14),
            address(6, "10.7.0.1/24", None),
        ],
    }
