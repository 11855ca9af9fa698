"""The series that are read: names of NVIDIA's DCGM exporter, of node_exporter and of the lake's `counters`.

https://docs.nvidia.com/datacenter/dcgm/latest/reference/dcgm-exporter-metrics.html
https://github.com/prometheus/node_exporter (collectors `infiniband` and `netclass`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamodel.reports.host_cause import HostCauseKind

# level: a gauge. count: errors since boot, of which some are common. failure: the same, and one is too many.
# time: ns in a state since boot. code: the last error's number.
Form = Literal["level", "count", "failure", "time", "code"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One exported metric.

    Attributes:
        name: as exported.
        meaning: in words.
        form: how its values are read.
        kind: the cause that it shows by itself; None where it only says that, or how, a clock is low.
        unit: of what is shown.
        falls: whether less is worse.
    """

    name: str
    meaning: str
    form: Form
    kind: HostCauseKind | None
    unit: str = "per minute"
    falls: bool = False


CLOCK = Measure("DCGM_FI_DEV_SM_CLOCK", "SM clock", "level", None, "MHz", falls=True)
TEMPERATURES = (
    Measure("DCGM_FI_DEV_GPU_TEMP", "temperature", "level", None, "°C"),
    Measure("DCGM_FI_DEV_MEMORY_TEMP", "memory temperature", "level", None, "°C"),
)
THROTTLING = (
    Measure("DCGM_FI_DEV_THERMAL_VIOLATION", "time throttled for heat", "time", "thermal", "%"),
    Measure("DCGM_FI_DEV_POWER_VIOLATION", "time throttled for power", "time", "power", "%"),
)
GPU_ERRORS = (
    Measure("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "PCIe replays", "count", "pcie"),
    Measure("DCGM_FI_DEV_XID_ERRORS", "XID", "code", "gpu_error", ""),
    Measure("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "double-bit errors", "failure", "gpu_error", ""),
    Measure("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "rows remapped", "failure", "gpu_error", ""),
    Measure("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "NVLink flit CRC errors", "count", "gpu_error"),
    Measure("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "NVLink data CRC errors", "count", "gpu_error"),
    Measure("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "NVLink replays", "count", "gpu_error"),
    Measure("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "NVLink recoveries", "failure", "gpu_error", ""),
)
NIC_ERRORS = (
    Measure("node_infiniband_port_errors_received_total", "RDMA receive errors", "count", "nic_errors"),
    Measure("node_infiniband_port_discards_transmitted_total", "RDMA packets discarded", "count", "nic_errors"),
    Measure("node_infiniband_link_error_recovery_total", "RDMA link recoveries", "failure", "nic_errors", ""),
    Measure("node_infiniband_link_downed_total", "RDMA link failures", "failure", "nic_errors", ""),
    Measure("node_network_receive_errs_total", "receive errors", "count", "nic_errors"),
    Measure("node_network_transmit_errs_total", "transmit errors", "count", "nic_errors"),
    Measure("node_network_carrier_down_changes_total", "link failures", "failure", "nic_errors", ""),
)
GPU_MEASURES = (CLOCK, *TEMPERATURES, *THROTTLING, *GPU_ERRORS)
# NVML's counters in sFlow are of all GPUs of a host together.
POWER_DRAW = Measure("gpu_energy_mj", "power draw of each GPU", "level", None, "W", falls=True)
HOTTEST = Measure("gpu_temperature_c", "hottest GPU's temperature", "level", "thermal", "°C")
GPU_MEMORY_ERRORS = Measure("gpu_ecc_errors", "double-bit errors", "failure", "gpu_error", "")
LOST_GPUS = Measure("gpu_count", "GPUs lost", "failure", "gpu_error", "")
RECEIVE_ERRORS = Measure("in_errors", "receive errors", "count", "nic_errors")
TRANSMIT_ERRORS = Measure("out_errors", "transmit errors", "count", "nic_errors")
COUNTER_MEASURES = (POWER_DRAW, HOTTEST, GPU_MEMORY_ERRORS, LOST_GPUS, RECEIVE_ERRORS, TRANSMIT_ERRORS)
MEASURES = {one.name: one for one in (*GPU_MEASURES, *NIC_ERRORS, *COUNTER_MEASURES)}
# Of an application that was stopped, whatever stopped it (NVIDIA's XID catalog: 43 reset channel, 45 preemptive
# cleanup): all ranks of a job that ends get them.
CONSEQUENT_XIDS: tuple[int, ...] = (43, 45)
