"""Programs as another scheduler writes them: five units, rendezvous signals, one vector a step."""

import numpy as np
import pytest
from benchmarks.kernels.by_vectors import KINDS, LANES, Stream

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.machine.check import sanitize
from headrace.machine.decode import decode
from headrace.machine.execute import execute, handlers
from headrace.machine.image import Image
from headrace.numbers.memory import Memory

PROGRAMS = [Stream(kind, cores, 3 if cores == 2 else 2, 2) for kind in KINDS for cores in (2, 32)]
NAMES = [f"{s.kind} on {s.cores}" for s in PROGRAMS]


def _image(stream: Stream, text: str = "") -> Image:
    module = parse(text or stream.text())
    assert [d for d in verify(module) if d.severity == "error"] == []
    return decode(module, device("spyre"))


def _array(stream: Stream, memory: Memory, operand: int, rows: int = 0) -> np.ndarray:
    start = stream.address(operand)
    size = (rows or stream.vectors) * LANES
    return memory.bytes.view(np.float16)[start : start + size].reshape(-1, LANES)


def _memory(stream: Stream) -> tuple[Memory, np.ndarray]:
    """Device memory with random operands, and what the program must put behind them."""
    memory = Memory((KINDS[stream.kind] + 1) * stream.vectors * LANES * 2)
    random = np.random.default_rng(0)
    found = [_array(stream, memory, o) for o in range(KINDS[stream.kind])]
    for x in found:
        x[...] = random.standard_normal(x.shape)
    match stream.kind:
        case "add":
            want = found[0] + found[1]
        case "chain":
            want = (found[0] + found[1]) * found[2]
        case _:
            want = found[0] * found[1][:1]
    return memory, want


@pytest.mark.parametrize("stream", PROGRAMS, ids=NAMES)
def test_a_program_by_vectors_gives_what_numpy_gives(stream: Stream) -> None:
    memory, want = _memory(stream)
    execute(_image(stream), memory, {})
    assert (_array(stream, memory, KINDS[stream.kind]) == want).all()


@pytest.mark.parametrize("stream", PROGRAMS, ids=NAMES)
def test_a_program_by_vectors_is_clean(stream: Stream) -> None:
    memory, _ = _memory(stream)
    assert sanitize(_image(stream), memory, {}) == []


@pytest.mark.parametrize("kind", KINDS)
def test_loops_of_single_vectors_run_at_once_with_the_same_result(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(kind, 2, 3, 12)
    image = _image(stream)
    memory, want = _memory(stream)
    calls = []
    whole = handlers.HANDLERS

    def counted(node_kind: type) -> object:
        def run(*args: object) -> bool:
            calls.append(node_kind)
            return whole[node_kind](*args)  # type: ignore[arg-type]

        return run

    def run(is_folding: bool) -> int:
        calls.clear()
        _array(stream, memory, KINDS[kind])[...] = 0
        monkeypatch.setattr("headrace.machine.execute.execution.Execution.is_folding_unmarked", is_folding)
        monkeypatch.setattr("headrace.machine.execute.run.HANDLERS", {k: counted(k) for k in whole})
        execute(image, memory, {})
        assert (_array(stream, memory, KINDS[kind]) == want).all()
        return len(calls)

    assert run(True) * 3 < run(False)


@pytest.mark.parametrize("unit", ["l1lu", "l1su"])
def test_a_lost_rendezvous_is_found(unit: str) -> None:
    """One side of one pair neither sends nor waits any more: races, or a deadlock."""
    stream = Stream("add", 2, 3, 2)
    parts = stream.text().split("dataflow.program_unit")
    at = next(k for k, part in enumerate(parts) if part.lstrip().startswith(f"iter_arg : %me -> (%{unit}0_0"))
    lines = [line for line in parts[at].split("\n") if "dataflow.sync_" not in line]
    parts[at] = "\n".join(lines)
    memory, _ = _memory(stream)
    try:
        found = sanitize(_image(stream, "dataflow.program_unit".join(parts)), memory, {})
    except HeadraceError as error:
        pytest.fail(str(error))
    assert {f.category for f in found} & {"races", "deadlocks"}
