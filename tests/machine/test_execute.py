"""Sample programs run on the machine and compared with NumPy; faults are errors that say where."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.execute.access import NotUniform
from headrace.machine.execute.arenas import new_scratchpads
from headrace.machine.execute.execution import Execution
from headrace.machine.execute.team import Team
from tests.machine import samples
from tests.machine.samples import Sample


@pytest.mark.parametrize("is_generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("make", samples.ALL, ids=lambda f: f.__name__)
def test_sample_program_gives_what_numpy_gives(make: Callable[[], Sample], is_generic: bool) -> None:
    sample = make()
    memory = sample.memory()
    image = samples.image_of(samples.text(sample.name, is_generic))
    scalars = dict(zip((a.name for a in image.arguments), dict(sample.scalars).values(), strict=True))
    execute(image, memory, scalars)
    sample.check(memory)


@pytest.mark.parametrize("n", [1, 255, 256, 257])
def test_run_time_length_leaves_no_lane_out(n: int) -> None:
    sample = samples.dynamic(n)
    memory = sample.memory()
    execute(samples.image_of(samples.text("dynamic")), memory, dict(sample.scalars))
    sample.check(memory)


@pytest.mark.parametrize("name", ["elementwise", "softmax", "matmul", "attention", "dynamic", "resident"])
def test_loops_give_the_same_iteration_by_iteration(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = getattr(samples, name)()
    memory = sample.memory()
    monkeypatch.setattr("headrace.machine.execute.handlers.run_marked", lambda run, team, node: None)
    execute(samples.image_of(samples.text(name)), memory, dict(sample.scalars))
    sample.check(memory)


@pytest.mark.parametrize("name", ["elementwise", "multicast", "ring_reduce", "matmul"])
@pytest.mark.parametrize("after", [1, 7, 12])
def test_teams_can_be_run_apart_at_any_time(name: str, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = getattr(samples, name)()
    memory = sample.memory()
    advance, calls = Execution._advance, iter(range(1, 10**6))

    def split_once(run: Execution, team: Team) -> bool:
        if next(calls) == after:
            raise NotUniform
        return advance(run, team)

    monkeypatch.setattr(Execution, "_advance", split_once)
    execute(samples.image_of(samples.text(name)), memory, dict(sample.scalars))
    sample.check(memory)


def test_a_chain_over_instances_of_one_program_does_not_stall() -> None:
    """Core 1 starts when core 0 has ended, though both run the same code."""
    program = samples.text("multicast").replace(
        "%l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index",
        """%l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %prev_map = uniform.def_immutable_mapping([%mnilu0 -> %mnilu1], [%mnilu1 -> %mnilu0]):index
      %prev = uniform.query_map(map:%prev_map, key:%me) : index
      %first_map = uniform.def_immutable_mapping([%mnilu0 -> %c0], [%mnilu1 -> %c1]):index
      %first = uniform.query_map(map:%first_map, key:%me) : index
      %waits = arith.cmpi ne, %first, %c0 : index
      scf.if %waits { dataflow.sync_recv %prev {dbgName = "turn"} : index }""",
        1,
    )
    program = program.replace(
        'dataflow.sync_send %l1lu {dbgName = "full"} : index',
        """dataflow.sync_send %l1lu {dbgName = "full"} : index
      scf.if %waits { } else { dataflow.sync_send %prev {dbgName = "turn"} : index }""",
        1,
    )
    sample = samples.multicast()
    memory = sample.memory()
    execute(samples.image_of(program), memory, {})
    sample.check(memory)


def test_missing_argument_is_named() -> None:
    with pytest.raises(HeadraceError, match="no value for argument px"):
        execute(samples.image_of(samples.text("dynamic")), samples.dynamic().memory(), {})


def test_deadlock_names_both_sides_and_the_line() -> None:
    source = samples.text("softmax").replace('dataflow.sync_send %l1lu {dbgName = "full.x"} : index', "", 1)
    with pytest.raises(HeadraceError) as error:
        execute(samples.image_of(source), samples.softmax().memory(), {})
    text = str(error.value)
    line = next(k for k, t in enumerate(source.split("\n"), 1) if "sync_recv %mnilu" in t)
    assert f":{line}:" in text
    assert "C0-l1lu-CL0 waits for a signal full.x from C0-mnilu, which has ended" in text


def test_cycle_of_waits_is_spelled_out() -> None:
    source = samples.text("softmax").replace(
        'dataflow.sync_send %l1lu {dbgName = "full.x"} : index',
        'dataflow.sync_recv %l1lu {dbgName = "go"} : index\n'
        'dataflow.sync_send %l1lu {dbgName = "full.x"} : index',
        1,
    )
    with pytest.raises(HeadraceError, match="cycle of waits: C0-mnilu -> C0-l1lu-CL0 -> C0-mnilu"):
        execute(samples.image_of(source), samples.softmax().memory(), {})


def test_messages_left_over_are_an_error() -> None:
    source = re.sub(r"scf\.for %r = %c0 to %c16", "scf.for %r = %c1 to %c16", samples.text("softmax"))
    with pytest.raises(HeadraceError, match="1 messages from C0-l1lu-CL0 to C0-sfu-CL0|waits for a message"):
        execute(samples.image_of(source), samples.softmax().memory(), {})


def test_signals_left_over_are_an_error() -> None:
    signal = 'dataflow.sync_send %l1lu {dbgName = "full.x"} : index'
    source = samples.text("softmax").replace(signal, f"{signal}\n{signal}", 1)
    with pytest.raises(HeadraceError, match="1 signals from C0-mnilu to C0-l1lu-CL0"):
        execute(samples.image_of(source), samples.softmax().memory(), {})


def test_message_of_the_wrong_type_is_an_error() -> None:
    source = samples.text("transpose").replace(
        "%x = dataflow.receive %l1lu : vector<48xf16>", "%x = dataflow.receive %l1lu : vector<24xf32>"
    )
    source = source.replace(
        "dataflow.send %l1su, %x : vector<48xf16>", "dataflow.send %l1su, %x : vector<24xf32>"
    )
    with pytest.raises(HeadraceError, match="48 x f16 from C0-l1lu-CL0 where 24 x f32 is expected"):
        execute(samples.image_of(source), samples.transpose().memory(), {})


def test_index_beyond_the_table_is_an_error() -> None:
    sample = samples.gather()
    memory = sample.memory()
    memory.bytes[128000:128004] = np.array([1000], np.int32).view(np.uint8)
    with pytest.raises(HeadraceError, match="index 1000 is outside 0..999"):
        execute(samples.image_of(samples.text("gather")), memory, {})


def test_access_beyond_the_scratchpad_is_an_error() -> None:
    source = samples.text("transpose").replace(
        "%c3072 = arith.constant 3072", "%c3072 = arith.constant 1048000"
    )
    with pytest.raises(HeadraceError, match="outside lx of 2097152 bytes|outside ddr"):
        execute(samples.image_of(source), samples.transpose().memory(), {})


def test_scratchpads_keep_their_bytes_between_calls() -> None:
    first = samples.text("resident").replace("call @local_schedule_1() : () -> ()", "")
    second = samples.text("resident").replace("call @local_schedule_0() : () -> ()", "")
    sample = samples.resident()
    memory = sample.memory()
    pads = new_scratchpads(decode(parse(first), device("spyre"), "kernel"))
    execute(decode(parse(first), device("spyre"), "kernel"), memory, {}, pads)
    execute(samples.image_of(samples.text("softmax")), samples.softmax().memory(), {})
    execute(decode(parse(second), device("spyre"), "kernel"), memory, {}, pads)
    sample.check(memory)
