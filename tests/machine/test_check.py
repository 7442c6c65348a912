"""The sanitizer is silent on correct programs and names what is wrong with broken ones."""

import re
from collections.abc import Callable

import pytest

from headrace.machine.check import Finding, by_category, sanitize
from headrace.machine.execute import execute
from tests.machine import samples
from tests.machine.samples import Sample


def found(sample: Sample, source: str, blank: tuple[tuple[int, int], ...] = ()) -> list[Finding]:
    """The findings on a program text with the sample's inputs."""
    return sanitize(samples.image_of(source), sample.memory(), dict(sample.scalars), blank=blank)


def categories(findings: list[Finding]) -> set[str]:
    return {f.category for f in findings}


def without(source: str, *marks: str) -> str:
    return "\n".join(line for line in source.split("\n") if not any(m in line for m in marks))


@pytest.mark.parametrize("make", samples.ALL, ids=lambda f: f.__name__)
def test_sample_program_is_clean_and_memory_stays_as_it_was(make: Callable[[], Sample]) -> None:
    sample = make()
    memory = sample.memory()
    before = memory.bytes.copy()
    image = samples.image_of(samples.text(sample.name))
    assert sanitize(image, memory, dict(sample.scalars)) == []
    assert (memory.bytes == before).all()


def test_every_single_signal_of_elementwise_matters() -> None:
    lines = samples.text("elementwise").split("\n")
    syncs = [k for k, line in enumerate(lines) if "dataflow.sync_" in line]
    assert len(syncs) == 33
    for k in syncs:
        source = "\n".join(lines[:k] + lines[k + 1 :])
        assert found(samples.elementwise(), source), lines[k]


@pytest.mark.parametrize("name", ["elementwise", "attention", "matmul"])
def test_signals_of_one_label_matter_unless_others_imply_them(name: str) -> None:
    source = samples.text(name)
    for label in sorted(set(re.findall(r'dbgName = "([^"]+)"', source))):
        findings = found(getattr(samples, name)(), without(source, f'dbgName = "{label}"'))
        is_implied = (name, label) == ("attention", "free.P")
        assert bool(findings) != is_implied, label


def test_a_race_names_both_accesses() -> None:
    source = without(samples.text("softmax"), '"full.y"')
    (race,) = [f for f in found(samples.softmax(), source) if f.category == "races"]
    lines = source.split("\n")
    assert re.match(
        r"C0-mnisu reads byte \d+ of lx not ordered after the write of C0-l1su-CL0", race.message
    ) or (re.match(r"C0-l1su-CL0 writes byte \d+ of lx not ordered after the read of C0-mnisu", race.message))
    assert race.other is not None
    assert "composite" in lines[race.where.line - 1]
    assert "composite" in lines[race.other.line - 1] or "receive" in lines[race.other.line - 1]


def test_using_an_index_tile_in_flight_needs_a_fence() -> None:
    (race,) = found(samples.gather(), without(samples.text("gather"), "fence"))
    assert race.category == "races" and "a fence is missing" in race.message


def test_cores_that_write_the_same_bytes_race() -> None:
    source = samples.text("multicast").replace("[%mnisu1 -> %c2048]", "[%mnisu1 -> %c1536]")
    assert source != samples.text("multicast")
    races = [f for f in found(samples.multicast(), source) if f.category == "races"]
    assert races and "nothing orders the two" in races[0].message


def test_reading_rows_nobody_wrote_is_found() -> None:
    source = samples.text("transpose").replace(
        "time_set = affine_set<(d0) : (d0 >= 0, -d0 + 47 >= 0)>",
        "time_set = affine_set<(d0) : (d0 >= 0, -d0 + 40 >= 0)>",
    )
    assert "uninitialised" in categories(found(samples.transpose(), source))


def test_reading_blank_device_memory_is_found() -> None:
    source = samples.text("softmax")
    assert categories(found(samples.softmax(), source, blank=((9000, 9600),))) == {"uninitialised"}
    assert found(samples.softmax(), source, blank=((9600, 19200),)) == []


def test_misaligned_scratchpad_views_are_found() -> None:
    source = samples.text("softmax").replace("%c5120 = arith.constant 5120", "%c5120 = arith.constant 5130")
    assert categories(found(samples.softmax(), source)) == {"alignment"}


def test_positions_beyond_a_view_are_found() -> None:
    source = samples.text("elementwise").replace("src:%x[%t * 8, 0]", "src:%x[%t * 12, 0]", 1)
    (finding,) = [f for f in found(samples.elementwise(), source) if f.category == "out_of_bounds"]
    assert "positions 24 to 31 are outside a view of size 30" in finding.message


def test_labels_that_do_not_match_are_found() -> None:
    source = samples.text("softmax").replace(
        'sync_recv %mnilu {dbgName = "full.x"}', 'sync_recv %mnilu {dbgName = "full.z"}'
    )
    (finding,) = found(samples.softmax(), source)
    assert finding.category == "signals" and "the next signal of C0-mnilu is full.x" in finding.message


def test_messages_left_over_are_found() -> None:
    source = samples.text("layernorm").replace(
        "dataflow.send %sfu, %b : vector<300xf16>", "dataflow.send %sfu, %b : vector<300xf16>\n" * 2
    )
    assert categories(found(samples.layernorm(), source)) == {"fifo"}


def test_a_full_queue_that_never_drains_is_a_deadlock_only_with_real_capacities() -> None:
    """The vector unit waits for a signal that its reader sends after 16 rows; the queue holds 2048 bytes."""
    rows = "dataflow.send %sfu, %v : vector<300xf16>"
    source = samples.text("softmax")
    start = source.index(rows)
    end = source.index(": memref<16x300xf16>", start) + len(": memref<16x300xf16>")
    source = source[:end] + '\n      dataflow.sync_send %sfu {dbgName = "go"} : index' + source[end:]
    source = source.replace(
        "scf.for %r = %c0 to %c16",
        'dataflow.sync_recv %l1lu {dbgName = "go"} : index\n      scf.for %r = %c0 to %c16',
        1,
    )
    sample = samples.softmax()
    memory = sample.memory()
    execute(samples.image_of(source), memory, {})
    sample.check(memory)
    findings = found(sample, source)
    assert categories(findings) == {"deadlocks"}
    assert any("C0-l1lu-CL0 waits for space to send 600 bytes to C0-sfu-CL0" in f.message for f in findings)


def test_a_deadlock_of_signals_is_found() -> None:
    source = samples.text("softmax").replace('dataflow.sync_send %l1lu {dbgName = "full.x"} : index', "", 1)
    findings = found(samples.softmax(), source)
    assert categories(findings) == {"deadlocks"}
    assert any(
        "C0-l1lu-CL0 waits for a signal full.x from C0-mnilu, which has ended" in f.message for f in findings
    )


def test_json_has_every_category_and_the_place() -> None:
    findings = found(samples.gather(), without(samples.text("gather"), "fence"))
    out = by_category(findings)
    assert list(out) == [
        "races",
        "deadlocks",
        "uninitialised",
        "out_of_bounds",
        "alignment",
        "fifo",
        "signals",
    ]
    (race,) = out["races"]
    assert race["unit"] == "C0-mnilu" and race["line"] > 0 and race["other"]["line"] > 0
    assert race["op"] == "agen.composite_indirect_load_and_store"
    assert out["deadlocks"] == []
