"""The stages of which benchmarks measure the share."""

from importlib import import_module

from benchmarks.analysis.stages import STAGES


def test_every_stage_is_a_function_that_an_analysis_calls() -> None:
    """A renamed one would end the benchmark."""
    for name, stages in STAGES.items():
        module = import_module(name)
        assert [stage for stage in stages if not callable(getattr(module, stage, None))] == []
