# ruff: noqa: E501 (IR inside)
"""Constructs that the sample programs do not contain, each in a program of its own."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.check import sanitize
from headrace.machine.execute import execute
from headrace.numbers.memory import Memory
from tests.machine import samples

F16, F32 = np.float16, np.float32
ALIASES = """
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#once = affine_set<(d0) : (d0 == 0)>
#v64 = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
#row = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#down = affine_map<(d0) -> (d0, 0)>
#flat = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#zero2 = affine_map<(d0) -> (0, 0)>
#parallel = #ktdf.loop_type<parallel_loop>
#reduction = #ktdf.loop_type<reduction_loop>
"""
COPY = (
    "load_order = #i2, load_set = #row, load_time_addr_map = {0}, store_order = #i2, store_set = #row, "
    "store_time_addr_map = {1}, time_order = #i1"
)


def program(body: str, kinds: str = "mnilu mnisu l1lu sfu l1su", cores: int = 1, constants: str = "") -> str:
    """A module with handles %<kind><core> of corelet 0, %lx<core>, %hbm and constants %c<n>."""
    lines = [f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, *map(int, constants.split())})]
    for core in range(cores):
        for kind in kinds.split():
            name = f'name = "C{core}-{kind}", type = "{kind}"'
            lines.append(
                f"%{kind}{core} = dataflow.get_unit {{core = {core} : i32, corelet = 0 : i32, {name}}} : index"
            )
        lines.append(
            f'%lx{core} = dataflow.get_unit {{core = {core} : i32, name = "C{core}-lx", type = "lx"}} : index'
        )
    lines.append('%hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index')
    return ALIASES + "module {\nfunc.func @k() {\n" + "\n".join(lines) + body + "\nreturn\n}\n}\n"


def run(source: str, **inputs: tuple[int, np.ndarray]) -> Memory:
    """Runs a program that must also be clean under the sanitizer; inputs are (byte address, array)."""
    memory = Memory(1 << 18)
    for address, array in inputs.values():
        memory.bytes[address : address + array.nbytes] = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        )
    image = samples.image_of(source)
    assert sanitize(image, memory, {}) == []
    execute(image, memory, {})
    return memory


def array(memory: Memory, address: int, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return memory.bytes[address : address + size].view(dtype).reshape(shape)


def test_a_scalar_from_memory_steers_addresses_and_branches() -> None:
    """Rows of a table by a list in the scratchpad; negative entries leave the row as it is."""
    body = f"""
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {{
      %list = dataflow.get_logical_memory_view %hbm, %c1024 {{layout_map = #i1}} : index, index, memref<8xi32>
      %listl = dataflow.get_logical_memory_view %lx0, %c0 {{layout_map = #i1}} : index, index, memref<8xi32>
      agen.composite_load_and_store src:%list[0] dst:%listl[0]
       time_symbols(), load_iv(%v:vector<8xi32>)
       {{load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>, load_time_addr_map = affine_map<(d0) -> (0)>, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>, store_time_addr_map = affine_map<(d0) -> (0)>, time_order = #i1, time_set = #once}}
      {{
        agen.yield
      }} : memref<8xi32>, memref<8xi32>
      dataflow.sync_send %me {{wait_immediately_for_async_transfers = true}} : index
      %table = dataflow.get_logical_memory_view %hbm, %c0 {{layout_map = #flat}} : index, index, memref<16x64xf16>
      %out = dataflow.get_logical_memory_view %hbm, %c4096 {{layout_map = #flat}} : index, index, memref<8x64xf16>
      scf.for %r = %c0 to %c8 step %c1 {{
        %e = agen.vector_load %listl[%r] {{load_order = #i1, load_set = #once}} : memref<8xi32>, vector<1xi32>
        %i32 = vector.extract %e[0] : i32 from vector<1xi32>
        %i = arith.index_cast %i32 : i32 to index
        %ok = arith.cmpi sge, %i, %c0 : index
        scf.if %ok {{
          agen.composite_load_and_store src:%table[%i, 0] dst:%out[%r, 0]
           time_symbols(), load_iv(%v:vector<64xf16>)
           {{{COPY.format("#zero2", "#zero2")}, time_set = #once}}
          {{
            agen.yield
          }} : memref<16x64xf16>, memref<8x64xf16>
        }}
      }}
    }}"""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((16, 64)).astype(F16)
    rows = np.array([3, -1, 15, 0, 7, -1, 7, 2], np.int32)
    source = program(body, "mnilu", constants="8 1024 4096")
    memory = run(source, table=(0, table), rows=(4096, rows))
    want = np.where(rows[:, None] >= 0, table[rows], 0)
    np.testing.assert_array_equal(array(memory, 8192, (8, 64), F16), want)
    result = execute(samples.image_of(source), memory, {})
    assert list(result.trips.values()) == [[1, 0, 1, 1, 1, 0, 1, 1]]


def test_roles_of_a_chain_are_regions() -> None:
    body = """
    dataflow.program_unit iter_arg : %me -> (%sfu0, %sfu1, %sfu2) : {
      %z = arith.constant dense<1.0> : vector<64xf32>
      %r = uniform.uniformize_regions -> (vector<64xf32>) {
        (%u -> %sfu0) {
          dataflow.send %sfu1, %z {dir = #dataflow<direction Clockwise>} : vector<64xf32>
          uniform.yield %z : vector<64xf32>
        }
        (%u -> %sfu1) {
          %in = dataflow.receive %sfu0 : vector<64xf32>
          %s = vectorchain.binary %in, %z {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          dataflow.send %sfu2, %s {dir = #dataflow<direction Clockwise>} : vector<64xf32>
          uniform.yield %s : vector<64xf32>
        }
        (%u -> %sfu2) {
          %in = dataflow.receive %sfu1 : vector<64xf32>
          %s = vectorchain.binary %in, %z {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          uniform.yield %s : vector<64xf32>
        }
      }
      %last_map = uniform.def_immutable_mapping([%sfu0 -> %c0], [%sfu1 -> %c0], [%sfu2 -> %c1]):index
      %last = uniform.query_map(map:%last_map, key:%me) : index
      %is = arith.cmpi eq, %last, %c1 : index
      scf.if %is { dataflow.send %l1su2, %r : vector<64xf32> }
    }
    dataflow.program_unit iter_arg : %me -> (%l1su2) : {
      %yl = dataflow.get_logical_memory_view %lx2, %c0 {layout_map = #i1} : index, index, memref<64xf32>
      %y = dataflow.receive %sfu2 : vector<64xf32>
      agen.vector_store %y, %yl[0] {store_order = #i1, store_set = #v64} : memref<64xf32>, vector<64xf32>
      dataflow.sync_send %mnisu2 : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu2) : {
      %yl = dataflow.get_logical_memory_view %lx2, %c0 {layout_map = #flat} : index, index, memref<1x64xf32>
      %y = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = #flat} : index, index, memref<1x64xf32>
      dataflow.sync_recv %l1su2 : index
      agen.composite_load_and_store src:%yl[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<64xf32>)
       {COPY, time_set = #once}
      {
        agen.yield
      } : memref<1x64xf32>, memref<1x64xf32>
    }""".replace("COPY", COPY.format("#zero2", "#zero2"))
    memory = run(program(body, "sfu l1su mnisu", cores=3))
    assert array(memory, 0, (64,), F32).tolist() == [3.0] * 64


def _reader(kind: str, to: str, address: str, dtype: str, rows: int, before: str = "") -> str:
    """A DMA that brings `rows` rows of 64 to the scratchpad and a reader that sends them row by row."""
    view = f"memref<{rows}x64x{dtype}>"
    times = f"affine_set<(d0) : (d0 >= 0, -d0 + {rows - 1} >= 0)>" if rows > 1 else "#once"
    return f"""
    dataflow.program_unit iter_arg : %me -> (%{kind}0) : {{
      %x = dataflow.get_logical_memory_view %lx0, {address} {{layout_map = #flat}} : index, index, {view}
      dataflow.sync_recv %mnilu0 : index
      {before}
      agen.composite_load %x[0, 0] time_symbols()(%v:vector<64x{dtype}>)
       {{load_order = #i2, load_set = #row, time_addr_map = #down, time_order = #i1, time_set = {times}}}
      {{
        dataflow.send %{to}0, %v : vector<64x{dtype}>
        agen.yield
      }} : {view}
    }}"""


def _copy_in(*views: tuple[str, str, int, str]) -> str:
    """A DMA program that copies views (address, type, rows, consumer) to the same element address."""
    body = "\n    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {"
    for k, (address, dtype, rows, consumer) in enumerate(views):
        view = f"memref<{rows}x64x{dtype}>"
        times = f"affine_set<(d0) : (d0 >= 0, -d0 + {rows - 1} >= 0)>" if rows > 1 else "#once"
        body += f"""
      %s{k} = dataflow.get_logical_memory_view %hbm, {address} {{layout_map = #flat}} : index, index, {view}
      %d{k} = dataflow.get_logical_memory_view %lx0, {address} {{layout_map = #flat}} : index, index, {view}
      agen.composite_load_and_store src:%s{k}[0, 0] dst:%d{k}[0, 0]
       time_symbols(), load_iv(%v:vector<64x{dtype}>)
       {{{COPY.format("#down", "#down")}, time_set = {times}}}
      {{
        agen.yield
      }} : {view}, {view}
      dataflow.sync_send %{consumer}0 : index"""
    return body + "\n    }"


def _copy_out(kind: str, address: str, dtype: str) -> str:
    """A writer that stores one row to the scratchpad and a DMA that brings it to device memory."""
    return f"""
    dataflow.program_unit iter_arg : %me -> (%l1su0) : {{
      %y = dataflow.get_logical_memory_view %lx0, {address} {{layout_map = #i1}} : index, index, memref<64x{dtype}>
      %v = dataflow.receive %{kind}0 : vector<64x{dtype}>
      agen.vector_store %v, %y[0] {{store_order = #i1, store_set = #v64}} : memref<64x{dtype}>, vector<64x{dtype}>
      dataflow.sync_send %mnisu0 : index
    }}
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {{
      %s = dataflow.get_logical_memory_view %lx0, {address} {{layout_map = #flat}} : index, index, memref<1x64x{dtype}>
      %d = dataflow.get_logical_memory_view %hbm, {address} {{layout_map = #flat}} : index, index, memref<1x64x{dtype}>
      dataflow.sync_recv %l1su0 : index
      agen.composite_load_and_store src:%s[0, 0] dst:%d[0, 0]
       time_symbols(), load_iv(%v:vector<64x{dtype}>)
       {{{COPY.format("#zero2", "#zero2")}, time_set = #once}}
      {{
        agen.yield
      }} : memref<1x64x{dtype}>, memref<1x64x{dtype}>
    }}"""


def test_an_accumulator_stays_in_the_matrix_unit() -> None:
    """int8 products accumulate in i32 over a marked reduction loop (output stationary)."""
    body = _copy_in(("%c0", "i8", 4, "l0lu"), ("%c4096", "i8", 4, "xrflu"))
    body += _reader("l0lu", "pt", "%c0", "i8", 4) + _reader("xrflu", "pt", "%c4096", "i8", 4)
    body += """
    dataflow.program_unit iter_arg : %me -> (%pt0) : {
      %z = arith.constant dense<0> : vector<64xi32>
      %acc = scf.for %k = %c0 to %c4 step %c1 iter_args(%a = %z) -> (vector<64xi32>) {
        %x = dataflow.receive %l0lu0 : vector<64xi8>
        %w = dataflow.receive %xrflu0 : vector<64xi8>
        %n = vectorchain.multiply_and_accumulate %x, %w, %a {reduction_map = #i1} : vector<64xi8>, vector<64xi8>, vector<64xi32>, vector<64xi32>
        scf.yield %n : vector<64xi32>
      } {loop_type = #reduction}
      dataflow.send %sfu0, %acc : vector<64xi32>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {
      %v = dataflow.receive %pt0 : vector<64xi32>
      dataflow.send %l1su0, %v : vector<64xi32>
    }""" + _copy_out("sfu", "%c2048", "i32")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (4, 64)).astype(np.int8) for _ in range(2))
    kinds = "mnilu mnisu l0lu xrflu pt sfu l1su"
    memory = run(program(body, kinds, constants="4 2048 4096"), a=(0, a), b=(4096, b))
    want = (a.astype(np.int32) * b.astype(np.int32)).sum(0)
    np.testing.assert_array_equal(array(memory, 8192, (64,), np.int32), want)


@pytest.mark.parametrize("granularity", [1, 2, 3])
def test_interleaved_bursts_arrive_in_order(granularity: int) -> None:
    """Two tiles of 6 rows in bursts; the vector unit weighs message k with k + 1."""
    load = """agen.composite_load %{0}[0, 0] time_symbols()(%v:vector<64xf32>)
         {{load_order = #i2, load_set = #row, time_addr_map = #down, time_order = #i1, time_set = #t6}}
        {{
          dataflow.send %sfu0, %v : vector<64xf32>
          agen.yield
        }} : memref<6x64xf32>"""
    body = _copy_in(("%c0", "f32", 12, "l1lu"))
    body += f"""
    dataflow.program_unit iter_arg : %me -> (%l1lu0) : {{
      %x = dataflow.get_logical_memory_view %lx0, %c0 {{layout_map = #flat}} : index, index, memref<6x64xf32>
      %y = dataflow.get_logical_memory_view %lx0, %c384 {{layout_map = #flat}} : index, index, memref<6x64xf32>
      dataflow.sync_recv %mnilu0 : index
      agen.composite_memory_interleave {{granularity = {granularity} : i32}} {{
        {load.format("x")}
        {load.format("y")}
        agen.yield
      }}
    }}
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {{
      %z = arith.constant dense<0.0> : vector<64xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%a = %z) -> (vector<64xf32>) {{
        %v = dataflow.receive %l1lu0 : vector<64xf32>
        %k1 = arith.addi %k, %c1 : index
        %i = arith.index_cast %k1 : index to i32
        %f = arith.sitofp %i : i32 to f32
        %w = vector.broadcast %f : f32 to vector<64xf32>
        %p = vectorchain.binary %v, %w {{binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1}} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %n = vectorchain.binary %a, %p {{binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1}} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        scf.yield %n : vector<64xf32>
      }} {{loop_type = #reduction}}
      dataflow.send %l1su0, %sum : vector<64xf32>
    }}""" + _copy_out("sfu", "%c2048", "f32")
    source = program(body, constants="12 384 2048").replace(
        "#once =", "#t6 = affine_set<(d0) : (d0 >= 0, -d0 + 5 >= 0)>\n#once =", 1
    )
    x = np.random.default_rng(0).integers(-8, 8, (12, 64)).astype(F32)
    memory = run(source, x=(0, x))
    order = [6 * s + t + j for t in range(0, 6, granularity) for s in (0, 1) for j in range(granularity)]
    want = (x[order] * np.arange(1, 13, dtype=F32)[:, None]).sum(0)
    np.testing.assert_array_equal(array(memory, 8192, (64,), F32), want)


def test_a_layout_that_is_not_linear_is_followed_element_by_element() -> None:
    """Rows of 64 stored as two sticks of 32 that lie 8 rows apart."""
    stick = "affine_map<(d0, d1) -> ((d1 floordiv 32) * 256 + d0 * 32 + d1 mod 32)>"
    body = f"""
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {{
      %x = dataflow.get_logical_memory_view %hbm, %c0 {{layout_map = {stick}}} : index, index, memref<8x64xf16>
      %y = dataflow.get_logical_memory_view %hbm, %c4096 {{layout_map = #flat}} : index, index, memref<8x64xf16>
      agen.composite_load_and_store src:%x[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {{{COPY.format("#down", "#down")}, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}}
      {{
        agen.yield
      }} : memref<8x64xf16>, memref<8x64xf16>
    }}"""
    x = np.random.default_rng(0).standard_normal((2, 8, 32)).astype(F16)
    memory = run(program(body, "mnilu", constants="4096"), x=(0, x))
    np.testing.assert_array_equal(array(memory, 8192, (8, 64), F16), x.transpose(1, 0, 2).reshape(8, 64))


def test_uneven_shares_run_in_groups_of_equal_trip_counts() -> None:
    body = f"""
    dataflow.program_unit iter_arg : %me -> (%mnilu0, %mnilu1, %mnilu2) : {{
      %n_map = uniform.def_immutable_mapping([%mnilu0 -> %c3], [%mnilu1 -> %c3], [%mnilu2 -> %c2]):index
      %n = uniform.query_map(map:%n_map, key:%me) : index
      %at_map = uniform.def_immutable_mapping([%mnilu0 -> %c0], [%mnilu1 -> %c3], [%mnilu2 -> %c6]):index
      %at = uniform.query_map(map:%at_map, key:%me) : index
      %x = dataflow.get_logical_memory_view %hbm, %c0 {{layout_map = #flat}} : index, index, memref<8x64xf16>
      %y = dataflow.get_logical_memory_view %hbm, %c4096 {{layout_map = #flat}} : index, index, memref<8x64xf16>
      scf.for %r = %c0 to %n step %c1 {{
        agen.composite_load_and_store src:%x[%at + %r, 0] dst:%y[%at + %r, 0]
         time_symbols(), load_iv(%v:vector<64xf16>)
         {{{COPY.format("#zero2", "#zero2")}, time_set = #once}}
        {{
          agen.yield
        }} : memref<8x64xf16>, memref<8x64xf16>
      }}
    }}"""
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(F16)
    memory = run(program(body, "mnilu", cores=3, constants="2 3 6 4096"), x=(0, x))
    np.testing.assert_array_equal(array(memory, 8192, (8, 64), F16), x)


def test_a_channel_the_device_does_not_have_is_a_fault() -> None:
    body = """
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {
      %z = arith.constant dense<1.0> : vector<64xf32>
      dataflow.send %l1lu0, %z : vector<64xf32>
    }"""
    with pytest.raises(HeadraceError, match="no path from SFU to L1LU"):
        samples.image_of(program(body))


@pytest.mark.parametrize(
    ("name", "function"), [("sqrt", np.sqrt), ("softplus", lambda x: np.log1p(np.exp(x)))]
)
def test_opaque_functions_work_on_numbered_registers(name: str, function) -> None:  # type: ignore[no-untyped-def]
    body = f"""
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {{
      %reg = dataflow.get_local_unit %me {{name = "sfu_reg"}} : index
      %a = dataflow.get_logical_memory_view %reg, %c64 {{layout_map = #i1}} : index, index, memref<64xf32>
      %d = dataflow.get_logical_memory_view %reg, %c128 {{layout_map = #i1}} : index, index, memref<64xf32>
      %x = arith.constant dense<2.0> : vector<64xf32>
      agen.vector_store %x, %a[0] {{store_order = #i1, store_set = #v64}} : memref<64xf32>, vector<64xf32>
      dataflow.opaque {{func_name = "{name}", parameter_dictionary = {{elements = "64", type = "f32"}}, read_only_register_dictionary = {{a = "R2"}}, read_write_register_dictionary = {{d = "R4"}}}}
      %y = agen.vector_load %d[0] {{load_order = #i1, load_set = #v64}} : memref<64xf32>, vector<64xf32>
      dataflow.send %l1su0, %y : vector<64xf32>
    }}""" + _copy_out("sfu", "%c2048", "f32")
    memory = run(program(body, constants="64 128 2048"))
    np.testing.assert_allclose(array(memory, 8192, (64,), F32), function(F32([2.0] * 64)), rtol=1e-6)


def test_an_unknown_opaque_function_is_a_fault() -> None:
    body = """
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {
      dataflow.opaque {func_name = "mystery", parameter_dictionary = {}, read_only_register_dictionary = {}, read_write_register_dictionary = {}}
    }"""
    with pytest.raises(HeadraceError, match="unknown function mystery"):
        samples.image_of(program(body))


@pytest.mark.parametrize(
    ("mark", "offset", "found"),
    [("{loop_type = #parallel}", 1, 1), ("", 1, 0), ("{loop_type = #parallel}", 0, 0)],
)
def test_iterations_of_a_marked_loop_must_not_meet(mark: str, offset: int, found: int) -> None:
    """Row r of a register array is read and row r + offset stored."""
    body = f"""
    dataflow.program_unit iter_arg : %me -> (%sfu0) : {{
      %reg = dataflow.get_local_unit %me {{name = "sfu_reg"}} : index
      %m = dataflow.get_logical_memory_view %reg, %c0 {{layout_map = #i1}} : index, index, memref<64xf32>
      %x = arith.constant dense<2.0> : vector<64xf32>
      agen.vector_store %x, %m[0] {{store_order = #i1, store_set = #v64}} : memref<64xf32>, vector<64xf32>
      scf.for %r = %c0 to %c8 step %c1 {{
        %o = agen.vector_load %m[%r] {{load_order = #i1, load_set = #once}} : memref<64xf32>, vector<1xf32>
        %n = vectorchain.binary %o, %o {{binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1}} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        agen.vector_store %n, %m[%r + {offset}] {{store_order = #i1, store_set = #once}} : memref<64xf32>, vector<1xf32>
      }} {mark}
    }}"""
    findings = sanitize(samples.image_of(program(body, constants="8")), Memory(1 << 12), {})
    assert len(findings) == found
    assert all("touches what another one stores" in f.message for f in findings)
