"""TileGraphs written by hand, as `model` would make them."""

from __future__ import annotations

from headrace.schedule.graph import (
    Access,
    Arg,
    Axis,
    Compute,
    Contraction,
    CoreClass,
    Dim,
    Linear,
    Load,
    Out,
    PerCore,
    Scalar,
    Store,
    TileGraph,
    Value,
    View,
)


class Kernel:
    """A graph of one class of cores under construction; every method returns the name of the value it
    makes.
    """

    def __init__(self, name: str, cores: int) -> None:
        self.name, self.cores = name, cores
        self.args: list[Arg] = []
        self.values: dict[str, Value] = {}
        self.body: list[object] = []
        self.count = 0

    def fresh(self, shape: tuple[int, ...], dtype: str) -> str:
        """A new value."""
        self.count += 1
        name = f"%{self.count}"
        self.values[name] = Value(name, shape, dtype)
        return name

    def dims(self, shape: tuple[int, ...], kind: str = "parallel") -> tuple[Dim, ...]:
        """New dims with these extents."""
        self.count += 1
        return tuple(Dim(f"d{self.count}_{k}", e, kind) for k, e in enumerate(shape))

    def load(self, arg: str, sizes, origin, shape, dtype="f16", axes=None) -> str:
        """A load of a box of a packed argument."""
        name = self.fresh(tuple(shape), dtype)
        view = self.view(arg, sizes, dtype, "in")
        self.body.append(Load(name, view, tuple(map(linear, origin)), tuple(axes or range(len(shape)))))
        return name

    def store(self, value: str, arg: str, sizes, origin, axes=None) -> None:
        """A store of a value into a box of a packed argument."""
        found = self.values[value]
        view = self.view(arg, sizes, found.dtype, "out")
        self.body.append(
            Store(value, view, tuple(map(linear, origin)), tuple(axes or range(len(found.shape))))
        )

    def view(self, arg: str, sizes, dtype: str, role: str) -> View:
        """The packed view of a whole argument."""
        strides = [1] * len(sizes)
        for k in reversed(range(len(sizes) - 1)):
            strides[k] = strides[k + 1] * sizes[k + 1]
        known = [a.name for a in self.args]
        if arg not in known:
            self.args.append(Arg(arg, dtype, tuple(sizes), role))
        elif self.args[known.index(arg)].role != role:
            self.args[known.index(arg)] = Arg(arg, dtype, tuple(sizes), "inout")
        return View(arg, Linear(), dtype, tuple(sizes), tuple(strides))

    def pointwise(self, ins, body, shape=None, dtype=None) -> str:
        """A pointwise Compute; `ins` are (value, dims of its axes by number); `body` are Scalars after the
        inputs.
        """
        shape = shape or self.values[ins[0][0]].shape
        dims = self.dims(shape)
        accesses = tuple(
            Access(v, tuple(Axis(None if k is None else dims[k].name) for k in axes)) for v, axes in ins
        )
        entries = [Scalar("in", (), self.values[v].dtype, k) for k, (v, _) in enumerate(ins)]
        entries += [_named(s, dims) for s in body]
        out = self.fresh(tuple(shape), dtype or entries[-1].dtype)
        outs = (Out(out, tuple(Axis(d.name) for d in dims), len(entries) - 1),)
        self.body.append(Compute(dims, accesses, outs, tuple(entries)))
        return out

    def reduce(self, value: str, over, combiner: str, body=(), init=None) -> str:
        """A reduction of a value over axes."""
        shape = self.values[value].shape
        dims = tuple(
            Dim(f"r{self.count}_{k}", e, "reduction" if k in over else "parallel")
            for k, e in enumerate(shape)
        )
        self.count += 1
        kept = [k for k in range(len(shape)) if k not in over]
        entries = [Scalar("in", (), self.values[value].dtype, 0), *(_named(s, dims) for s in body)]
        out = self.fresh(tuple(shape[k] for k in kept), entries[-1].dtype)
        outs = (Out(out, tuple(Axis(dims[k].name) for k in kept), len(entries) - 1, combiner, init),)
        self.body.append(
            Compute(dims, (Access(value, tuple(Axis(d.name) for d in dims)),), outs, tuple(entries))
        )
        return out

    def matmul(self, a: str, b: str, dtype="f32", transposed=False, init=0.0) -> str:
        """a[..., m, k] x b[..., k, n] (or b[..., n, k])."""
        a_shape, b_shape = self.values[a].shape, self.values[b].shape
        batch, (m, k) = a_shape[:-2], a_shape[-2:]
        n = b_shape[-2] if transposed else b_shape[-1]
        self.count += 1
        stem = f"g{self.count}"
        lead = tuple(Dim(f"{stem}b{i}", e, "parallel") for i, e in enumerate(batch))
        dm, dn, dk = (
            Dim(f"{stem}m", m, "parallel"),
            Dim(f"{stem}n", n, "parallel"),
            Dim(f"{stem}k", k, "reduction"),
        )
        axes = [Axis(d.name) for d in lead]
        right = [Axis(dn.name), Axis(dk.name)] if transposed else [Axis(dk.name), Axis(dn.name)]
        narrow = self.values[a].dtype
        body = (
            Scalar("in", (), narrow, 0),
            Scalar("in", (), self.values[b].dtype, 1),
            Scalar("arith.mulf", (0, 1), dtype),
        )
        out = self.fresh((*batch, m, n), dtype)
        outs = (Out(out, (*axes, Axis(dm.name), Axis(dn.name)), 2, "add", init),)
        ins = (Access(a, (*axes, Axis(dm.name), Axis(dk.name))), Access(b, (*axes, *right)))
        roles = Contraction(tuple(d.name for d in lead), (dm.name,), (dn.name,), (dk.name,))
        self.body.append(Compute((*lead, dm, dn, dk), ins, outs, body, roles))
        return out

    def graph(self, work=None) -> TileGraph:
        """The finished graph."""
        part = CoreClass(tuple(range(self.cores)), self.values, tuple(self.body))
        return TileGraph(self.name, (self.cores,), tuple(self.args), (part,), work or {})


