"""Serving of models whose engines span hosts: prefill apart from decoding, tensor and expert parallelism.

Requests come as they like; engines batch them continuously. What moves follows from the model: keys and values of a
prompt go once from where it was read to where it is answered, activations of all tokens of a step go round after each
layer, and nothing sets one layer apart from the next. Layers are gathered here: a few parts of a step, or all of it.
Sources: vLLM (chunked prefill, captured batch sizes), Mooncake (Qin et al., FAST 2025), DeepSeek-V3 (deployment).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from simulate.network.background import Traffic, remote_writes, together
from simulate.network.fabric import Fabric
from simulate.network.graph import SERVING

Kind = Literal["disaggregated", "tensor", "expert"]
NS = 1e9
# A model of 70 B parameters: layers, hidden size, bytes of keys and values of a token over all layers.
LAYERS, HIDDEN, KV_BYTES = 80, 8192, 327_680
ACTIVATION_BYTES = 2
TOKENS_PER_S = 2_500.0  # that a GPU reads of prompts: 2 x 70e9 operations a token at 350 TFLOP/s
STEP_S, TOKEN_S = 0.024, 0.00006  # of decoding, and how much longer each request of a batch makes it
PARTS, BETWEEN_S = 4, 0.002  # that a step of tensor parallelism is gathered into, and what lies between two steps
CHUNK_TOKENS, MOST_BATCH, BATCH_STEP = 2048, 256, 8
EXPERTS_A_TOKEN, EXPERT_LAYERS, EXPERT_HIDDEN = 8, 58, 7168


@dataclass(frozen=True, slots=True)
class Serving:
    """A model that is served on some hosts.

    Attributes:
        kind: disaggregated: `first` hosts read prompts, `second` hosts answer; tensor: engines of two hosts each;
            expert: one engine over all hosts.
        hosts: of the fabric.
        prefill_hosts: how many of them read prompts, of a disaggregated one.
        seconds: how long it is watched.
        load_ratio: share of what it could serve that is asked of it, on average; bursts reach beyond.
        prompt_tokens, prompt_ratio: median length of prompts and its spread (lognormal).
        answer_tokens: mean length of answers (geometric).
    """

    kind: Kind
    hosts: tuple[int, ...]
    seconds: float
    prefill_hosts: int = 1
    load_ratio: float = 0.5
    prompt_tokens: float = 2_000.0
    prompt_ratio: float = 1.0
    answer_tokens: float = 200.0

    def traffic(self, fabric: Fabric, random: np.random.Generator) -> Traffic:
        """Its messages, drawn."""
        nics = np.array(self.hosts)[:, None] * fabric.nics_per_host + np.arange(fabric.nics_per_host)
        if self.kind == "disaggregated":
            return self._transfers(nics[: self.prefill_hosts], nics[self.prefill_hosts :], random)
        if self.kind == "expert":
            return self._all_to_all(nics, random)
        engines = nics[: len(nics) // 2 * 2].reshape(-1, 2, fabric.nics_per_host)
        return together([self._rings(engine, random) for engine in engines])

    def _prompts(self, count: int, random: np.random.Generator) -> Int:
        drawn = random.lognormal(np.log(self.prompt_tokens), self.prompt_ratio, count)
        return np.clip(drawn, 16, 32_768).astype(np.int64)

    def _arrivals(self, per_s: float, random: np.random.Generator) -> Float:
        """(n,) seconds: a Poisson process whose rate changes every few seconds (gamma)."""
        every = 5.0
        rate = random.gamma(2.0, per_s / 2, int(np.ceil(self.seconds / every)))
        count = random.poisson(rate * every)
        begin = np.repeat(np.arange(len(rate)) * every, count)
        return np.sort(begin + random.random(len(begin)) * every)

    def _transfers(self, prefill: Int, decode: Int, random: np.random.Generator) -> Traffic:
        """Keys and values of each prompt once it is read, rail by rail, to the host that answers it."""
        host_per_s = TOKENS_PER_S * prefill.shape[1]
        capacity = host_per_s * len(prefill)
        mean = self.prompt_tokens * np.exp(self.prompt_ratio**2 / 2)
        arrival = self._arrivals(self.load_ratio * capacity / mean, random)
        tokens = self._prompts(len(arrival), random)
        free, done, where = np.zeros(len(prefill)), np.empty(len(arrival)), np.empty(len(arrival), np.int64)
        for n, (came, size) in enumerate(zip(arrival.tolist(), tokens.tolist(), strict=True)):
            host = int(np.argmin(free))
            free[host] = max(free[host], came) + size / host_per_s
            done[n], where[n] = free[host], host
        kept = done < self.seconds
        done, where, tokens = done[kept], where[kept], tokens[kept]
        answers = random.integers(0, len(decode), len(done))
        rails = prefill.shape[1]
        return remote_writes(
            prefill[where].ravel(),
            decode[answers].ravel(),
            (np.repeat(done * NS, rails) + random.random(len(done) * rails) * 50_000).astype(np.int64),
            np.repeat(tokens * (KV_BYTES // rails), rails),
            SERVING,
        )

    def _steps(self, random: np.random.Generator, gpus: int, step_s: float) -> tuple[Float, Float, Int]:
        """(steps,) when each step begins and how long it takes, in seconds, and how many tokens it works on.

        Decoding runs on captured batch sizes, so batches are filled up to the next one. Prompts are read in chunks
        with it. Without a request nothing is done.
        """
        prompt_s = self.prompt_tokens * np.exp(self.prompt_ratio**2 / 2) / TOKENS_PER_S / gpus
        answer_s = self.answer_tokens * (step_s + MOST_BATCH * TOKEN_S) / MOST_BATCH
        arrival = self._arrivals(self.load_ratio / (prompt_s + answer_s), random).tolist()
        prompts = self._prompts(len(arrival), random).tolist()
        answers = random.geometric(1 / self.answer_tokens, len(arrival)).tolist()
        now, next_one, waiting, running = 0.0, 0, 0, []  # type: float, int, int, list[int]
        begins, lasted, tokens = [], [], []
        while now < self.seconds:
            while next_one < len(arrival) and arrival[next_one] <= now and len(running) < MOST_BATCH:
                waiting += prompts[next_one]
                running.append(answers[next_one])
                next_one += 1
            if not running:
                if next_one >= len(arrival):
                    break
                now = arrival[next_one]
                continue
            chunk = min(waiting, CHUNK_TOKENS)
            waiting -= chunk
            batch = -(-len(running) // BATCH_STEP) * BATCH_STEP
            begins.append(now)
            tokens.append(batch + chunk)
            lasted.append(step_s + len(running) * TOKEN_S + chunk / TOKENS_PER_S / gpus)
            now += lasted[-1] + float(random.exponential(BETWEEN_S))
            running = [left - 1 for left in running if left > 1]
        return np.array(begins), np.array(lasted), np.array(tokens, np.int64)

    def _rings(self, engine: Int, random: np.random.Generator) -> Traffic:
        """Two reductions a layer over two hosts: rings cross between them on every rail, both ways."""
        begin, lasted, tokens = self._steps(random, engine.size, STEP_S)
        begin = (begin[:, None] + lasted[:, None] * np.arange(PARTS) / PARTS).ravel()
        size = np.repeat(tokens * HIDDEN * ACTIVATION_BYTES * 2 * LAYERS / PARTS / engine.shape[1], PARTS)
        count, rails = len(begin), engine.shape[1]
        pairs = [(engine[0], engine[1]), (engine[1], engine[0])]
        return together(
            [
                remote_writes(
                    np.tile(src, count), np.tile(dst, count), np.repeat(begin * NS, rails), np.repeat(size, rails),
                    SERVING,
                )
                for src, dst in pairs
            ]
        )  # fmt: skip

    def _all_to_all(self, nics: Int, random: np.random.Generator) -> Traffic:
        """Tokens go to their experts and back in each layer: on each rail from every host to every other."""
        begin, _, tokens = self._steps(random, nics.size, 2 * STEP_S)
        hosts, rails = nics.shape
        src, dst = (end.ravel() for end in np.meshgrid(np.arange(hosts), np.arange(hosts), indexing="ij"))
        src, dst = src[src != dst], dst[src != dst]
        mean = tokens * EXPERTS_A_TOKEN / hosts / (hosts * rails)  # each NIC's share of the batch, for each other host
        shape = (len(begin), len(src), rails)
        routed = random.poisson(np.maximum(mean, 0.1)[:, None, None], shape)
        size = routed * float(EXPERT_HIDDEN * 3 * EXPERT_LAYERS)  # one byte there, two back, as much each way
        kept = (size > 0).ravel()
        return remote_writes(
            np.broadcast_to(nics[src], shape).ravel()[kept],
            np.broadcast_to(nics[dst], shape).ravel()[kept],
            np.broadcast_to((begin * NS).astype(np.int64)[:, None, None], shape).ravel()[kept],
            size.astype(np.int64).ravel()[kept],
            SERVING,
        )
