"""What a recording keeps of compiled code that ran: its graphs, their launches, and what ran on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class GraphFacts:
    """What is known of a compiled graph before it runs; a literal of these stands in the generated code.

    `native_ops` and `host_ops` count the graph's ATen operators: in our kernels, and on the host;
    `host_sources` gives a source line for each operator of the latter, `host_reasons` why it is there,
    `host_operands` the types and shapes it takes.
    """

    name: str
    native_ops: Mapping[str, int] = field(default_factory=dict)
    host_ops: Mapping[str, int] = field(default_factory=dict)
    host_sources: Mapping[str, str] = field(default_factory=dict)
    host_reasons: Mapping[str, str] = field(default_factory=dict)
    host_operands: Mapping[str, str] = field(default_factory=dict)

    def why(self, name: str) -> str:
        """What a host operator takes and why it runs there."""
        taken = self.host_operands.get(name, "")
        reason = self.host_reasons.get(name, "no native form")
        return f"on {taken}: {reason}" if taken else reason


@dataclass(frozen=True)
class Launch:
    """One launch of one kernel: where it comes from, every level it went through, and what it cost.

    `program` is the loop program (a literal), `compiled` what the compiler made of it (None under a test
    engine), `run` the result of the launch.
    """

    kernel: str
    source: str
    operators: tuple[str, ...]
    program: Mapping[str, Any]
    compiled: Any
    run: Any

    @property
    def ktir(self) -> str:
        """The KTIR text, "" when the engine does not compile."""
        return str(getattr(self.compiled, "ktir", ""))

    @property
    def plan(self) -> Any:
        """The scheduler's plan, None when the engine does not compile."""
        return getattr(self.compiled, "plan", None)

    @property
    def dfir(self) -> str:
        """The DFIR text, "" when the engine does not compile."""
        return str(getattr(self.compiled, "dfir", ""))


@dataclass
class GraphRecord:
    """A compiled graph that ran while recording: its facts, how often it ran, its launches in order.

    `fallback_ops` counts what ran on the host, `fallback_reasons` says why, by operator.
    """

    facts: GraphFacts
    calls: int = 0
    launches: list[Launch] = field(default_factory=list)
    fallback_ops: Counter[str] = field(default_factory=Counter)
    fallback_reasons: dict[str, str] = field(default_factory=dict)


@dataclass
class Recording:
    """Everything compiled code did between `with headrace.record()` and its end.

    `eager_ops` are operators outside compiled graphs (they run on the host), `transfers` counts copies to or
    from the device.
    """

    graphs: list[GraphRecord] = field(default_factory=list)
    eager_ops: Counter[str] = field(default_factory=Counter)
    transfers: int = 0
    graph_breaks: Counter[str] = field(default_factory=Counter)

    @property
    def launches(self) -> list[Launch]:
        """All launches, graph by graph."""
        return [launch for graph in self.graphs for launch in graph.launches]

    @property
    def fallback_ops(self) -> Counter[str]:
        """Operators of compiled graphs that ran on the host, by name."""
        return sum((graph.fallback_ops for graph in self.graphs), Counter())

    @property
    def fallback_reasons(self) -> dict[str, str]:
        """Why the operators of `fallback_ops` ran there, by name."""
        return {op: why for graph in self.graphs for op, why in graph.fallback_reasons.items()}

    def graph(self, facts: GraphFacts) -> GraphRecord:
        """The record of the graph with these facts, made when it is new."""
        for known in self.graphs:
            if known.facts == facts:
                return known
        self.graphs.append(GraphRecord(facts))
        return self.graphs[-1]