def linear(value) -> Linear:
    """An integer, a list with one integer a core, or a Linear."""
    if isinstance(value, Linear):
        return value
    return Linear(PerCore(tuple(value)) if isinstance(value, list) else value)


def _named(scalar: Scalar, dims) -> Scalar:
    if scalar.op != "index" or not isinstance(scalar.attr[0], int):
        return scalar
    return Scalar("index", (), scalar.dtype, (dims[scalar.attr[0]].name, scalar.attr[1]))


def add(rows: int, columns: int, cores: int) -> TileGraph:
    """y = a + b, rows split over the cores."""
    k = Kernel("add", cores)
    per = rows // cores
    origin = [[per * c for c in range(cores)], 0]
    a = k.load("a", (rows, columns), origin, (per, columns))
    b = k.load("b", (rows, columns), origin, (per, columns))
    y = k.pointwise([(a, (0, 1)), (b, (0, 1))], [Scalar("arith.addf", (0, 1), "f16")])
    k.store(y, "y", (rows, columns), origin)
    size = rows * columns
    return k.graph({"read_bytes": 4 * size, "write_bytes": 2 * size, "ops.arith.f16": size})


def softmax(rows: int, columns: int, cores: int) -> TileGraph:
    """Row softmax of f16 in f32."""
    k = Kernel("softmax", cores)
    per = rows // cores
    origin = [[per * c for c in range(cores)], 0]
    x = k.load("x", (rows, columns), origin, (per, columns))
    f = k.pointwise([(x, (0, 1))], [Scalar("arith.extf", (0,), "f32")])
    m = k.reduce(f, (1,), "max")
    e = k.pointwise(
        [(f, (0, 1)), (m, (0,))],
        [Scalar("arith.subf", (0, 1), "f32"), Scalar("math.exp", (2,), "f32")],
        (per, columns),
    )
    s = k.reduce(e, (1,), "add")
    y = k.pointwise(
        [(e, (0, 1)), (s, (0,))], [Scalar("arith.divf", (0, 1), "f32"), Scalar("arith.truncf", (2,), "f16")]
    )
    k.store(y, "y", (rows, columns), origin)
    size = rows * columns
    return k.graph({"read_bytes": 2 * size, "write_bytes": 2 * size})


def layernorm(rows: int, columns: int, cores: int) -> TileGraph:
    """Row layer norm with weight and bias."""
    k = Kernel("layernorm", cores)
    per = rows // cores
    origin = [[per * c for c in range(cores)], 0]
    x = k.load("x", (rows, columns), origin, (per, columns))
    w = k.load("w", (columns,), [0], (columns,))
    b = k.load("b", (columns,), [0], (columns,))
    f = k.pointwise([(x, (0, 1))], [Scalar("arith.extf", (0,), "f32")])
    total = k.reduce(f, (1,), "add")
    mean = k.pointwise(
        [(total, (0,))], [Scalar("const", (), "f32", 1 / columns), Scalar("arith.mulf", (0, 1), "f32")]
    )
    d = k.pointwise([(f, (0, 1)), (mean, (0,))], [Scalar("arith.subf", (0, 1), "f32")])
    sq = k.pointwise([(d, (0, 1))], [Scalar("arith.mulf", (0, 0), "f32")])
    var = k.reduce(sq, (1,), "add")
    rs = k.pointwise(
        [(var, (0,))],
        [
            Scalar("const", (), "f32", 1 / columns),
            Scalar("arith.mulf", (0, 1), "f32"),
            Scalar("const", (), "f32", 1e-5),
            Scalar("arith.addf", (2, 3), "f32"),
            Scalar("math.rsqrt", (4,), "f32"),
        ],
    )
    y = k.pointwise(
        [(d, (0, 1)), (rs, (0,)), (w, (1,)), (b, (1,))],
        [
            Scalar("arith.extf", (2,), "f32"),
            Scalar("arith.extf", (3,), "f32"),
            Scalar("arith.mulf", (0, 1), "f32"),
            Scalar("arith.mulf", (6, 4), "f32"),
            Scalar("arith.addf", (7, 5), "f32"),
            Scalar("arith.truncf", (8,), "f16"),
        ],
    )
    k.store(y, "y", (rows, columns), origin)
    size = rows * columns
    return k.graph({"read_bytes": 2 * size + 4 * columns, "write_bytes": 2 * size})


