"""DFIR as another scheduler writes it: five unit programs, rendezvous signals, one vector a step.

Every core streams tiles of 2 x `rows` vectors of 64 f16, half of them through each corelet, through two
copies of every buffer that change places by an address carried through the loop. No loop is marked, no op
moves more than a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

LANES = 64
KINDS = {"add": 2, "chain": 3, "row_multiply": 2}
"""Operands of every program: a + b, (a + b) * c, x * row (the row is the last operand)."""


@dataclass(frozen=True)
class Stream:
    """One program: its size, and where its arrays lie (element addresses of operands and result)."""

    kind: str
    cores: int
    tiles: int
    rows: int

    @property
    def vectors(self) -> int:
        """Rows of every operand, over all cores."""
        return self.cores * self.tiles * 2 * self.rows

    def address(self, operand: int) -> int:
        """Element address of an operand; the result comes after the last."""
        return operand * self.vectors * LANES

    @property
    def streamed(self) -> int:
        """How many operands are read tile by tile."""
        return KINDS[self.kind] - (self.kind == "row_multiply")

    def text(self) -> str:
        """The module."""
        units = "\n".join(
            _unit(core, kind, corelet) for core in range(self.cores) for kind, corelet in _UNITS
        )
        lx = "\n".join(
            f'%lx{c} = dataflow.get_unit {{core = {c} : i32, name = "C{c}-lx", type = "lx"}} : index'
            for c in range(self.cores)
        )
        constants = sorted({0, 1, *(_sizes(self).values()), *self._starts()})
        named = "\n".join(f"%c{n} = arith.constant {n} : index" for n in constants)
        programs = "\n".join((_loader(self), _reader(self), _vector_unit(self), _writer(self), _storer(self)))
        return _MODULE.substitute(units=units, lx=lx, constants=named, programs=programs, cores=self.cores)

    def _starts(self) -> list[int]:
        share = self.tiles * 2 * self.rows * LANES
        return [
            self.address(o) + c * share for o in range(len(self._operands()) + 1) for c in range(self.cores)
        ]

    def _operands(self) -> range:
        return range(KINDS[self.kind])


_UNITS = (
    ("mnilu", None),
    ("mnisu", None),
    ("l1lu", 0),
    ("l1lu", 1),
    ("sfu", 0),
    ("sfu", 1),
    ("l1su", 0),
    ("l1su", 1),
)
_MODULE = Template("""
#linear = affine_map<(d0) -> (d0)>
#same = affine_map<(d0, d1) -> (d0, d1)>
#here = affine_map<(d0) -> (d0, 0)>
#rows = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#once = affine_set<(d0) : (d0 == 0)>
#vector = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
module {
  func.func @local_schedule_0() attributes {grid = [$cores]} {
$constants
%hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
$units
$lx
$programs
    return
  }
}
""")


def _unit(core: int, kind: str, corelet: int | None) -> str:
    name = f"C{core}-{kind}" + ("" if corelet is None else f"-CL{corelet}")
    return (
        f"%{kind}{core}_{corelet or 0} = dataflow.get_unit "
        f"{{core = {core} : i32, corelet = {corelet or 0} : i32, "
        f'name = "{name}", type = "{kind}"}} : index'
    )


def _sizes(stream: Stream) -> dict[str, int]:
    """Numbers of the program: extents, and element addresses in the scratchpad."""
    tile = 2 * stream.rows * LANES
    count = KINDS[stream.kind] + 1
    return {
        "tiles": stream.tiles,
        "rows": stream.rows,
        "tile_rows": 2 * stream.rows,
        "tile": tile,
        "share": stream.rows * LANES,
        **{f"buffer{o}": o * 2 * tile for o in range(count)},
    }


def _members(stream: Stream, kind: str, corelets: Sequence[int]) -> list[tuple[int, int, str]]:
    return [(c, cl, f"%{kind}{c}_{cl}") for c in range(stream.cores) for cl in corelets]


def _map(name: str, entries: Sequence[tuple[str, str]]) -> str:
    pairs = ", ".join(f"[{key} -> {value}]" for key, value in entries)
    return (
        f"%{name}_map = uniform.def_immutable_mapping({pairs}):index\n"
        f"%{name} = uniform.query_map(map:%{name}_map, key:%me) : index\n"
    )


def _program(members: Sequence[tuple[int, int, str]], body: str) -> str:
    names = ", ".join(name for _, _, name in members)
    return f"dataflow.program_unit iter_arg : %me -> ({names}) : {{\n{body}}}\n"


def _view(name: str, memory: str, start: str, rows: int) -> str:
    return (
        f"%{name} = dataflow.get_logical_memory_view %{memory}, {start} {{layout_map = #rows}} "
        f": index, index, memref<{rows}x64xf16>\n"
    )


def _copy(source: str, at: str, from_rows: int, target: str, to: str, to_rows: int) -> str:
    return f"""agen.composite_load_and_store src:%{source}[{at}, 0] dst:%{target}[{to}, 0]
 time_symbols(), load_iv(%v:vector<64xf16>)
 {{load_order = #same, load_set = #vector, load_time_addr_map = #here, store_order = #same,
  store_set = #vector, store_time_addr_map = #here, time_order = #linear, time_set = #once}}
{{
  agen.yield
}} : memref<{from_rows}x64xf16>, memref<{to_rows}x64xf16>
"""


def _rendezvous(peers: Sequence[str]) -> str:
    """Both sides send, then wait."""
    sends = "".join(
        f"dataflow.sync_send %{p} {{wait_immediately_for_async_transfers = true}} : index\n" for p in peers
    )
    return sends + "".join(f"dataflow.sync_recv %{p} : index\n" for p in peers)


def _loader(stream: Stream) -> str:
    """Device memory to the copy of every buffer that nobody reads."""
    n, members = _sizes(stream), _members(stream, "mnilu", (0,))
    share = stream.tiles * n["tile"]
    body = _map("lx", [(m, f"%lx{c}") for c, _, m in members])
    body += "".join(_map(f"peer{k}", [(m, f"%l1lu{c}_{k}") for c, _, m in members]) for k in (0, 1))
    for o in range(stream.streamed):
        starts = [(m, f"%c{stream.address(o) + c * share}") for c, _, m in members]
        body += _map(f"start{o}", starts) + _view(f"g{o}", "hbm", f"%start{o}", share // LANES)
    if stream.streamed < KINDS[stream.kind]:
        last = stream.streamed
        body += _view("grow", "hbm", f"%c{stream.address(last)}", 1) + _view(
            "lrow", "lx", f"%c{n[f'buffer{last}']}", 1
        )
        body += _copy("grow", "%c0", 1, "lrow", "%c0", 1)
    body += (
        f"%end = scf.for %t = %c0 to %c{stream.tiles} step %c1 iter_args(%a = %c{n['tile']}) -> (index) {{\n"
    )
    body += f"%now = arith.subi %c{n['tile']}, %a : index\n"
    for o in range(stream.streamed):
        body += f"%at{o} = arith.addi %now, %c{n[f'buffer{o}']} : index\n" + _view(
            f"l{o}", "lx", f"%at{o}", 2 * stream.rows
        )
    body += f"scf.for %r = %c0 to %c{n['tile_rows']} step %c1 {{\n"
    for o in range(stream.streamed):
        body += _copy(f"g{o}", f"%t * {n['tile_rows']} + %r", share // LANES, f"l{o}", "%r", 2 * stream.rows)
    body += "}\n" + _rendezvous(["peer0", "peer1"]) + "scf.yield %now : index\n}\n"
    return _program(members, body)


def _corelet_base(stream: Stream, members: Sequence[tuple[int, int, str]]) -> str:
    n = _sizes(stream)
    return _map("half", [(m, f"%c{n['share'] if cl else 0}") for _, cl, m in members])


def _reader(stream: Stream) -> str:
    """The rows of one corelet, operand by operand, as messages."""
    n, members = _sizes(stream), _members(stream, "l1lu", (0, 1))
    body = _map("lx", [(m, f"%lx{c}") for c, _, m in members]) + _corelet_base(stream, members)
    body += _map("from", [(m, f"%mnilu{c}_0") for c, _, m in members])
    count = KINDS[stream.kind]
    if stream.streamed < count:
        body += _view("lrow", "lx", f"%c{n[f'buffer{stream.streamed}']}", 1)
    body += f"%end = scf.for %t = %c0 to %c{stream.tiles} step %c1 iter_args(%a = %c0) -> (index) {{\n"
    body += "%mine = arith.addi %a, %half : index\n"
    for o in range(stream.streamed):
        body += f"%at{o} = arith.addi %mine, %c{n[f'buffer{o}']} : index\n" + _view(
            f"l{o}", "lx", f"%at{o}", stream.rows
        )
    body += _rendezvous(["from"]) + f"scf.for %r = %c0 to %c{n['rows']} step %c1 {{\n"
    body += _map("to", [(m, f"%sfu{c}_{cl}") for c, cl, m in members])
    for o in range(count):
        memref, at, rows = (f"l{o}", "%r", stream.rows) if o < stream.streamed else ("lrow", "%c0", 1)
        body += (
            f"%v{o} = agen.vector_load %{memref}[{at}, 0] {{load_order = #same, load_set = #vector}} "
            f": memref<{rows}x64xf16>, vector<64xf16>\ndataflow.send %to, %v{o} : vector<64xf16>\n"
        )
    body += f"}}\n%next = arith.subi %c{n['tile']}, %a : index\nscf.yield %next : index\n}}\n"
    return _program(members, body)


def _vector_unit(stream: Stream) -> str:
    """One vector of every operand in, one vector out."""
    members = _members(stream, "sfu", (0, 1))
    body = (
        f"scf.for %t = %c0 to %c{stream.tiles} step %c1 {{\nscf.for %r = %c0 to %c{stream.rows} step %c1 {{\n"
    )
    body += _map("from", [(m, f"%l1lu{c}_{cl}") for c, cl, m in members])
    count = KINDS[stream.kind]
    body += "".join(f"%v{o} = dataflow.receive %from : vector<64xf16>\n" for o in range(count))
    steps = {"add": ("add",), "chain": ("add", "mul"), "row_multiply": ("mul",)}[stream.kind]
    found = "v0"
    for k, op in enumerate(steps):
        body += (
            f"%y{k} = vectorchain.binary %{found}, %v{k + 1} "
            f"{{binary_op = #vectorchain<binary_operator {op}>, "
            "op_specific_map = #linear} : vector<64xf16>, vector<64xf16>, vector<64xf16>\n"
        )
        found = f"y{k}"
    body += _map("to", [(m, f"%l1su{c}_{cl}") for c, cl, m in members])
    return _program(members, body + f"dataflow.send %to, %{found} : vector<64xf16>\n}}\n}}\n")


def _writer(stream: Stream) -> str:
    """Messages to the rows of one corelet."""
    n, members = _sizes(stream), _members(stream, "l1su", (0, 1))
    body = _map("lx", [(m, f"%lx{c}") for c, _, m in members]) + _corelet_base(stream, members)
    body += _map("to", [(m, f"%mnisu{c}_0") for c, _, m in members])
    body += _map("from", [(m, f"%sfu{c}_{cl}") for c, cl, m in members])
    body += f"%end = scf.for %t = %c0 to %c{stream.tiles} step %c1 iter_args(%a = %c0) -> (index) {{\n"
    start = n[f"buffer{KINDS[stream.kind]}"]
    body += f"%mine = arith.addi %a, %half : index\n%at = arith.addi %mine, %c{start} : index\n"
    body += _view("l", "lx", "%at", stream.rows) + f"scf.for %r = %c0 to %c{n['rows']} step %c1 {{\n"
    body += (
        "%v = dataflow.receive %from : vector<64xf16>\n"
        "agen.vector_store %v, %l[%r, 0] {store_order = #same, store_set = #vector} "
        f": memref<{stream.rows}x64xf16>, vector<64xf16>\n}}\n"
    )
    body += (
        _rendezvous(["to"]) + f"%next = arith.subi %c{n['tile']}, %a : index\nscf.yield %next : index\n}}\n"
    )
    return _program(members, body)


def _storer(stream: Stream) -> str:
    """The copy of the result that is complete, to device memory."""
    n, members = _sizes(stream), _members(stream, "mnisu", (0,))
    share, last = stream.tiles * n["tile"], KINDS[stream.kind]
    body = _map("lx", [(m, f"%lx{c}") for c, _, m in members])
    body += "".join(_map(f"peer{k}", [(m, f"%l1su{c}_{k}") for c, _, m in members]) for k in (0, 1))
    body += _map("start", [(m, f"%c{stream.address(last) + c * share}") for c, _, m in members])
    body += _view("g", "hbm", "%start", share // LANES)
    body += (
        f"%end = scf.for %t = %c0 to %c{stream.tiles} step %c1 iter_args(%a = %c{n['tile']}) -> (index) {{\n"
    )
    body += f"%now = arith.subi %c{n['tile']}, %a : index\n"
    body += f"%at = arith.addi %now, %c{n[f'buffer{last}']} : index\n"
    body += _view("l", "lx", "%at", 2 * stream.rows) + _rendezvous(["peer0", "peer1"])
    body += f"scf.for %r = %c0 to %c{n['tile_rows']} step %c1 {{\n"
    body += _copy("l", "%r", 2 * stream.rows, "g", f"%t * {n['tile_rows']} + %r", share // LANES)
    return _program(members, body + "}\nscf.yield %now : index\n}\n")
