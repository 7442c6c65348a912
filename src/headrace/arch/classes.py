"""Which price class an op belongs to, for every op name of KTIR (arith, math, spyreop) and DFIR
(vectorchain).

Classes are those of `headrace.op_cycles`: move arith compare select convert shuffle integer divide function
special lane_reduce; FREE ops are wiring or names (constants, splats, receive and send) and cost nothing
beside another op.
"""

from __future__ import annotations

from headrace.arch.device import Unit
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location

FREE = "free"
CLASSES = "move arith compare select convert shuffle integer divide function special lane_reduce".split()

_BY_CLASS = {
    "arith": "binary addf subf mulf negf maximumf minimumf maxnumf minnumf absf copysign floor ceil trunc"
    " round roundeven fma"
    " add sub mul max min abs_max abs_min mul_div2 neg multiply multiply_and_accumulate clampf",
    "integer": "addi subi muli andi ori xori shli shrsi shrui maxsi maxui minsi minui absi"
    " and0 or0 xnor and_not"
    " ctpop ctlz cttz mulsi_extended mului_extended addui_extended",
    "compare": "cmpf cmpi isnan isinf isfinite isnormal element_wise_compare create_affine_mask",
    "select": "select element_wise_selection",
    "convert": "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui index_cast index_castui cast",
    "shuffle": "shuffle rotate pack merge",
    "divide": "divf remf divsi divui remsi remui ceildivsi ceildivui floordivsi",
    "special": "sin cos tan erf erfc pow powf fpowi ipowi atan atan2 asin acos sinh cosh asinh"
    " acosh atanh gelu sincos",
    "function": "exp exp2 expm1 log log2 log10 log1p reciprocal rsqrt sqrt cbrt tanh sigmoid softplus",
    "lane_reduce": "scan_with_gap",
    FREE: "constant constant_bitstream bitcast shape_cast receive send broadcast extract splat index yield",
}
_CLASS_OF = {name: kind for kind, names in _BY_CLASS.items() for name in names.split()}

_FUNCTION_OF = {
    "fast_exp": "exp",
    "exp_estimate": "exp",
    "rec_estimate": "reciprocal",
    "rsqrt_estimate": "rsqrt",
    "ln_estimate": "log",
    "ln": "log",
    "sigmoid_estimate": "sigmoid",
    "tanh_estimate": "tanh",
    "powf": "pow",
    "fpowi": "pow",
    "ipowi": "pow",
    "erfc": "erf",
}
"""Ops whose name is not the name of the function they compute."""


def function_of(op_name: str) -> str | None:
    """Return the mathematical function an op computes ("math.exp", "vectorchain.fast_exp" -> "exp"), or
    None.
    """
    short = op_name.rsplit(".", 1)[-1]
    function = _FUNCTION_OF.get(short, short)
    return function if _CLASS_OF.get(function) in ("function", "special") else None


def op_class(op_name: str, unit: Unit | None = None, where: Location | None = None) -> str:
    """Return the price class of an op; with `unit`, functions are classed by what that unit offers.

    Raises HeadraceError for an op no vector unit runs, or a function that `unit` does not list.
    """
    short = op_name.rsplit(".", 1)[-1]
    function = function_of(op_name)
    if function is not None and unit is not None and unit.functions:
        return _offered(function, unit, op_name, where)
    if op_name == "vectorchain.select":
        return FREE
    found = _CLASS_OF.get(function or short)
    if found is None:
        raise HeadraceError(Diagnostic("no price class for this op", where, op_name))
    return found


def _offered(function: str, unit: Unit, op_name: str, where: Location | None) -> str:
    for kind, names in unit.functions.items():
        if function in names:
            return kind
    known = ", ".join(sorted(name for names in unit.functions.values() for name in names))
    message = f"unit {unit.kind} does not compute {function!r}"
    raise HeadraceError(Diagnostic(message, where, op_name, hint=f"headrace.feature.functions lists {known}"))