def gemm(
    m: int, n: int, k_extent: int, grid: tuple[int, int], bias=True, transposed=False, residual=False
) -> TileGraph:
    """c = relu(a x b + bias) in f16, m and n split over the grid; the bias has rows, too, if `residual`."""
    gm, gn = grid
    cores = gm * gn
    k = Kernel("gemm", cores)
    pm, pn = m // gm, n // gn
    row = [(c // gn) * pm for c in range(cores)]
    col = [(c % gn) * pn for c in range(cores)]
    a = k.load("a", (m, k_extent), [row, 0], (pm, k_extent))
    if transposed:
        b = k.load("b", (n, k_extent), [col, 0], (pn, k_extent))
    else:
        b = k.load("b", (k_extent, n), [0, col], (k_extent, pn))
    c = k.matmul(a, b, transposed=transposed)
    if bias:
        at, own = ([row, col], (pm, pn)) if residual else ([col], (pn,))
        v = k.load("bias", (m, n) if residual else (n,), at, own)
        c = k.pointwise(
            [(c, (0, 1)), (v, (0, 1) if residual else (1,))],
            [
                Scalar("arith.extf", (1,), "f32"),
                Scalar("arith.addf", (0, 2), "f32"),
                Scalar("const", (), "f32", 0.0),
                Scalar("arith.maximumf", (3, 4), "f32"),
            ],
        )
    c = k.pointwise([(c, (0, 1))], [Scalar("arith.truncf", (0,), "f16")])
    k.store(c, "c", (m, n), [row, col])
    work = {
        "read_bytes": 2 * (m * k_extent + k_extent * n),
        "write_bytes": 2 * m * n,
        "macs.f16": m * n * k_extent,
    }
    return k.graph(work)


def gated(m: int, n: int, k_extent: int, grid: tuple[int, int], is_kept=False) -> TileGraph:
    """c = relu(a g) * (a u) in f16, m and n split over the grid; a g is stored as "d", too, if `is_kept`."""
    gm, gn = grid
    cores = gm * gn
    k = Kernel("gated", cores)
    pm, pn = m // gm, n // gn
    row = [(c // gn) * pm for c in range(cores)]
    col = [(c % gn) * pn for c in range(cores)]
    a = k.load("a", (m, k_extent), [row, 0], (pm, k_extent))
    first, second = (k.matmul(a, k.load(arg, (k_extent, n), [0, col], (k_extent, pn))) for arg in ("g", "u"))
    c = k.pointwise(
        [(first, (0, 1)), (second, (0, 1))],
        [
            Scalar("const", (), "f32", 0.0),
            Scalar("arith.maximumf", (0, 2), "f32"),
            Scalar("arith.mulf", (3, 1), "f32"),
            Scalar("arith.truncf", (4,), "f16"),
        ],
    )
    k.store(c, "c", (m, n), [row, col])
    if is_kept:
        k.store(first, "d", (m, n), [row, col])
    return k.graph()


def reduction(
    shape: tuple[int, ...], over: tuple[int, ...], combiner: str, cores: int = 1, dtype="f32"
) -> TileGraph:
    """y = combine over axes of the first dim's share of each core."""
    k = Kernel("reduction", cores)
    per = (shape[0] // cores, *shape[1:])
    origin = [[per[0] * c for c in range(cores)], *[0] * (len(shape) - 1)]
    x = k.load("x", shape, origin, per, dtype)
    y = k.reduce(x, over, combiner)
    kept = [a for a in range(len(shape)) if a not in over]
    if kept and kept[0] == 0:
        k.store(y, "y", tuple(shape[a] for a in kept), [origin[a] for a in kept])
    else:
        sizes = (cores, *(shape[a] for a in kept))
        out = [list(range(cores)), *[0] * len(kept)]
        k.store(y, "y", sizes, out, axes=tuple(range(1, len(sizes))) or None)
    return k.graph()


def permuted(shape: tuple[int, ...], order: tuple[int, ...], cores: int = 1) -> TileGraph:
    """y = transpose of x: y[i...] = x[...] with y's dims listed as dims of x."""
    k = Kernel("permuted", cores)
    x = k.load("x", shape, [0] * len(shape), shape)
    out = tuple(shape[a] for a in order)
    axes = tuple(order.index(a) for a in range(len(shape)))
    y = k.pointwise([(x, axes)], [Scalar("arith.addf", (0, 0), "f16")], out)
    k.store(y, "y", out, [0] * len(shape))
    return k.graph()
