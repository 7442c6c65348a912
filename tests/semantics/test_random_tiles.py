"""Random programs of tiles that deliver values out of distributed views: both engines, and NumPy."""

from __future__ import annotations

from collections import Counter

import numpy as np

from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.memory import Memory
from headrace.semantics import batched, plain

DTYPES = {"f16": "0.0", "bf16": "0.0", "f32": "0.0", "i8": "0", "i16": "0", "i32": "0", "i64": "0"}
DELIVERIES = ("all", "first", "last", "shift", "broadcast")
COUNTED: dict[str, Counter[str]] = {
    "dtype": Counter(dict.fromkeys(DTYPES, 0)),
    "delivery": Counter(dict.fromkeys(DELIVERIES, 0)),
    "group": Counter(dict.fromkeys("1248", 0)),
    "rounds": Counter(dict.fromkeys("123", 0)),
    "parts": Counter(dict.fromkeys("123", 0)),
    "split": Counter({"rows": 0, "columns": 0}),
}
TILES = 8


def _set(dims, *constraints):
    return f"affine_set<({dims}) : ({', '.join(constraints)})>"


def program(dtype, delivery, size, rounds, cuts, is_rows, columns):
    """The text: tile t takes row t of x, in every round delivers it and keeps what it is given."""
    groups = f"affine_set<(g) : (g >= 0, {TILES // size - 1} - g >= 0)>"
    everyone = f"affine_set<(t)[g] : (t - g * {size} >= 0, g * {size} + {size - 1} - t >= 0)>"
    first = f"affine_set<(t)[g] : (t - g * {size} == 0)>"
    last = f"affine_set<(t)[g] : (t - g * {size} - {size - 1} == 0)>"
    row = f"tensor<1x{columns}x{dtype}>"
    producers = first if delivery == "broadcast" else everyone
    consumers = {"first": first, "last": last}.get(delivery, everyone)
    future = f"!ktdp.tile_future<({row}), groups = {groups}>"
    add = "arith.addf" if "f" in dtype else "arith.addi"
    lines, parts = [], []
    ends = [0, *cuts, TILES if is_rows else columns]
    for k, (low, high) in enumerate(zip(ends, ends[1:], strict=False)):
        shape = (high - low, columns) if is_rows else (TILES, high - low)
        at = (low, 0) if is_rows else (0, low)
        box = [
            f"d{d} - {a} >= 0, {a + n - 1} - d{d} >= 0"
            for d, (a, n) in enumerate(zip(at, shape, strict=True))
        ]
        ty = f"memref<{shape[0]}x{shape[1]}x{dtype}>"
        lines.append(
            f"%p{k}_view = ktdp.construct_memory_view %p{k}, sizes: {list(shape)}, strides: [{shape[1]}, 1] "
            f"{{coordinate_set = {_set('d0, d1', *box)}, memory_space = #ktdp.memory_space<global>}} : {ty}"
        )
        parts.append((f"%p{k}_view", ty))
    names, types = (", ".join(p[i] for p in parts) for i in (0, 1))
    whole = f"memref<{TILES}x{columns}x{dtype}>"
    lines.append(f"%x = ktdp.construct_distributed_memory_view ({names} : {types}) : {whole}")
    box = _set("d0, d1", "d0 >= 0", f"{TILES - 1} - d0 >= 0", "d1 >= 0", f"{columns - 1} - d1 >= 0")
    lines.append(
        f"%o_view = ktdp.construct_memory_view %o, sizes: [{TILES}, {columns}], strides: [{columns}, 1] "
        f"{{coordinate_set = {box}, memory_space = #ktdp.memory_space<global>}} : {whole}"
    )
    one = _set("d0, d1", "d0 == 0", "d1 >= 0", f"{columns - 1} - d1 >= 0")
    walk = f"{{access_tile_order = affine_map<(d0, d1) -> (d0, d1)>, access_tile_set = {one}}}"
    for name, view in (("at", "x"), ("to", "o_view")):
        tile = f"!ktdp.access_tile<1x{columns}xindex>"
        lines.append(f"%{name} = ktdp.construct_access_tile %{view}[%t, 0] {walk} : {whole} -> {tile}")
    produce = f"""%f = ktdp.inter_tile_produce producer_tiles_per_group = {producers} -> {future} {{
      ^bb0(%gid: index):
        ktdp.yield_partial %u : {row}
      }}"""
    if delivery in ("shift", "broadcast"):
        source = f"affine_set<(p)[c, g] : (p - (c + 1 - g * {size}) mod {size} - g * {size} == 0)>"
        extra = f", producer_dependency_per_consumer = {source}" if delivery == "shift" else ""
        whom = f"consumer_tiles_per_group = {consumers}{extra}"
        deliver = f"%r = ktdp.inter_tile_consume(%f) {whom} : {future} -> {row}"
    else:
        deliver = f"""%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {consumers},
        identity(%zero : {row}) : {future} -> {row} {{
      ^bb0(%a: {row}, %b: {row}):
        %s = {add} %a, %b : {row}
        ktdp.yield_reduced %s : {row}
      }}"""
    if delivery in ("first", "last"):
        place = 0 if delivery == "first" else size - 1
        kept = f"""%w = scf.if %mine -> ({row}) {{
          scf.yield %r : {row}
        }} else {{
          scf.yield %u : {row}
        }}"""
        lines.append(f"%place = arith.constant {place} : index")
        lines.append("%mine = arith.cmpi eq, %lane, %place : index")
    else:
        kept = f"%w = {add} %r, %u : {row}"
    arguments = ", ".join(f"%{n}: index" for n in (*(f"p{k}" for k in range(len(parts))), "o"))
    inside = "\n".join(lines)
    return f"""func.func @k({arguments}) attributes {{grid = [{TILES}]}} {{
      %t = ktdp.get_compute_tile_id : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {rounds} : index
      %size = arith.constant {size} : index
      %lane = arith.remui %t, %size : index
      %zero = arith.constant dense<{DTYPES[dtype]}> : {row}
      {inside}
      %v = ktdp.load %at : <1x{columns}xindex> -> {row}
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%u = %v) -> ({row}) {{
      {produce}
      {deliver}
      {kept}
      scf.yield %w : {row}
      }}
      ktdp.store %end, %to : {row}, <1x{columns}xindex>
      return
    }}"""


