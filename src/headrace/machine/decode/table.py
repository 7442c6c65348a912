"""Which function decodes which op."""

from __future__ import annotations

from headrace.machine.decode import accesses, control, lanes, messages, opaque, timed, transfers, views
from headrace.machine.decode.program import Table

TABLE = Table(
    transfers={
        "agen.composite_load_and_store": transfers.copy,
        "agen.composite_indirect_load_and_store": transfers.indirect_copy,
        "agen.composite_load": transfers.read,
        "agen.composite_store": transfers.write,
        "agen.composite_memory_interleave": transfers.interleave,
    },
    composites={
        "agen.composite_load_and_store": timed.copy,
        "agen.composite_indirect_load_and_store": timed.both_indirect,
        "agen.composite_load": timed.read,
        "agen.composite_store": timed.write,
    },
    handlers={
        "dataflow.get_logical_memory_view": views.logical,
        "dataflow.get_paged_logical_memory_view": views.paged,
        "dataflow.get_local_unit": control.local_unit,
        "dataflow.send": messages.send,
        "dataflow.receive": messages.receive,
        "dataflow.opaque": opaque.opaque,
        "dataflow.sync_send": messages.sync_send,
        "dataflow.sync_recv": messages.sync_recv,
        "dataflow.implicit_sync_on_streaming_buffer": messages.rendezvous,
        "agen.vector_load": accesses.load,
        "agen.vector_store": accesses.store,
        "agen.symbolic_vector_load": accesses.symbolic_load,
        "agen.symbolic_vector_store": accesses.symbolic_store,
        "agen.indirect_vector_load": timed.vector_load,
        "agen.indirect_vector_store": timed.vector_store,
        "agen.composite_indirect_load": timed.gather,
        "agen.composite_indirect_store": timed.scatter,
        "agen.set_transfer_mask_state": accesses.mask_state,
        "vector.extract": lanes.extract,
        "vector.broadcast": lanes.broadcast,
        "vector.splat": lanes.broadcast,
        "arith.sitofp": lanes.cast_to_scalar,
        "arith.uitofp": lanes.cast_to_scalar,
        "scf.for": control.loop,
        "scf.if": control.branch,
        "affine.for": control.affine_loop,
        "affine.if": control.affine_branch,
        "uniform.uniformize_regions": control.regions,
        "uniform.equalize_pattern": control.regions,
        "uniform.query_map": control.query,
        "symbol.query_map": control.query,
    },
    naming=frozenset(
        (
            "dataflow.get_logical_memory_view",
            "dataflow.get_paged_logical_memory_view",
            "dataflow.get_local_unit",
            "uniform.query_map",
            "symbol.query_map",
        )
    ),
)
