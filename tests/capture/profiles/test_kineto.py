"""What a trace's events mean, for GPUs of several makers, old and new versions, and jobs without GPUs."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.profiles.kernel_names import copy_direction, is_communication, is_loader, kernel_family
from capture.profiles.kineto import profile_of
from capture.profiles.trace_file import read_trace_file
from datamodel.errors import InputError
from datamodel.telemetry.profiles import ACTIVITY_KINDS, Profile


def event(
    cat: str, name: str, ts: float = 1.0, dur: float = 5.0, tid: int = 1, args: dict[str, str] | None = None
) -> dict[str, Any]:
    """One event with a duration."""
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, "args": args or {}}


def profile(folder: Path, events: list[dict[str, Any]], name: str = "trace.json", **metadata: object) -> Profile:
    """The profile of a file with these events."""
    (folder / name).write_text(json.dumps({**metadata, "traceEvents": events}))
    return profile_of(read_trace_file(folder / name), name)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "gemm"),
        ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", "gemm"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm"),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)", "attention"),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>", "optimizer"),
        ("void cudnn::bn_bw_1C11_kernel_new<float>", "normalization"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduction"),
        ("triton_poi_fused_0", "elementwise"),
        ("aten::addmm", "gemm"),
        ("unheard_of", "other"),
    ],
)
def test_kernels_have_families(name: str, family: str) -> None:
    """By name, whoever compiled them."""
    assert kernel_family(name) == family


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void ncclKernel_AllGather(int)",
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    ],
)
def test_old_and_new_collectives_are_known(name: str) -> None:
    """NCCL's and RCCL's kernels."""
    assert is_communication(name)


def test_reductions_of_one_gpu_are_no_communication() -> None:
    """Only names of communication libraries count."""
    assert not is_communication("void at::native::reduce_kernel<512, 1>")


def test_copies_and_loaders_are_known() -> None:
    """CUDA's and HIP's names of copies."""
    assert copy_direction("Memcpy HtoD (Pinned -> Device)") == "host to GPU"
    assert copy_direction("CopyDeviceToHost") == "GPU to host"
    assert copy_direction("Memset (Device)") == "on the GPU"
    assert is_loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")


def test_groups_come_from_arguments_or_from_the_job(tmp_path: Path) -> None:
    """Lists that an event cuts short are whole in the file's own description."""
    listed = {"Collective name": "allreduce", "Process Group Ranks": "[0, 4]"}
    cut = {"Collective name": "allgather", "Process Group Ranks": "[0, 1, ...]", "Process Group Name": "7"}
    events = [
        event("kernel", "ncclDevKernel_AllReduce(x)", 10, args=listed),
        event("kernel", "ncclDevKernel_AllGather(x)", 20, args=cut),
    ]
    info = {"rank": 4, "world_size": 8, "pg_config": [{"pg_name": "7", "ranks": [0, 1, 2, 4]}]}
    found = profile(tmp_path, events, distributedInfo=info, host_name="n7")
    assert sorted(found.groups) == [(0, 1, 2, 4), (0, 4)]
    assert (found.rank, found.world_size, found.host) == (4, 8, "n7")


def test_iterations_are_marks_else_optimizer_steps_else_all(tmp_path: Path) -> None:
    """Recordings that a daemon asked for have no marks."""
    kernel = event("kernel", "gemm", 10, 90)
    marks = [event("user_annotation", f"ProfilerStep#{n}", 100.0 * n, 100, tid=9) for n in (3, 4)]
    steps = [event("user_annotation", "Optimizer.step#AdamW.step", 100.0 * n, 10) for n in (1, 2, 3)]
    marked = profile(tmp_path, [kernel, *marks, *steps])
    assert marked.steps["number"].tolist() == [3, 4]
    assert marked.names[marked.main_thread] == "9"
    stepped = profile(tmp_path, [kernel, *steps])
    assert (stepped.steps["end_ns"] - stepped.steps["start_ns"]).tolist() == [100_000, 100_000]
    assert profile(tmp_path, [kernel]).steps["start_ns"].tolist() == [10_000]


def test_a_job_without_gpus_computes_in_operators(tmp_path: Path) -> None:
    """Gloo's annotations are its communication; what only hands a collective on is none of its own work."""
    events = [
        event("cpu_op", "aten::addmm"),
        event("cpu_op", "c10d::allreduce_", 7),
        event("user_annotation", "gloo:all_reduce", 9),
    ]
    found = profile(tmp_path, events, distributedInfo={"rank": 0, "world_size": 2})
    assert [ACTIVITY_KINDS[kind] for kind in found.activities["kind"]] == ["compute", "operator", "communication"]


def test_times_count_from_the_base(tmp_path: Path) -> None:
    """And are UTC where there is one."""
    found = profile(tmp_path, [event("kernel", "k", 1.5)], baseTimeNanoseconds=1_700_000_000_000_000_000)
    assert found.activities["start_ns"].tolist() == [1_700_000_000_000_001_500]
    assert found.utc
    assert not profile(tmp_path, [event("kernel", "k", 1.5)]).utc


def test_the_profile_of_a_launcher_is_refused(tmp_path: Path) -> None:
    """It has no work of a rank."""
    for one in (event("python_function", "elastic/agent.py(3): run"), event("kernel", "k", dur=0.0)):
        with pytest.raises(InputError, match=r"trace.json: shows no work of a training rank"):
            profile(tmp_path, [one])


@pytest.mark.parametrize(("name", "host"), [("gpu-7_4242.1700.pt.trace.json", "gpu-7"), ("rank.json", None)])
def test_hosts_come_from_file_names(tmp_path: Path, name: str, host: str | None) -> None:
    """As PyTorch's handler and dynolog name files: host and process."""
    assert profile(tmp_path, [event("kernel", "k")], name).host == host
