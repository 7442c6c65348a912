"""Which language a module is written in."""

from __future__ import annotations

from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location

Language = Literal["ktir", "ktdf", "dfir", "arch"]
_DIALECTS: dict[str, Language] = {
    "dataflow": "dfir",
    "agen": "dfir",
    "vectorchain": "dfir",
    "ktdf": "ktdf",
    "ktdf_lowering": "ktdf",
    "ktdp": "ktir",
    "spyreop": "ktir",
    "ktdf_arch": "arch",
}
_ORDER: tuple[Language, ...] = ("dfir", "ktdf", "ktir", "arch")


def language(module: ModuleOp) -> Language:
    """The lowest language present.

    Unit programs make it dfir, pipelines ktdf, functions ktir, a device alone arch. KTDFLow
    (`ktdf_lowering` beside unit handles, no `program_unit`) counts as ktdf. Raises HeadraceError for a
    module without function and device.
    """
    names = {op.name for op in module.walk()}
    found = {lang for name in names if (lang := _DIALECTS.get(name.split(".", 1)[0]))}
    if "dataflow.program_unit" not in names and "ktdf" in found:
        found.discard("dfir")
    for lang in _ORDER:
        if lang in found and not (lang == "arch" and "func.func" in names):
            return lang
    if "func.func" in names:
        return "ktir"
    raise HeadraceError(
        Diagnostic("the module holds no function and no device", location(module), hint="is the file empty?")
    )
