"""Runs KTDF as data flow: core by core, stages in text order, channels as unbounded queues. For tests of
`build`.
"""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

from headrace.ir.ktdf import FifoSlotType
from headrace.numbers.dtypes import numpy_dtype

PREDICATES = {
    "olt": np.less,
    "ogt": np.greater,
    "oeq": np.equal,
    "oge": np.greater_equal,
    "ole": np.less_equal,
}
FLOAT_PREDICATES = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
)
SIGNED = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
INTEGER_PREDICATES = (
    *SIGNED,
    *(lambda a, b, f=f: f(a.astype(np.uint64), b.astype(np.uint64)) for f in SIGNED[2:]),
)
BINARY = {
    "addf": np.add, "addi": np.add, "subf": np.subtract, "subi": np.subtract, "mulf": np.multiply, "muli": np.multiply,  # noqa: E501
    "divf": np.divide, "maximumf": np.maximum, "minimumf": np.minimum, "maxsi": np.maximum, "minsi": np.minimum,  # noqa: E501
    "andi": np.bitwise_and, "ori": np.bitwise_or, "remsi": np.fmod,
}  # fmt: skip
UNARY = {
    "exp": np.exp,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "negf": np.negative,
    "absf": np.abs,
    "sqrt": np.sqrt,
}


def run(module, memory: dict[str, np.ndarray], corelets: int = 2) -> None:
    """Execute every function of the module on flat argument arrays, in place."""
    names = [entry.data["name"].data for entry in module.attributes["headrace.args"].data]
    for function in module.body.block.ops:
        for core in function.attributes["headrace.cores"].get_values():
            Core(core, corelets).function(function, [memory[n] for n in names])


