"""`--set bounds=mask`: what lies outside of a view reads 0 and writes nothing, on every tile too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headrace.cli.main import exit_code

KERNEL = """#id = affine_map<(i) -> (i)>
#all = affine_set<(i) : (i >= 0, 7 - i >= 0)>
func.func @k(%x: index, %y: index) attributes {grid = [1]} {
  %vx = ktdp.construct_memory_view %x, sizes: [8], strides: [1] {coordinate_set = #all, memory_space = #ktdp.memory_space<global>} : memref<8xf32>
  %vy = ktdp.construct_memory_view %y, sizes: [8], strides: [1] {coordinate_set = #all, memory_space = #ktdp.memory_space<global>} : memref<8xf32>
  %tx = ktdp.construct_access_tile %vx[AT] {access_tile_order = #id, access_tile_set = #all} : memref<8xf32> -> !ktdp.access_tile<8xindex>
  %ty = ktdp.construct_access_tile %vy[0] {access_tile_order = #id, access_tile_set = #all} : memref<8xf32> -> !ktdp.access_tile<8xindex>
  %v = ktdp.load %tx : <8xindex> -> tensor<8xf32>
  ktdp.store %v, %ty : tensor<8xf32>, <8xindex>
  return
}
"""  # noqa: E501


@pytest.mark.parametrize("at", [5, -3])
def test_a_tile_that_reaches_out_of_its_view_reads_zeros_there(tmp_path: Path, at: int) -> None:
    path, given, result = tmp_path / "k.mlir", tmp_path / "in.npz", tmp_path / "out.npz"
    path.write_text(KERNEL.replace("AT", str(at)))
    x = np.arange(1, 9, dtype=np.float32)
    np.savez(given, x=x)
    command = ["run", str(path), "--engine", "reference", "--inputs", str(given), "--outputs", str(result)]
    assert exit_code([*command, "--set", "bounds=mask"]) == 0
    wanted = np.zeros(8, np.float32)
    for i in range(8):
        if 0 <= at + i < 8:
            wanted[i] = x[at + i]
    assert np.array_equal(np.load(result)["y"], wanted)


def test_without_the_option_it_is_an_error_with_the_option_in_its_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL.replace("AT", "5"))
    assert exit_code(["run", str(path), "--engine", "reference"]) == 1
    said = capsys.readouterr().err
    assert f"{path}:6:3: error: ktdp.construct_access_tile: coordinates 5 to 12 of dim 0" in said
    assert "--set bounds=mask" in said
