from hypothesis import given
from hypothesis import strategies as st

from simulate.training.schedule import Message, ScheduleStep, forward_only, schedule_blocking, schedule_interleaved

stages = st.integers(1, 6)
batches = st.integers(1, 12)


def steps(stage: int, count: int, many: int) -> list[ScheduleStep]:
    """Steps of 1F1B without its exchanges."""
    return [item for item in schedule_blocking(stage, count, many) if isinstance(item, ScheduleStep)]


def messages(stage: int, count: int, many: int) -> list[Message]:
    """Messages of all exchanges of a stage."""
    return [m for item in schedule_blocking(stage, count, many) if not isinstance(item, ScheduleStep) for m in item]


@given(stages, batches)
def test_every_micro_batch_is_computed_once_each_way(count: int, many: int) -> None:
    """On each stage, forward before backward, both in order."""
    for stage in range(count):
        order = steps(stage, count, many)
        assert [s.batch for s in order if s.forward] == list(range(many))
        assert [s.batch for s in order if not s.forward] == list(range(many))
        assert all(order.index(ScheduleStep(True, 0, b)) < order.index(ScheduleStep(False, 0, b)) for b in range(many))


@given(stages, batches)
def test_no_stage_holds_more_activations_than_stages_behind_it(count: int, many: int) -> None:
    """The point of 1F1B: at most as many micro-batches under way as stages from here to the last."""
    for stage in range(count):
        held = 0
        for step in steps(stage, count, many):
            held += 1 if step.forward else -1
            assert held <= count - stage


@given(stages, batches)
def test_what_one_stage_sends_the_next_receives(count: int, many: int) -> None:
    """Each message has its two ends on neighbouring stages, and the outer stages none beyond."""
    for stage in range(count - 1):
        up = [m.batch for m in messages(stage, count, many) if m.forward and m.sent]
        taken = [m.batch for m in messages(stage + 1, count, many) if m.forward and not m.sent]
        down = [m.batch for m in messages(stage + 1, count, many) if not m.forward and m.sent]
        got = [m.batch for m in messages(stage, count, many) if not m.forward and not m.sent]
        assert up == taken == down == got == list(range(many))
    assert not [m for m in messages(0, count, many) if m.forward != m.sent]
    assert not [m for m in messages(count - 1, count, many) if m.forward == m.sent]


@given(st.integers(2, 4), st.integers(1, 3), st.integers(2, 3))
def test_interleaving_computes_every_chunk_of_every_micro_batch(count: int, rounds: int, chunks: int) -> None:
    """Forward and backward once each, on every stage."""
    many = count * rounds
    wanted = {ScheduleStep(f, c, b) for f in (True, False) for c in range(chunks) for b in range(many)}
    for stage in range(count):
        order = schedule_interleaved(stage, count, many, chunks)
        assert len(order) == len(wanted)
        assert set(order) == wanted


def test_an_evaluation_only_goes_forward() -> None:
    """Receive, compute, send, micro-batch for micro-batch."""
    assert forward_only(1, 3, 1) == [(Message(True, 0, False),), ScheduleStep(True, 0, 0), (Message(True, 0, True),)]
