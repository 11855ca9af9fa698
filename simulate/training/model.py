"""Published model configurations, and what one training iteration of them computes and sends.

Sources: GPT-3 (Brown et al., NeurIPS 2020, table 2.1); Llama 2 (Touvron et al. 2023, arXiv 2307.09288) and Llama 3
(Grattafiori et al. 2024, arXiv 2407.21783, table 3); Mixtral (Jiang et al. 2024, arXiv 2401.04088, table 1);
DeepSeek-V3 (arXiv 2412.19437, section 4.2). Work and activations: Narayanan et al., SC 2021 (arXiv 2104.04473).
"""

from __future__ import annotations

from dataclasses import dataclass

from simulate.training.plan import Plan

BF16_BYTES, FP32_BYTES, FP8_BYTES = 2, 4, 1


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A decoder-only transformer.

    Attributes:
        layers, hidden, ffn, heads, kv_heads, vocabulary: as published; `ffn` of one expert where there are several.
        sequence: tokens of a training sequence.
        gated: three matrices in the feed-forward network (SwiGLU) instead of two.
        experts, chosen: experts of a layer and how many each token visits; 1 and 1 where dense.
        shared_experts: experts that every token visits besides.
        kv_ratio: keys and values kept per token, in units of 2 * hidden * kv_heads / heads (latent attention: less).
    """

    name: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocabulary: int
    sequence: int
    gated: bool = True
    experts: int = 1
    chosen: int = 1
    shared_experts: int = 0
    kv_ratio: float = 1.0

    @property
    def attention_parameters(self) -> int:
        """Of one layer: query, key, value and output projections."""
        kv_hidden = int(self.hidden * self.kv_heads / self.heads * self.kv_ratio)
        return 2 * self.hidden * self.hidden + 2 * self.hidden * kv_hidden

    @property
    def expert_parameters(self) -> int:
        """Of one expert of one layer, or of the feed-forward network where dense."""
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def embedding_parameters(self) -> int:
        """Of the token embedding; the output projection has as many."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """All, embedding and output projection counted apart."""
        held = self.experts + self.shared_experts
        return self.layers * (self.attention_parameters + held * self.expert_parameters) + 2 * self.embedding_parameters

    def layer_flops_per_token(self) -> float:
        """Forward: two for each weight used, and the attention scores (causal: half of them)."""
        used = self.attention_parameters + (self.chosen + self.shared_experts) * self.expert_parameters
        return 2.0 * used + 2.0 * self.sequence * self.hidden


MODELS = {
    m.name: m
    for m in (
        ModelConfig("gpt3-175b", 96, 12288, 49152, 96, 96, 51200, 2048, gated=False),
        ModelConfig("llama2-7b", 32, 4096, 11008, 32, 32, 32000, 4096),
        ModelConfig("llama2-70b", 80, 8192, 28672, 64, 8, 32000, 4096),
        ModelConfig("llama3-8b", 32, 4096, 14336, 32, 8, 128256, 8192),
        ModelConfig("llama3-70b", 80, 8192, 28672, 64, 8, 128256, 8192),
        ModelConfig("llama3-405b", 126, 16384, 53248, 128, 8, 128256, 8192),
        ModelConfig("mixtral-8x7b", 32, 4096, 14336, 32, 8, 32000, 8192, experts=8, chosen=2),
        ModelConfig(
            "deepseek-v3",
            61,
            7168,
            2048,
            128,
            128,
            129280,
            4096,
            experts=256,
            chosen=8,
            shared_experts=1,
            kv_ratio=0.035,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Volumes:
    """What an iteration of a job computes and sends. Bytes leave one rank; times are of one GPU at full speed.

    Attributes:
        layers: layers of a stage and chunk, in as many units as they are simulated.
        forward_s, backward_s: one micro-batch through one whole stage.
        optimizer_s: the step after the gradients.
        activation_bytes: a message between stages.
        gradient_bytes, parameter_bytes: of the rank's dense weights, reduced and gathered over dp x cp.
        expert_gradient_bytes: of its experts, reduced over the ranks that hold the same ones.
        token_bytes: to each other member of the ep group, in one dispatch or combine of one unit of layers.
        key_bytes: one step of the cp ring in one unit of layers.
        tensor_bytes: one reduction over tp in one unit of layers.
        embedding_bytes: gradient that first and last stage share.
        last_stage_s: forward time that the output projection adds to the last stage.
    """

    layers: int
    forward_s: float
    backward_s: float
    optimizer_s: float
    activation_bytes: float
    gradient_bytes: float
    parameter_bytes: float
    expert_gradient_bytes: float = 0.0
    token_bytes: float = 0.0
    key_bytes: float = 0.0
    tensor_bytes: float = 0.0
    embedding_bytes: float = 0.0
    last_stage_s: float = 0.0


def compute_volumes(
    model: ModelConfig,
    plan: Plan,
    *,
    chunks: int = 1,
    units: int | None = None,
    micro_batch: int = 1,
    gpu_tflops: float = 400.0,
) -> Volumes:
    """Volumes of a model under a plan.

    Gradients are reduced in fp32 and parameters gathered in bf16, as Megatron does by default; messages between stages
    are split over tp (sequence parallelism); tokens are sent in bf16 to experts chosen evenly.

    Args:
        model: the configuration.
        plan: how it is split.
        chunks: parts of the model each stage holds (interleaved pipeline).
        units: into how many a chunk's layers are gathered; default one a layer.
        micro_batch: sequences in a micro-batch.
        gpu_tflops: what a GPU reaches in training.
    """
    stage_layers = model.layers / plan.pp
    layers = max(round(stage_layers / chunks), 1)
    units = min(units or layers, layers)
    tokens = model.sequence * micro_batch / plan.cp
    flops = tokens * model.layer_flops_per_token() / plan.tp
    forward_s = stage_layers * flops / (gpu_tflops * 1e12)
    dense = model.attention_parameters + model.shared_experts * model.expert_parameters
    experts = model.experts * model.expert_parameters if model.experts > 1 else 0
    dense += 0 if model.experts > 1 else model.expert_parameters
    weights = stage_layers * dense / plan.tp + model.embedding_parameters / plan.tp / plan.pp
    message = tokens * model.hidden * BF16_BYTES
    merged = layers / units
    kv_hidden = model.hidden * model.kv_heads / model.heads * model.kv_ratio
    return Volumes(
        layers=units,
        forward_s=forward_s,
        backward_s=2 * forward_s,
        optimizer_s=max(weights * 16 / 2e12, 0.002),  # 16 bytes of state a weight through 2 TB/s of memory
        activation_bytes=message / plan.tp,
        gradient_bytes=weights * FP32_BYTES,
        parameter_bytes=weights * BF16_BYTES,
        expert_gradient_bytes=stage_layers * experts / plan.ep / plan.tp * FP32_BYTES,
        token_bytes=merged * message / plan.tp * model.chosen / plan.ep if model.experts > 1 else 0.0,
        key_bytes=merged * 2 * tokens * kv_hidden * BF16_BYTES / plan.tp,
        tensor_bytes=merged * 2 * message,  # two reductions a layer and pass
        embedding_bytes=model.embedding_parameters / plan.tp * FP32_BYTES,
        last_stage_s=2.0 * tokens * model.embedding_parameters / plan.tp / (gpu_tflops * 1e12),
    )
