"""DFIR with a long loop on both sides of a buffer that is taken in turns."""

from __future__ import annotations

from tests.machine.test_check_classes import program_text

ROW = (
    "load_order = #same2, load_set = #row, load_time_addr_map = #zero2, store_order = #same2, "
    "store_set = #row, store_time_addr_map = #zero2, time_order = #same, time_set = #once"
)
ROWS = """
#same2 = affine_map<(d0, d1) -> (d0, d1)>
#zero2 = affine_map<(d0) -> (0, 0)>
#row = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#flat = affine_map<(d0, d1) -> (d0 * 64 + d1)>
"""


def ring(
    loads: int = 800,
    stores: int = 800,
    rows: int = 800,
    copies: int = 3,
    credits: int = 3,
    far: int = 10_000_000,
) -> str:
    """Rows loaded into copies of a buffer taken in turns, and stored from there, `far` elements on."""

    def move(source: str, target: str) -> str:
        kinds = [f"memref<{rows}x64xf16>", f"memref<{copies}x64xf16>"]
        kinds = kinds if source.startswith("%d") else kinds[::-1]
        return (
            f"agen.composite_load_and_store src:{source} dst:{target} time_symbols(), "
            f"load_iv(%v:vector<64xf16>) {{{ROW}}} {{ agen.yield }} : {kinds[0]}, {kinds[1]}"
        )

    def views(start: str) -> list[str]:
        return [
            f"%d = dataflow.get_logical_memory_view %hbm, {start} {{layout_map = #flat}} : index, index, "
            f"memref<{rows}x64xf16>",
            "%l = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #flat} : index, index, "
            f"memref<{copies}x64xf16>",
            f"%n = arith.constant {loads} : index",
            f"%m = arith.constant {stores} : index",
            f"%k = arith.constant {credits} : index",
        ]

    give = ["scf.for %i = %c0 to %k step %c1 {", "dataflow.sync_send %ld : index", "}"]
    take = ["scf.for %i = %c0 to %k step %c1 {", "dataflow.sync_recv %st : index", "}"]
    programs = {
        "ld": [
            *views("%c0"),
            "scf.for %t = %c0 to %n step %c1 {",
            "dataflow.sync_recv %st : index",
            move("%d[%t, 0]", f"%l[%t mod {copies}, 0]"),
            "dataflow.sync_send %st : index",
            "}",
            *take,
        ],
        "st": [
            f"%far = arith.constant {far} : index",
            *views("%far"),
            *give,
            "scf.for %t = %c0 to %m step %c1 {",
            "dataflow.sync_recv %ld : index",
            move(f"%l[%t mod {copies}, 0]", "%d[%t, 0]"),
            "dataflow.sync_send %ld : index",
            "}",
        ],
    }
    return ROWS + program_text(programs)
