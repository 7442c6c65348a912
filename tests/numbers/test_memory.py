import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.numbers.memory import ALIGNMENT, Memory, OutOfMemory


def test_112_gib_cost_only_what_is_touched():
    memory = Memory(112 * 2**30)
    address = memory.allocate_at(100 * 2**30, 64)
    assert address is None
    view = memory.view(100 * 2**30, "f32", 16)
    assert not view.any()
    view[:] = 3.0
    assert memory.bytes[100 * 2**30 : 100 * 2**30 + 4].view(np.float32)[0] == 3.0


def test_blocks_are_aligned_apart_and_never_at_zero():
    memory = Memory(2**20)
    addresses = [memory.allocate(n) for n in (1, 128, 129, 0)]
    assert all(a % ALIGNMENT == 0 and a > 0 for a in addresses) and len(set(addresses)) == 4
    assert memory.allocate(10, align=4096) % 4096 == 0


def test_freed_neighbours_join_into_one_hole():
    memory = Memory(ALIGNMENT * 5)
    blocks = [memory.allocate(ALIGNMENT) for _ in range(4)]
    for at in (1, 3, 2, 0):
        memory.free(blocks[at])
    assert memory.allocate(4 * ALIGNMENT) == blocks[0]


def test_running_out_says_how_much_was_asked_for_and_left():
    memory = Memory(1024)
    with pytest.raises(OutOfMemory, match="2000 bytes requested, 1024 of 1024 bytes free") as caught:
        memory.allocate(2000)
    assert caught.value.requested_bytes == 2000 and caught.value.largest_bytes == 1024


def test_freeing_twice_or_something_else_is_a_key_error():
    memory = Memory(1024)
    address = memory.allocate(64)
    memory.free(address)
    with pytest.raises(KeyError):
        memory.free(address)


def test_a_fixed_address_can_be_taken_once():
    memory = Memory(4096)
    memory.allocate_at(0, 64)
    memory.allocate_at(1030, 8)
    with pytest.raises(ValueError, match="allocated already"):
        memory.allocate_at(1100, 8)
    memory.free(1030)
    memory.allocate_at(1100, 8)
    with pytest.raises(OutOfMemory):
        memory.allocate_at(4090, 8)


def test_a_view_outside_the_memory_is_an_index_error():
    memory = Memory(1024)
    with pytest.raises(IndexError, match="outside"):
        memory.view(1020, "f64", 1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2000)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_blocks_never_overlap_and_all_bytes_come_back(steps):
    memory = Memory(2**14)
    blocks: dict[int, int] = {}
    for is_allocation, n in steps:
        if is_allocation:
            try:
                blocks[memory.allocate(n)] = n
            except OutOfMemory:
                continue
        elif blocks:
            address = sorted(blocks)[n % len(blocks)]
            del blocks[address]
            memory.free(address)
        spans = sorted((a, a + n) for a, n in blocks.items())
        assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
    for address in blocks:
        memory.free(address)
    assert memory.free_bytes == 2**14 and memory.allocated_bytes == 0
    assert memory.allocate(2**14 - ALIGNMENT) == ALIGNMENT
