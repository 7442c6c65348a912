"""KTIR kernels whose tiles exchange values."""

from __future__ import annotations

from tests.schedule.ktir_texts import box, identity

OPS = {"add": ("arith.addf", 0.0), "max": ("arith.maximumf", float("-inf")), "mul": ("arith.mulf", 1.0)}


def exchange(
    tiles: int,
    rows: int,
    columns: int,
    dtype: str,
    size: int = 0,
    combiner: str = "add",
    shift: int = 0,
    first_only: bool = False,
    loop: str = "",
    more: str = "",
) -> str:
    """y[t] = the combination of x over the group of `size` tiles that t is in, or x[t + shift].

    x and y are [tiles, rows, columns]. `first_only`: only the first tile of a group gets it. `loop`: the
    bound of a loop around the exchange, as text that may name %tile; `more`: further functions.
    """
    shape, kind = f"{rows}x{columns}", f"tensor<1x{rows}x{columns}x{dtype}>"
    whole = f"memref<{tiles}x{shape}x{dtype}>"
    tile = f"!ktdp.access_tile<1x{shape}xindex>"
    got = f"<({kind}), groups = #groups>"
    if size:
        groups = tiles // size
        members = f"affine_set<(t)[g] : (t - {size} * g >= 0, {size} * g + {size - 1} - t >= 0)>"
        one = f"affine_set<(t)[g] : (t - {size} * g == 0)>"
        delivered = reduced(kind, dtype, combiner, got)
    else:
        groups, members = 1, f"affine_set<(t)[g] : (t >= 0, {tiles - 1} - t >= 0)>"
        one = members
        delivered = (
            "%total = ktdp.inter_tile_consume(%future) consumer_tiles_per_group = #takers, "
            f"producer_dependency_per_consumer = #other : {got} -> {kind}"
        )
    body = f"""
    %future = ktdp.inter_tile_produce producer_tiles_per_group = #members -> {got} {{
    ^bb0(%group: index):
      ktdp.yield_partial %own : {kind}
    }}
    {delivered}
    {"scf.if %is_first {" if first_only else ""}
    ktdp.store %total, %y_tile : {kind}, <1x{shape}xindex>
    {"}" if first_only else ""}"""
    if loop:
        body = f"scf.for %i = %c0 to {loop} step %c1 {{{body}\n    }}"
    return f"""#id = {identity(3)}
#whole = {box(tiles, rows, columns)}
#part = {box(1, rows, columns)}
#groups = affine_set<(g) : (g >= 0, {groups - 1} - g >= 0)>
#members = {members}
#takers = {one if first_only else members}
#other = affine_set<(p)[c] : (p - (c + {shift}) mod {tiles} == 0)>
module {{
  func.func @exchange(%x: index, %y: index) attributes {{grid = [{tiles}]}} {{
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %size = arith.constant {max(size, 1)} : index
    %place = arith.remui %tile, %size : index
    %is_first = arith.cmpi eq, %place, %c0 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [{tiles}, {rows}, {columns}], strides: [{rows * columns}, {columns}, 1] {{coordinate_set = #whole, memory_space = #ktdp.memory_space<global>}} : {whole}
    %y_view = ktdp.construct_memory_view %y, sizes: [{tiles}, {rows}, {columns}], strides: [{rows * columns}, {columns}, 1] {{coordinate_set = #whole, memory_space = #ktdp.memory_space<global>}} : {whole}
    %x_tile = ktdp.construct_access_tile %x_view[%tile, 0, 0] {{access_tile_order = #id, access_tile_set = #part}} : {whole} -> {tile}
    %y_tile = ktdp.construct_access_tile %y_view[%tile, 0, 0] {{access_tile_order = #id, access_tile_set = #part}} : {whole} -> {tile}
    %own = ktdp.load %x_tile : <1x{shape}xindex> -> {kind}
    {body}
    return
  }}
{more}}}
"""  # noqa: E501


def reduced(kind: str, dtype: str, combiner: str, got: str) -> str:
    """The reduction of a group's values."""
    if dtype == "i32":
        name, neutral = {"min": ("arith.minsi", 2**31 - 1)}[combiner]
    else:
        name, neutral = OPS[combiner]
    number = f"{neutral}" if dtype == "i32" else {0.0: "0.0", 1.0: "1.0"}.get(neutral) or "0xFF800000"
    return f"""%neutral = arith.constant {number} : {dtype}
    %empty = tensor.empty() : {kind}
    %start = linalg.fill ins(%neutral : {dtype}) outs(%empty : {kind}) -> {kind}
    %total = ktdp.inter_tile_reduce(%future) consumer_tiles_per_group = #takers, identity(%start : {kind}) : {got} -> {kind} {{
    ^bb0(%left: {kind}, %right: {kind}):
      %both = {name} %left, %right : {kind}
      ktdp.yield_reduced %both : {kind}
    }}"""  # noqa: E501


def copy_of(tiles: int, rows: int, columns: int, dtype: str) -> str:
    """A second kernel on the first `tiles` tiles: z[t] = y[t], both [tiles, rows, columns]."""
    shape, whole = f"{rows}x{columns}", f"memref<{tiles}x{rows}x{columns}x{dtype}>"
    strides = f"strides: [{rows * columns}, {columns}, 1]"
    lines = [f"  func.func @copy(%y: index, %z: index) attributes {{grid = [{tiles}]}} {{"]
    lines.append("    %tile = ktdp.get_compute_tile_id : index")
    for name in "yz":
        view = f"    %{name}_view = ktdp.construct_memory_view %{name}, sizes: [{tiles}, {rows}, {columns}], "
        view += f"{strides} {{coordinate_set = {box(tiles, rows, columns)}, "
        lines.append(f"{view}memory_space = #ktdp.memory_space<global>}} : {whole}")
        tile = f"    %{name}_tile = ktdp.construct_access_tile %{name}_view[%tile, 0, 0] "
        tile += f"{{access_tile_order = #id, access_tile_set = #part}} : {whole} "
        lines.append(f"{tile}-> !ktdp.access_tile<1x{shape}xindex>")
    lines.append(f"    %row = ktdp.load %y_tile : <1x{shape}xindex> -> tensor<1x{shape}x{dtype}>")
    lines.append(f"    ktdp.store %row, %z_tile : tensor<1x{shape}x{dtype}>, <1x{shape}xindex>")
    return "\n".join([*lines, "    return", "  }", ""])
