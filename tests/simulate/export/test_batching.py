from collections.abc import Callable
from typing import Any

import numpy as np

from simulate.export.batching import ordinal, pack, packing, place_rows, placed
from simulate.export.cache import fill


def plain_and_compiled(kernel: Callable[..., int]) -> tuple[Callable[..., int], Any]:
    """A kernel compiled, and as it is written; the same twice where compiling is switched off."""
    return kernel, getattr(kernel, "py_func", kernel)


def test_a_datagram_leaves_when_full_or_at_the_beat() -> None:
    """The fourth item does not fit: the first three leave then; the rest leave at the beat, another sender's apart."""
    sender, time = np.array([0, 0, 0, 0, 1]), np.array([10, 20, 30, 40, 45])
    datagram, sent = np.zeros(5, np.int64), np.zeros(5, np.int64)
    count = pack(sender, time, np.full(5, 100), np.zeros(5, np.int64), 1000, 300, datagram, sent)
    assert count == 3
    assert datagram.tolist() == [0, 0, 0, 1, 2]
    assert sent[:3].tolist() == [40, 1000, 1000]


def test_nobody_waits_longer_than_the_beat() -> None:
    """Every item leaves after it is there and within a beat; without a beat at once, each alone."""
    random = np.random.default_rng(1)
    sender, size = np.sort(random.integers(0, 3, 500)), np.full(500, 100)
    time = np.concatenate([np.sort(random.integers(0, 10**9, n)) for n in np.bincount(sender)])
    packed = packing(sender, time, size, 10**7, 450)
    waited = packed.sent_ns[packed.datagram] - time
    assert waited.min() >= 0
    assert waited.max() <= 10**7
    assert np.bincount(packed.datagram).max() <= 4
    alone = packing(sender, time, size, 0, 450)
    assert (alone.sent_ns == time).all()


def test_compiled_and_plain_kernels_agree() -> None:
    """Packing, caching and placing give the same uncompiled."""
    random = np.random.default_rng(2)
    sender, time = np.sort(random.integers(0, 3, 200)), np.sort(random.integers(0, 10**6, 200))
    size, phase = random.integers(1, 200, 200), np.zeros(200, np.int64)
    outs = []
    for kernel in plain_and_compiled(pack):
        datagram, sent = np.zeros(200, np.int64), np.zeros(200, np.int64)
        outs.append((kernel(sender, time, size, phase, 5000, 400, datagram, sent), datagram.tolist(), sent.tolist()))
    assert outs[0] == outs[1]
    tables = []
    for kernel in plain_and_compiled(fill):
        table = np.zeros((6, 2000), np.int64)
        count = kernel(sender, time, time + 20_000, size, size * 1000, 7000, 300, 50_000, table)
        tables.append(table[:, :count].tolist())
    assert tables[0] == tables[1]
    assert sum(tables[0][4]) == size.sum()
    assert sum(tables[0][5]) == size.sum() * 1000


def test_rows_are_put_where_they_belong() -> None:
    """Only so many bytes of each; a row that would not fit is left out."""
    rows = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert placed([(rows, np.array([2, 4, 1]), np.array([4, 0, 6]))], 8).tolist() == [4, 5, 6, 7, 0, 1, 8, 0]
    out = np.zeros(3, np.uint8)
    place_rows(rows, np.array([4, 5, 2]), np.array([0, 0, 1]), out)
    assert out.tolist() == [0, 8, 9]


def test_rows_are_numbered_by_key() -> None:
    """From 1 on, in their own order."""
    number, order = ordinal(np.array([7, 3, 7, 7, 3]))
    assert number.tolist() == [1, 1, 2, 3, 2]
    assert order.tolist() == [1, 4, 0, 2, 3]
