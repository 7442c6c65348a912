"""A Llama generates text on the virtual accelerator, and its every kernel says what it cost.

The model comes from a configuration with seeded weights (nothing is downloaded). It reads a prompt of 64
tokens and greedily generates 16, with a static key/value cache, once on the CPU and once on the device
"headrace", in f32 and f16. Two graphs are compiled for each type: one reads the prompt, one generates a
token.

    python examples/llama.py [--layers 4] [--tokens 16] [--device spyre] [--types f32 f16]
"""

from __future__ import annotations

import argparse
import copy
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

import headrace

PROMPT = 64
TYPES = {"f32": torch.float32, "f16": torch.float16}
TOLERANCE = {"f32": 1e-4, "f16": 1e-2}
Step = Callable[[], None]


@dataclass
class Generated:
    """What a generation gave: logits of the whole prompt, tokens, seconds of every step."""

    logits: torch.Tensor
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def configuration(layers: int) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=2048,
        max_position_embeddings=256,
        initializer_range=0.05,  # wide enough for every token to differ from the last
        attn_implementation="sdpa",
    )


@torch.no_grad()
def generate(
    model: Callable[..., object],
    config: LlamaConfig,
    prompt: torch.Tensor,
    count: int,
    dtype: torch.dtype,
    step: Step,
) -> Generated:
    """Greedy generation of `count` tokens; positions and cache are inputs, so a graph serves every step."""
    device = prompt.device
    cache = StaticCache(config=config, max_cache_len=PROMPT + count)
    width = config.hidden_size // config.num_attention_heads
    cache.early_initialization(1, config.num_key_value_heads, width, dtype, device)
    inputs, positions = prompt, torch.arange(PROMPT)[None].to(device)
    result = None
    for number in range(count):
        start = time.perf_counter()
        output = model(input_ids=inputs, position_ids=positions, cache=cache, use_cache=True)
        logits = output.logits.float().cpu()
        result = result or Generated(logits)
        result.tokens.append(int(logits[0, -1].argmax()))
        result.seconds.append(time.perf_counter() - start)
        inputs = torch.tensor([result.tokens[-1:]]).to(device)
        positions = torch.tensor([[PROMPT + number]]).to(device)
        step()
    return result


@dataclass
class Outcome:
    """One type: the CPU's generation, the device's, and what was recorded of the latter."""

    name: str
    parameters: int
    host: Generated
    device: Generated
    recording: headrace.frontend.session.Recording

    @property
    def error(self) -> float:
        """Largest error of the prompt's logits, relative to the largest logit."""
        difference = (self.host.logits - self.device.logits).abs().max()
        return float(difference / self.host.logits.abs().max())

    @property
    def has_equal_tokens(self) -> bool:
        return self.host.tokens == self.device.tokens

    @property
    def is_right(self) -> bool:
        return self.error <= TOLERANCE[self.name] and (self.name != "f32" or self.has_equal_tokens)


def run(name: str, layers: int, count: int, step: Step) -> Outcome:
    """Generates on the CPU and on the device with the same weights and prompt."""
    torch.manual_seed(0)
    config, dtype = configuration(layers), TYPES[name]
    model = LlamaForCausalLM(config).eval().to(dtype)
    prompt = torch.randint(0, config.vocab_size, (1, PROMPT))
    host = generate(model, config, prompt, count, dtype, step)
    compiled = torch.compile(copy.deepcopy(model).to("headrace"), fullgraph=True, dynamic=False)
    with headrace.record() as recording:
        device = generate(compiled, config, prompt.to("headrace"), count, dtype, step)
    return Outcome(name, sum(p.numel() for p in model.parameters()), host, device, recording)


@dataclass
class Cost:
    """A kernel over all its launches."""

    calls: int = 0
    cycles: int = 0
    bound: float = 0.0
    resource: str = ""
    source: str = ""


def costs(outcome: Outcome) -> dict[str, Cost]:
    found: dict[str, Cost] = defaultdict(Cost)
    for launch in outcome.recording.launches:
        cost, bound = found[launch.kernel], launch.run.bound
        cost.calls += 1
        cost.cycles += launch.run.cycles
        cost.bound += bound.cycles if bound else 0
        cost.resource = bound.resource if bound else ""
        cost.source = launch.source.rsplit("/", 1)[-1]
    return found


def cost_table(outcome: Outcome) -> Table:
    """The ten kernels that take the most cycles."""
    table = Table(title=f"{outcome.name}: the ten most expensive kernels")
    for heading in ("kernel", "from", "launches", "cycles", "share", "bound", "ratio", "limited by"):
        table.add_column(heading, justify="left" if heading in ("kernel", "from", "limited by") else "right")
    found = costs(outcome)
    total = sum(cost.cycles for cost in found.values())
    for kernel, cost in sorted(found.items(), key=lambda item: -item[1].cycles)[:10]:
        numbers = (
            f"{cost.cycles:,}",
            f"{cost.cycles / total:.1%}",
            f"{cost.bound:,.0f}",
            f"{cost.cycles / cost.bound:.2f}",
        )
        table.add_row(kernel, cost.source, str(cost.calls), *numbers, cost.resource)
    return table


def lines(outcome: Outcome) -> Iterator[str]:
    """The facts of one type, a line each."""
    graphs = outcome.recording.graphs
    yield f"[bold]{outcome.name}[/bold]: {outcome.parameters:,} parameters, {len(graphs)} graphs"
    for role, graph in zip(chain(("prompt", "token"), repeat("another")), graphs, strict=False):
        kernels, launches = len({x.kernel for x in graph.launches}), len(graph.launches) // graph.calls
        native = sum(graph.facts.native_ops.values())
        host = ", ".join(f"{n} × {op}" for op, n in graph.facts.host_ops.items()) or "none"
        time_us = sum(launch.run.time_us for launch in graph.launches) / graph.calls
        yield f"  {role}: {graph.facts.name}, {graph.calls} calls of {launches} launches ({kernels} kernels)"
        yield f"    operators: {native} native, host: {host}; simulated time {time_us:,.1f} µs a call"
    yield f"  largest error of the prompt's logits {outcome.error:.1e} of their maximum"
    yield f"  generated tokens equal: {'yes' if outcome.has_equal_tokens else 'no'} {outcome.device.tokens}"
    runs = [launch.run for launch in outcome.recording.launches]
    total, running = sum(outcome.device.seconds), sum(r.execute_ms + r.timing_ms for r in runs) / 1e3
    yield f"  wall time: compile {total - running:.1f} s, run (execution and timing) {running:.1f} s"


def main() -> int:
    """0 when the results are right, 1 otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--device", default=None)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    options = parser.parse_args()
    if options.device:
        headrace.use(device=options.device)
    console, start = Console(), time.perf_counter()
    console = Console(width=max(console.width, 120))  # the table needs the room
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    outcomes = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("generating", total=2 * options.tokens * len(options.types))
        for name in options.types:
            progress.update(task, description=f"generating in {name}")
            outcomes.append(run(name, options.layers, options.tokens, lambda: progress.advance(task)))
    for outcome in outcomes:
        for line in lines(outcome):
            console.print(line, highlight=False)
        console.print(cost_table(outcome))
    is_right = all(outcome.is_right for outcome in outcomes)
    console.print(
        f"{'right' if is_right else '[red]wrong[/red]'}, {time.perf_counter() - start:.0f} s in total"
    )
    return 0 if is_right else 1


if __name__ == "__main__":
    if main():
        raise SystemExit(1)