def expected(x, delivery, size, rounds):
    """What is in o, in the element type, partial sums taken tile after tile."""
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            sums = x.reshape(-1, size, x.shape[1])
            total = sums[:, 0]
            for k in range(1, size):
                total = (total + sums[:, k]).astype(x.dtype)
            whole = np.repeat(total, size, axis=0)
            lane = np.arange(len(x)).reshape(-1, 1) % size
            if delivery in ("first", "last"):
                x = np.where(lane == (0 if delivery == "first" else size - 1), whole, x)
            else:
                given = {
                    "all": whole,
                    "shift": np.roll(sums, -1, axis=1).reshape(x.shape),
                    "broadcast": np.repeat(sums[:, 0], size, axis=0),
                }[delivery]
                x = (given + x).astype(x.dtype)
    return x


def _check(seed):
    random = np.random.default_rng(seed)
    dtype, delivery = list(DTYPES)[seed % 7], DELIVERIES[seed % 5]
    size, rounds, columns = (
        int(2 ** random.integers(0, 4)),
        int(random.integers(1, 4)),
        int(random.integers(3, 9)),
    )
    is_rows, pieces = bool(random.integers(2)), int(random.integers(1, 4))
    inner = np.arange(1, TILES if is_rows else columns)
    cuts = sorted(int(c) for c in random.choice(inner, min(pieces - 1, len(inner)), replace=False))
    kind = numpy_dtype(dtype)
    if kind.kind == "i":
        x = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, (TILES, columns), kind, endpoint=True)
    else:
        edges = np.array([np.nan, np.inf, -0.0, 0.0, 1.5, -2.25, 1e-3, 7.0], np.float32)
        weights = [0.02, 0.03, 0.15, 0.15, 0.2, 0.2, 0.15, 0.1]
        x = random.choice(edges, (TILES, columns), p=weights).astype(kind)
    module = parse(program(dtype, delivery, size, rounds, cuts, is_rows, columns))
    assert [d for d in verify(module) if d.severity == "error"] == []
    ends = [0, *cuts, TILES if is_rows else columns]
    held = [x[a:b] if is_rows else x[:, a:b] for a, b in zip(ends, ends[1:], strict=False)]
    found = []
    for engine in (plain, batched):
        memory, starts = Memory(1 << 20), {}
        for name, array in [*((f"p{k}", h) for k, h in enumerate(held)), ("o", np.zeros_like(x))]:
            address = memory.allocate(array.nbytes)
            np.ndarray(array.shape, kind, memory.bytes, address)[...] = array
            starts[name] = address // kind.itemsize
        if engine is batched:
            assert batched.why_not(module, memory, starts) == [""]
        report = engine.interpret(module, memory, starts)
        out = np.ndarray(x.shape, kind, memory.bytes, starts["o"] * kind.itemsize).copy()
        found.append((out.astype(np.float64 if kind.kind != "i" else kind), report))
    (one, report), (other, again) = found
    assert report == again
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, expected(x, delivery, size, rounds).astype(one.dtype))
    keys = (dtype, delivery, str(size), str(rounds), str(len(held)), "rows" if is_rows else "columns")
    for counter, key in zip(COUNTED.values(), keys, strict=True):
        counter[key] += 1


def test_random_deliveries_are_what_numpy_computes_on_both_engines_and_cover_everything():
    for counter in COUNTED.values():
        counter.update(dict.fromkeys(counter, 0))
    for seed in range(70):
        _check(seed)
    for what, counter in COUNTED.items():
        print(f"{what}: " + ", ".join(f"{key} {n}" for key, n in sorted(counter.items())))
    assert [(what, key) for what, counter in COUNTED.items() for key, n in counter.items() if n == 0] == []
