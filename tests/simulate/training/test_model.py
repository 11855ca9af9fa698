import pytest

from simulate.training.model import MODELS, compute_volumes
from simulate.training.plan import Plan


@pytest.mark.parametrize(
    ("name", "billions", "tolerance"),
    [
        ("gpt3-175b", 175, 0.01),
        ("llama2-7b", 6.74, 0.01),
        ("llama2-70b", 69, 0.01),
        ("llama3-8b", 8.03, 0.01),
        ("llama3-70b", 70.6, 0.01),
        ("llama3-405b", 405, 0.01),
        ("mixtral-8x7b", 46.7, 0.01),
        ("deepseek-v3", 671, 0.05),  # three of its layers are dense, which the model leaves out
    ],
)
def test_configurations_have_as_many_parameters_as_published(name: str, billions: float, tolerance: float) -> None:
    """Within one percent of the number in the model's paper or card."""
    assert MODELS[name].parameters / 1e9 == pytest.approx(billions, rel=tolerance)


def test_gradients_of_all_ranks_are_the_model() -> None:
    """Gradient bytes of the ranks of one replica are four a parameter, the output projection among the shared ones."""
    plan = Plan(tp=8, dp=2, pp=4)
    model = MODELS["llama3-70b"]
    held = compute_volumes(model, plan).gradient_bytes * 32 / 4
    assert held == pytest.approx(model.parameters - model.embedding_parameters, rel=0.001)


def test_a_message_between_stages_is_sequence_times_hidden() -> None:
    """Tokens x hidden x 2 bytes, split over the tensor group: LLaMA-65B-like, tp 2, 2,048 tokens, 16,777,216 B."""
    plan = Plan(tp=2, pp=8)
    assert compute_volumes(MODELS["llama2-70b"], plan, micro_batch=1).activation_bytes == 4096 * 8192 * 2 / 2


def test_merging_layers_into_units_keeps_the_bytes() -> None:
    """Fewer units carry more each: tokens, keys and sums of a stage stay the same."""
    plan = Plan(tp=2, cp=2, ep=4, dp=4, pp=2)
    fine, coarse = (compute_volumes(MODELS["mixtral-8x7b"], plan, units=n) for n in (16, 4))
    for name in ("token_bytes", "key_bytes", "tensor_bytes"):
        assert getattr(coarse, name) * coarse.layers == pytest.approx(getattr(fine, name) * fine.layers)