class Core:
    """One core: values of the function, channels of its corelets."""

    def __init__(self, core: int, corelets: int) -> None:
        self.core, self.corelets = core, corelets
        self.values: dict = {}
        self.channels = defaultdict(deque)
        self.corelet = 0

    def function(self, op, arguments) -> None:
        block = op.body.block
        for arg, array in zip(block.args, arguments, strict=True):
            self.values[arg] = array
        self.block(block)
        assert not any(self.channels.values()), "messages left over"

    def block(self, block) -> None:
        for op in block.ops:
            method = getattr(self, "op_" + op.name.replace(".", "_"), None)
            if method is not None:
                method(op)
            else:
                self.values[op.results[0]] = self.scalar(op)

    def get(self, value):
        return self.values[value]

    # index and control ------------------------------------------------------------------------------------
    def op_arith_constant(self, op) -> None:
        value = op.value.value.data
        dtype = str(op.result.type)
        self.values[op.result] = value if dtype == "index" else np.array(value).astype(numpy_dtype(dtype))

    def op_ktdp_get_compute_tile_id(self, op) -> None:
        self.values[op.results[0]] = self.core

    def op_affine_apply(self, op) -> None:
        self.values[op.result] = op.map.data.eval([int(self.get(v)) for v in op.mapOperands], [])[0]

    def op_uniform_def_immutable_mapping(self, op) -> None:
        keys, values = (
            list(op.operands)[: len(op.operands) // 2],
            list(op.operands)[len(op.operands) // 2 :],
        )
        self.values[op.results[0]] = {self.get(k): self.get(v) for k, v in zip(keys, values, strict=True)}

    def op_uniform_query_map(self, op) -> None:
        self.values[op.results[0]] = self.get(op.operands[0])[self.get(op.operands[1])]

    def op_scf_for(self, op) -> None:
        block = op.body.block
        carried = [self.get(v) for v in op.iter_args]
        for i in range(int(self.get(op.lb)), int(self.get(op.ub)), int(self.get(op.step))):
            self.values[block.args[0]] = i
            for arg, value in zip(block.args[1:], carried, strict=True):
                self.values[arg] = value
            self.block(block)
            carried = [self.get(v) for v in block.last_op.operands]
        for result, value in zip(op.results, carried, strict=True):
            self.values[result] = value

    def op_ktdf_parallel(self, op) -> None:
        for corelet in range(op.num_instances.value.data):
            self.corelet = corelet
            for arg in op.region.block.args:
                self.values[arg] = corelet
            self.block(op.region.block)
        self.corelet = 0

    def op_ktdf_pipeline(self, op) -> None:
        self.block(op.region.block)

    op_ktdf_stage = op_ktdf_pipeline

    def op_ktdf_private(self, op) -> None:
        self.block(op.region.block)
        for result, value in zip(op.results, op.region.block.last_op.operands, strict=True):
            self.values[result] = self.get(value)

    def nothing(self, op) -> None:
        for result in op.results:
            self.values[result] = None

    op_ktdf_private_yield = op_ktdf_parallel_yield = op_scf_yield = op_func_return = op_linalg_yield = nothing
    op_ktdf_create_token = nothing

    # memory -----------------------------------------------------------------------------------------------
    def op_ktdp_construct_memory_view(self, op) -> None:
        flat = self.get(op.offset)
        dtype = flat.dtype
        strides = [s * dtype.itemsize for s in op.static_strides.get_values()]
        sizes = op.static_sizes.get_values()
        last = sum((n - 1) * s for n, s in zip(sizes, op.static_strides.get_values(), strict=True))
        assert last < flat.size, f"view {sizes} of {flat.size} elements"
        self.values[op.result] = np.lib.stride_tricks.as_strided(flat, sizes, strides)

    def op_memref_alloc(self, op) -> None:
        kind = op.memref.type
        dtype = numpy_dtype(str(kind.element_type))
        self.values[op.memref] = np.full(kind.get_shape(), 77, dtype)

    def op_memref_expand_shape(self, op) -> None:
        self.values[op.results[0]] = self.get(op.operands[0]).reshape(op.results[0].type.get_shape())

    op_memref_collapse_shape = op_tensor_collapse_shape = op_memref_expand_shape

    def op_ktdf_buffer_phase(self, op) -> None:
        self.values[op.result] = int(self.get(op.ivs[0])) % op.num_phases.value.data

    def op_ktdf_select_memref(self, op) -> None:
        self.values[op.result] = self.get(op.candidates[self.get(op.phase)])

    def op_ktdf_fifo_allocate(self, op) -> None:
        for slot in op.slots:
            self.values[slot] = (slot.type.src.data, slot.type.dest.data)

    def box(self, value, indices, amap, sizes):
        memory = self.get(value)
        corner = amap.data.eval([int(self.get(v)) for v in indices], [])
        sizes = sizes.get_values()
        assert len(corner) == len(sizes) == memory.ndim
        for c, s, e in zip(corner, sizes, memory.shape, strict=True):
            assert 0 <= c and c + s <= e, f"box {corner} {sizes} of {memory.shape}"
        return memory[tuple(slice(c, c + s) for c, s in zip(corner, sizes, strict=True))]

    def op_ktdf_data_transfer(self, op) -> None:
        order = op.attributes.get("headrace.order")
        if isinstance(op.source.type, FifoSlotType):
            source = self.channel(op.source).popleft()
        else:
            source = self.box(op.source, op.source_indices, op.source_map, op.static_source_sizes)
            if order is not None:
                source = source.transpose([r.position for r in order.data.results])
        if isinstance(op.destination.type, FifoSlotType):
            assert source.size == op.destination.type.num.data
            assert source.dtype == numpy_dtype(str(op.destination.type.element_type))
            self.channel(op.destination).append(source.copy().reshape(-1))
        else:
            target = self.box(op.destination, op.dest_indices, op.dest_map, op.static_dest_sizes)
            assert source.dtype == target.dtype, f"{source.dtype} -> {target.dtype}"
            target[...] = source.reshape(target.shape)

    def op_ktdf_opaque(self, op) -> None:
        index, table, tile = self.get(op.operands[0]), self.get(op.operands[1]), self.get(op.operands[2])
        raise NotImplementedError((index.shape, table.shape, tile.shape))

    def channel(self, slot):
        return self.channels[(self.corelet, *self.get(slot))]

    def op_ktdf_read_from_fifo(self, op) -> None:
        message = self.channel(op.fifo_slot).popleft()
        assert message.dtype == numpy_dtype(str(op.result.type.element_type))
        self.values[op.result] = message.reshape(op.result.type.get_shape())

    def op_ktdf_write_to_fifo(self, op) -> None:
        value = self.get(op.data)
        assert value.size == op.fifo_slot.type.num.data
        assert value.dtype == numpy_dtype(str(op.fifo_slot.type.element_type))
        self.channel(op.fifo_slot).append(np.array(value).reshape(-1))

    # tensors ----------------------------------------------------------------------------------------------
    def op_tensor_empty(self, op) -> None:
        kind = op.results[0].type
        self.values[op.results[0]] = np.zeros(kind.get_shape(), numpy_dtype(str(kind.element_type)))

    def op_linalg_fill(self, op) -> None:
        self.values[op.results[0]] = np.full_like(self.get(op.operands[1]), self.get(op.operands[0]))

    def op_linalg_generic(self, op) -> None:
        block = op.body.block
        self.lane = np.arange(op.results[0].type.get_shape()[0])
        for arg, value in zip(block.args, op.operands, strict=True):
            self.values[arg] = self.get(value)
        self.block(block)
        for result, value in zip(op.results, block.last_op.operands, strict=True):
            shape = result.type.get_shape()
            self.values[result] = np.broadcast_to(np.asarray(self.get(value)), shape)

    def op_linalg_index(self, op) -> None:
        self.values[op.result] = self.lane

    def op_linalg_reduce(self, op) -> None:
        combiner = next(iter(op.regions[0].block.ops)).name.split(".")[1]
        row, init = self.get(op.operands[0]), self.get(op.operands[1])
        reduced = BINARY[combiner].reduce(row, axis=0, dtype=row.dtype)
        self.values[op.results[0]] = BINARY[combiner](init, reduced).astype(row.dtype)

    def op_linalg_matmul(self, op) -> None:
        a, b, c = (self.get(v) for v in op.operands)
        self.values[op.results[0]] = a.astype(c.dtype) @ b.astype(c.dtype) + c

    def scalar(self, op):
        name = op.name.split(".")[1]
        if not op.operands or not op.name.startswith(("arith.", "math.")):
            return None
        args = [np.asarray(self.get(v)) for v in op.operands]
        dtype = numpy_dtype(str(op.results[0].type)) if str(op.results[0].type) != "index" else np.int64
        if name == "select":
            return np.where(args[0], args[1], args[2])
        if name == "cmpf":
            return PREDICATES[FLOAT_PREDICATES[op.predicate.value.data]](*args)
        if name == "cmpi":
            return INTEGER_PREDICATES[op.predicate.value.data](*args)
        with np.errstate(all="ignore"):
            if name in BINARY:
                return BINARY[name](*args).astype(dtype)
            if name in UNARY:
                return UNARY[name](args[0].astype(np.float32)).astype(dtype)
            assert name in (
                "extf",
                "truncf",
                "index_cast",
                "sitofp",
                "fptosi",
                "extsi",
                "trunci",
                "extui",
                "uitofp",
            ), op.name
            return args[0].astype(dtype)
