"""What gathers and scatters take: a request a row, one transfer after the other, their indices first."""

from __future__ import annotations

import pytest
from benchmarks.schedule import timed_cycles

from headrace import ktir
from headrace.arch.presets import device as preset
from headrace.runtime.kernel import Kernel

CASES = [(1000, 0, 1), (64, 64, 1), (64, 64, 8), (256, 16, 4), (200, 300, 2)]


def rows_by_index(rows: int, columns: int, tiles: int, is_gather: bool) -> Kernel:
    """Tiles that gather or scatter so many rows of an f32 table each (elements, without columns)."""
    shape = (rows * tiles, *([columns] if columns else []))
    with ktir.kernel("rows", grid=[tiles]) as k:
        x, y = (k.argument(name, shape, "f32") for name in "xy")
        ids, first = k.argument("ids", (rows * tiles,), "i32"), k.tile_id() * rows
        here = slice(first, first + rows)
        rest = (slice(None),) * (len(shape) - 1)
        picked = (ids[here], *rest)
        if is_gather:
            y[(here, *rest)] = x[picked].load() * 2.0
        else:
            y[picked] = x[(here, *rest)].load() * 2.0
    return k.kernel


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("is_gather", [False, True])
@pytest.mark.parametrize("rows, columns, tiles", CASES)
def test_rows_by_index_take_as_long_as_predicted(device, is_gather, rows, columns, tiles):
    program = rows_by_index(rows, columns, tiles, is_gather).compile(device)
    assert abs(program.plan["predicted_cycles"] / timed_cycles(program) - 1) < 0.15


@pytest.mark.parametrize("is_gather", [False, True])
@pytest.mark.parametrize("rows, columns, tiles", CASES)
def test_rows_by_index_come_at_the_pace_of_requests(is_gather, rows, columns, tiles):
    """So few tiles of them that hardly anything is waited for between two."""
    chip = preset("spyre")
    unit = chip.unit("MNILU")
    requests = rows * -(-max(columns, 1) * 4 // unit.request_bytes)
    pace = chip.cycles(chip.memory("global").latency_ns) / unit.outstanding
    cycles = timed_cycles(rows_by_index(rows, columns, tiles, is_gather).compile(chip))
    assert cycles < 1.25 * requests * pace + 3000
