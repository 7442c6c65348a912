"""What decode makes of DFIR texts: the same image from any spelling, faults with a place."""

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse, print_module
from headrace.machine.decode import decode
from headrace.machine.image import Contract, Copy, Loop, Read, Reduce, Write, walk
from tests.machine import samples

NAMES = [f.__name__ for f in samples.ALL]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
def test_printing_and_parsing_keeps_the_image(name: str, generic: bool) -> None:
    spyre = device("spyre")
    module = parse(samples.text(name))
    again = parse(print_module(module, generic=generic))
    assert decode(again, spyre) == decode(module, spyre)


def _programs(name: str, kind: str):  # type: ignore[no-untyped-def]
    image = samples.image_of(samples.text(name))
    return [p for s in image.schedules for p in s.programs if p.kind == kind]


def test_alike_instances_share_one_program() -> None:
    (program,) = _programs("elementwise", "SFU")
    assert len(program.instances) == 4
    assert all(len(values) == 4 for _, values in program.tables)


def test_a_tile_is_one_strided_box_in_bytes() -> None:
    (program,) = _programs("elementwise", "MNILU")
    tile = next(n for n in walk(program.body) if isinstance(n, Copy) and n.source.times)
    assert [(d.extent.constant, d.stride) for d in tile.source.times] == [(8, 400)]
    assert [(d.extent.constant, d.stride) for d in tile.target.run] == [(200, 2)]
    assert tile.source.contiguous_bytes == 3200
    assert tile.target.contiguous_bytes == 400


def test_interleaved_loads_are_one_read_with_streams_in_order() -> None:
    (program,) = _programs("elementwise", "L1LU")
    read = next(n for n in walk(program.body) if isinstance(n, Read) and len(n.streams) == 2)
    assert [s.lanes for s in read.streams] == [200, 1]


def test_a_column_read_is_strided() -> None:
    (program,) = _programs("transpose", "L1LU")
    read = next(n for n in walk(program.body) if isinstance(n, Read))
    assert not read.streams[0].box.is_contiguous_run
    assert read.streams[0].box.contiguous_bytes == 2


def test_select_and_multiply_is_a_contraction() -> None:
    (program,) = _programs("matmul", "PT")
    found = [n for n in walk(program.body) if isinstance(n, Contract)]
    assert [(n.equation, n.k, n.n, n.addend is None) for n in found] == [
        ("a,ab->b", 256, 64, True),
        ("a,ab->b", 256, 64, False),
    ]


def test_the_last_lane_of_a_scan_is_a_row_reduction() -> None:
    (program,) = _programs("softmax", "SFU")
    assert [n.function for n in walk(program.body) if isinstance(n, Reduce)] == ["max", "add"]


def test_marks_of_loops_are_kept() -> None:
    (program,) = _programs("dynamic", "SFU")
    assert [n.kind for n in walk(program.body) if isinstance(n, Loop)] == ["reduction"]


def test_a_lone_load_and_send_is_a_transfer_of_one_message() -> None:
    (program,) = _programs("matmul", "XRFLU")
    read = next(n for n in walk(program.body) if isinstance(n, Read))
    assert read.streams[0].box.times == ()
    assert read.streams[0].lanes == 256 * 64


def test_a_lone_receive_and_store_is_a_transfer_of_one_message() -> None:
    (program,) = _programs("ring_reduce", "L1SU")
    assert isinstance(program.body[0], Write)


def test_resident_bytes_are_known() -> None:
    image = samples.image_of(samples.text("resident"))
    assert [(r.name, r.address, r.bytes) for r in image.schedules[0].lx_out] == [("h", 2048, 2048)]
    assert image.schedules[1].lx_in == image.schedules[0].lx_out


def test_channels_have_the_capacity_of_their_link() -> None:
    image = samples.image_of(samples.text("matmul"))
    kinds = {
        (image.instances[c.sender].kind, image.instances[c.receiver].kind): c.capacity_bytes
        for c in image.channels
    }
    assert kinds["XRFLU", "PT"] == 32768
    assert kinds["L1LU", "SFU"] == 2048


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type = "sfu"', 'type = "vpu"', "has no unit or memory of type vpu"),
        ("load_order = #i2", "load_order = affine_map<(d0, d1) -> (d0 + d1, d1)>", "not a permutation"),
        ("vectorchain.fast_exp %d", "math.ctpop %d", "ctpop"),
    ],
)
def test_what_cannot_run_is_a_fault_with_a_place(old: str, new: str, message: str) -> None:
    source = samples.text("softmax").replace(old, new)
    with pytest.raises(HeadraceError, match=message) as error:
        samples.image_of(source)
    where = error.value.diagnostics[0].where
    assert where is not None and where.line > 0


WHILE = """
    %w = scf.while (%x = %c0) : (index) -> index {
      %go = arith.cmpi slt, %x, %c0 : index
      scf.condition(%go) %x : index
    } do {
    ^bb0(%x: index):
      scf.yield %x : index
    }
"""


def test_a_loop_that_is_not_executed_is_named_before_anything_runs() -> None:
    source = samples.text("softmax")
    at = source.index("\n", source.index("dataflow.program_unit"))
    with pytest.raises(HeadraceError, match="scf.while.*not executed|not executed.*scf.while") as error:
        samples.image_of(source[:at] + WHILE + source[at:])
    where = error.value.diagnostics[0].where
    assert where is not None and where.line == source[:at].count("\n") + 2


def test_the_entry_must_be_named_where_there_are_several() -> None:
    source = samples.text("resident").replace("call @local_schedule_1() : () -> ()", "")
    with pytest.raises(HeadraceError, match="several functions"):
        samples.image_of(source)
