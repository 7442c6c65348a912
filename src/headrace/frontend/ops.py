"""What is native: the ATen operators our kernels compute, the loop operations they are made of, the types
they store.

An operator of a compiled graph that is not here runs on the host; see `inductor/native.py`.
"""

from __future__ import annotations

import torch

from headrace.frontend.lower.program import TYPES

LOOP_OPS = frozenset(
    """
    add sub mul truediv div_rn neg abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square
    sin cos tanh erf sigmoid relu pow maximum minimum floor ceil trunc round sign fmod remainder mod
    eq ne lt le gt ge logical_and logical_or logical_not logical_xor
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift and_ or_ xor
    lshift rshift isnan isinf where identity floordiv truncdiv int_truediv fma mul_rn dot
    floor_to_int ceil_to_int trunc_to_int round_to_int to_dtype_bitcast
    tan sinh cosh asin acos atan asinh acosh atanh erfc atan2 copysign signbit hypot
    """.split()
)
"""Pointwise operations of Inductor's loop IR a kernel may hold (besides loads, stores, reductions, masks,
casts).
"""

DTYPES = frozenset(getattr(torch, name) for name in TYPES)
"""Element types of native operators' operands and results."""

POINTWISE = frozenset(
    """
    abs add addcdiv addcmul bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min
    clone copy copy_ cos div elu eq erf exp exp2 expm1 fill floor floor_divide fmod ge gelu gt hardsigmoid
    hardswish hardtanh isinf isnan le leaky_relu lerp log log10 log1p log2 logical_and logical_not
    logical_or logical_xor lt masked_fill maximum minimum mish mul ne neg pow reciprocal relu remainder
    round rsqrt rsub sigmoid sign silu sin softplus sqrt square sub tanh tril triu trunc where _to_copy
    convert_element_type lift_fresh_copy arange full full_like iota ones ones_like scalar_tensor zeros
    zeros_like new_full new_zeros new_ones eye empty empty_like empty_strided empty_permuted new_empty
    new_empty_strided __lshift__ __rshift__ bitwise_left_shift bitwise_right_shift
    tan sinh cosh asin acos atan asinh acosh atanh erfc atan2 copysign signbit hypot
    glu
    """.split()
)
REDUCTIONS = frozenset(
    """
    all amax amin any argmax argmin max mean min prod sum var var_mean std _softmax _log_softmax
    native_layer_norm native_batch_norm _native_batch_norm_legit_no_training native_group_norm
    _fused_rms_norm _safe_softmax prepare_softmax_online logsumexp cumsum cumprod cummax cummin logcumsumexp
    sort topk searchsorted bucketize kthvalue median nanmedian histc
    """.split()
)
CONTRACTIONS = frozenset("mm bmm addmm baddbmm addbmm _int_mm _scaled_mm convolution _cdist_forward".split())
INDEXED = frozenset(
    """
    embedding gather index _unsafe_index index_select index_copy index_fill index_put index_put_
    _unsafe_index_put _unsafe_index_put_ _unsafe_masked_index masked_scatter _embedding_bag
    _embedding_bag_forward_only scatter scatter_ scatter_add scatter_reduce select_scatter
    slice_scatter diagonal_scatter as_strided_scatter
    """.split()
)
MOVEMENT = frozenset(
    """
    alias as_strided cat constant_pad_nd detach diagonal expand flip permute repeat reshape rev roll select
    slice split split_with_sizes squeeze stack t transpose unbind unfold unsqueeze view _unsafe_view
    _reshape_copy lift_fresh view_of broadcast_in_dim upsample_nearest2d avg_pool2d avg_pool3d
    max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d
    _adaptive_avg_pool2d _adaptive_avg_pool3d
    _low_memory_max_pool_with_offsets _low_memory_max_pool_offsets_to_indices
    sym_size sym_stride sym_numel sym_storage_offset set_ resize_ inductor_force_stride_order
    _assert_scalar device_put item _local_scalar_dense
    """.split()
)
VIEWS = frozenset(
    """
    alias as_strided detach diagonal expand permute reshape select slice split split_with_sizes squeeze t
    transpose
    unbind unfold unsqueeze view _unsafe_view broadcast_in_dim view_of
    """.split()
)
"""Movement that moves nothing."""

UNUSUAL_ACCESSES = INDEXED | CONTRACTIONS | {"clone"} | (MOVEMENT - VIEWS)
"""What most likely keeps a loop nest from becoming a kernel."""

NATIVE = POINTWISE | REDUCTIONS | CONTRACTIONS | INDEXED | MOVEMENT
"""ATen (and prims) operators by name without overload."""

LONGEST_SORT = 1024
"""Elements of a row that `sort` and `topk` order natively."""

MOST_SCATTER_STEPS = 2**26
"""Elements times indices of an accumulating scatter that runs natively."""

LIMITS = {
    "sort": f"rows of more than {LONGEST_SORT} elements",
    "cummax": f"rows of more than {LONGEST_SORT} elements",
    "cummin": f"rows of more than {LONGEST_SORT} elements",
    "logcumsumexp": f"rows of more than {LONGEST_SORT} elements",
    "searchsorted": "with a sorter",
    "_scaled_mm": "scales of blocks, a scale of the result",
    "kthvalue": f"rows of more than {LONGEST_SORT} elements",
    "median": f"rows of more than {LONGEST_SORT} elements",
    "nanmedian": f"rows of more than {LONGEST_SORT} elements",
    "topk": f"rows of more than {LONGEST_SORT} elements",
    "scatter_add": f"elements × indices above {MOST_SCATTER_STEPS}",
    "scatter_reduce": f"elements × indices above {MOST_SCATTER_STEPS}",
    "histc": f"the range of the data, elements × bins above {MOST_SCATTER_STEPS}",
    "_embedding_bag": f"elements × indices above {MOST_SCATTER_STEPS}",
    "_embedding_bag_forward_only": f"elements × indices above {MOST_SCATTER_STEPS}",
    "index_put": f"accumulating, elements × indices above {MOST_SCATTER_STEPS}; boolean masks",
    "scatter": "with a reduction of scalars",
}
"""What of a native operator still runs on the host, by operator."""

HOST_OVERLOADS = frozenset({"scatter.reduce", "scatter.value_reduce"})
"""Overloads of native operators that are not native."""


def is_native(name: str, overload: str) -> bool:
    """Whether an operator, given as "add" and "Tensor", has a native form (for native types)."""
    return name in NATIVE and f"{name}.{overload}" not in HOST_OVERLOADS
