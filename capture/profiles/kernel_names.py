"""Names of kernels, copies and annotations -> what they are. NVIDIA's, AMD's, Intel's and Habana's names.

A family is what slows together: GEMMs and attention use the matrix units, the rest mostly memory.
"""

from __future__ import annotations

import re

# NCCL's kernels: ncclKernel_AllReduce_RING_LL_Sum_float(...) until 2.18, ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)
# since; RCCL's ncclDevKernel_Generic; MSCCL, oneCCL and expert-parallel dispatch by their own names.
_COMMUNICATION = re.compile(
    r"\b(?:void )?(?:nccl|rccl|msccl|oneccl|hccl|hcl_|nvshmem|deep_ep::|ccl_allreduce|cross_device_reduce)",
    re.IGNORECASE,
)
# First match counts.
_FAMILIES = (
    ("attention", r"flash|fmha|attention|attn|mha_"),
    ("gemm", r"gemm|gemv|cutlass|xmma|wgrad|dgrad|fprop|conv|cijk_|nvjet|matmul|addmm|::mm\b|::bmm\b|linear\b|\bmme"),
    ("normalization", r"norm|softmax|bn_|log_softmax"),
    ("optimizer", r"multi_tensor|adam|sgd|lamb|optimizer|_foreach"),
    ("reduction", r"reduce|::sum\b|::mean\b"),
    ("indexing", r"index|embedding|gather|scatter|permute|sort|topk"),
    ("elementwise", r"elementwise|vectorized|triton|fill|copy|dropout|gelu|silu|rope|rotary|cat|add|mul|div|\btpc"),
)
_PATTERNS = tuple((family, re.compile(pattern, re.IGNORECASE)) for family, pattern in _FAMILIES)
_DIRECTIONS = {
    "host to GPU": re.compile(r"htod|host ?to ?device|host *->", re.IGNORECASE),
    "GPU to host": re.compile(r"dtoh|device ?to ?host|-> *(?:pinned|pageable|host)", re.IGNORECASE),
    "GPU to GPU": re.compile(r"ptop|peer", re.IGNORECASE),
    "on the GPU": re.compile(r"dtod|device ?to ?device|memset|fill", re.IGNORECASE),
}
_LOADER = re.compile(r"dataloader|data_loader|_next_data|_try_get_data|get_batch\b|next_batch\b", re.IGNORECASE)
_HOST_COMMUNICATION = re.compile(r"^gloo:|^mpi:", re.IGNORECASE)


def is_communication(kernel: str) -> bool:
    """Whether a kernel moves data between GPUs for a collective or a message."""
    return _COMMUNICATION.search(kernel) is not None


def is_host_communication(annotation: str) -> bool:
    """Whether an annotation stands for a collective that the host itself carries out."""
    return _HOST_COMMUNICATION.match(annotation) is not None


def is_loader(function: str) -> bool:
    """Whether a function loads training data."""
    return _LOADER.search(function) is not None


def kernel_family(kernel: str) -> str:
    """What a kernel computes."""
    return next((family for family, pattern in _PATTERNS if pattern.search(kernel)), "other")


def copy_direction(copy: str) -> str:
    """Between what a copy moves data."""
    return next((way for way, pattern in _DIRECTIONS.items() if pattern.search(copy)), "unknown direction")
