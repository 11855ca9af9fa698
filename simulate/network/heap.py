"""A binary heap of operations by due time in which an operation's time can change; ties go to the lower number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide

Table = npt.NDArray[np.void]
Heap = npt.NDArray[np.int32]

ABSENT = -1


@jit
def earlier(ops: Table, a: int, b: int) -> bool:
    """Whether operation `a` is due before `b`."""
    due_a, due_b = ops[a]["due_ns"], ops[b]["due_ns"]
    return due_a < due_b or (due_a == due_b and a < b)


@jit
def sift_up(ops: Table, heap: Heap, place: int) -> None:
    """Move the operation at `place` towards the top until its parent is earlier."""
    op = wide(heap[place])
    while place > 0:
        parent = (place - 1) >> 1
        other = wide(heap[parent])
        if not earlier(ops, op, other):
            break
        heap[place] = other
        ops[other]["place"] = place
        place = parent
    heap[place] = op
    ops[op]["place"] = place


@jit
def sift_down(ops: Table, heap: Heap, size: int, place: int) -> None:
    """Move the operation at `place` away from the top until both children are later."""
    op = wide(heap[place])
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and earlier(ops, wide(heap[child + 1]), wide(heap[child])):
            child += 1
        other = wide(heap[child])
        if not earlier(ops, other, op):
            break
        heap[place] = other
        ops[other]["place"] = place
        place = child
    heap[place] = op
    ops[op]["place"] = place


@jit
def push(ops: Table, heap: Heap, size: int, op: int) -> int:
    """Put in an operation that is absent; the new size."""
    heap[size] = op
    sift_up(ops, heap, size)
    return size + 1


@jit
def pop(ops: Table, heap: Heap, size: int) -> int:
    """Take out the earliest operation, which is `heap[0]`; the new size."""
    first = wide(heap[0])
    ops[first]["place"] = ABSENT
    size -= 1
    if size > 0:
        last = wide(heap[size])
        heap[0] = last
        ops[last]["place"] = 0
        sift_down(ops, heap, size, wide(0))
    return size


@jit
def moved(ops: Table, heap: Heap, size: int, op: int) -> None:
    """Restore order after the due time of an operation in the heap has changed."""
    place = wide(ops[op]["place"])
    sift_up(ops, heap, place)
    sift_down(ops, heap, size, wide(ops[op]["place"]))
