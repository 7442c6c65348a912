"""Presets, counted back and read in every form."""

from __future__ import annotations

import re

import pytest

from headrace.arch import presets
from headrace.arch.cost import Work, bound
from headrace.arch.device import Device
from headrace.arch.read import read
from headrace.arch.routes import (
    loaders,
    matrix_feeds,
    matrix_unit,
    path,
    pullers,
    readers,
    storers,
    unicast_rate,
    vector_unit,
    writers,
)
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse, print_module


@pytest.fixture(scope="module")
def spyre() -> Device:
    return presets.device("spyre")


def test_spyre_counted_back_is_the_published_card(spyre: Device) -> None:
    pt = spyre.unit("PT")
    assert spyre.instances("PT") == 64
    assert spyre.instances("sfu") == 64
    assert spyre.cores == 32
    assert pt.matrix is not None
    tflops = 2 * pt.matrix.macs["f16"] * spyre.instances(pt) * spyre.clock_mhz * 1e6 / 1e12
    assert tflops == pytest.approx(98.304)
    assert spyre.memory("lx").size_bytes == 2 << 20
    assert spyre.bytes_per_cycle(spyre.memory("hbm").sustained_gbps or 0) == pytest.approx(100)
    rate = unicast_rate(spyre.unit("MNILU"), spyre)
    assert rate is not None
    assert rate == pytest.approx(11.01, abs=0.01)


def test_the_bound_of_add_of_4_mib_tensors_is_161_9k_cycles(spyre: Device) -> None:
    found = bound(Work(read_bytes=8 << 20, write_bytes=4 << 20), spyre)
    assert found.resource == "ddr"
    assert found.cycles == pytest.approx(161.9e3, rel=1e-3)


def test_kinds_and_names_are_found_in_any_spelling(spyre: Device) -> None:
    assert spyre.memory("HBM") is spyre.memory("ddr") is spyre.memory("global")
    assert spyre.memory("LX") is spyre.memory("l1") is spyre.memory("ct_local")
    assert spyre.unit("l1lu").kind == "L1LU"
    assert spyre.link("lx", "L1LU").port == "read"
    assert spyre.link("L1LU", "SFU").capacity_bytes == 2048
    assert presets.device("sample").link("L1LU", "SFU").capacity_bytes == 16 * 128


@pytest.mark.parametrize("kind", ["unit", "memory"])
def test_an_unknown_kind_lists_the_known_ones(spyre: Device, kind: str) -> None:
    with pytest.raises(HeadraceError, match="it has"):
        getattr(spyre, kind)("WHEEL")
    with pytest.raises(HeadraceError, match="MNILU->ct_local"):
        spyre.link("PT", "global")


def test_registers_belong_to_the_unit_in_their_block(spyre: Device) -> None:
    assert spyre.unit("SFU").registers_bytes == 2048
    assert spyre.unit("PT").registers == "PT_XRF"
    assert spyre.unit("L1LU").registers_bytes is None


def test_rings_join_the_stops_of_all_cores(spyre: Device) -> None:
    data = spyre.find_ring("RNGSU", "RNGLU")
    assert data is not None
    assert data.steps == (1, -1)
    assert data.distance(0, 3, 32) == (3, 1)
    assert data.distance(0, 31, 32) == (1, -1)
    sums = [spyre.find_ring("SFU", "SFU", corelet) for corelet in (0, 1)]
    assert [ring.steps for ring in sums if ring] == [(1,), (-1,)]
    assert [ring.hops[0].queue_bytes for ring in sums if ring] == [512, 512]


def test_routes_follow_the_links(spyre: Device) -> None:
    sfu, pt = vector_unit(spyre), matrix_unit(spyre)
    assert sfu is not None
    assert pt is not None
    kinds = [[unit.kind for unit in units] for units in (loaders(spyre), storers(spyre), pullers(spyre))]
    assert kinds == [["MNILU"], ["MNISU"], ["RNGLU"]]
    assert [unit.kind for unit in readers(sfu, spyre)] == ["L1LU"]
    assert [unit.kind for unit in writers(sfu, spyre)] == ["L1SU"]
    feeds = matrix_feeds(spyre)
    assert (feeds.weights.kind, feeds.activations.kind, feeds.partial_sums.kind) == ("XRFLU", "L0LU", "L1LU")
    assert [link.target for link in path("hbm", "SFU", spyre)] == ["MNILU", "ct_local", "L1LU", "SFU"]
    assert path("SFU", "PT", spyre) != ()
    assert path("MNISU", "XRFLU", presets.device("sample")) == ()


def test_a_device_without_a_matrix_unit_has_no_feeds() -> None:
    with pytest.raises(HeadraceError, match="no matrix unit"):
        matrix_feeds(presets.device("sample"))


@pytest.mark.parametrize("name", presets.names())
def test_the_text_of_a_device_reads_back_as_the_same_device(name: str) -> None:
    one = presets.device(name)
    again = read(one.text)
    assert again == one
    assert again.sha256 == one.sha256


@pytest.mark.parametrize("name", presets.names())
def test_every_rate_of_a_preset_has_a_source_or_is_ours(name: str) -> None:
    device = presets.device(name)
    if name == "tiny":
        return
    assert device.sources["global.size"]
    assert device.sources["SFU.op_cycles"]
    assert device.sources["device.clock_mhz"]


def test_one_core_of_spyre_is_spyre_without_rings(spyre: Device) -> None:
    alone = presets.device("spyre-1core")
    assert (alone.cores, alone.rings) == (1, ())
    assert alone.memories == spyre.memories
    assert {unit for unit in map(str, alone.units)} == {
        str(unit) for unit in spyre.units if unit.kind not in ("RNGLU", "RNGSU")
    }
    assert set(alone.links) <= set(spyre.links)


def written_out(text: str, cores: int) -> str:
    """The device text with the core group and the ring stops written once per instance, as public forks
    do.
    """
    head, body = text.split("ktdf_arch.device", 1)
    start = body.index("  %rngsu, %rnglu, %sfu0, %sfu1 = group")
    end = body.index("  // data ring")
    group = body[start:end].replace(", headrace.count = 32", "")
    groups, rings = [], []
    names = ("rngsu", "rnglu", "sfu0", "sfu1")
    for core in range(cores):
        first, rest = group.split("= group", 1)
        results = ", ".join(f"%{name}_{core}" for name in names)
        groups.append(f"  {results} = group{rest}")
    for line in body[end:].splitlines():
        for core in range(cores):
            one = line.replace(", headrace.count = 32", "")
            if "RING_CW" in line or "SUM_CW" in line:
                one = _hop(one, core, (core + 1) % cores)
            elif "RING_CCW" in line or "SUM_CCW" in line:
                one = _hop(one, core, (core - 1) % cores)
            else:
                one = re.sub(r"%(stop|sum[01]|rngsu|rnglu|sfu[01])\b", rf"%\1_{core}", one)
            if line.strip() in ("}", "") or line.strip().startswith("//"):
                one = line if core == 0 else ""
            rings.append(one)
    rings.remove("}")
    ordered = sorted(rings, key=lambda line: "switch" not in line)
    return head + "ktdf_arch.device" + body[:start] + "\n".join(groups) + "\n".join(ordered) + "\n}\n"


def _hop(line: str, here: int, there: int) -> str:
    left, right = line.split(" to ", 1)
    pattern = r"%(stop|sum[01])\b"
    return re.sub(pattern, rf"%\1_{here}", left) + " to " + re.sub(pattern, rf"%\1_{there}", right)


def test_the_written_out_form_is_the_same_device() -> None:
    replicated = presets.device("spyre", {"core.count": 4})
    text = presets.source_text("spyre")
    out = written_out(text, 4)
    assert out.count('kind = "core"') == 4
    device = read(out)
    assert device.cores == 4
    assert device.rings == replicated.rings
    assert device == replicated
    assert device.sha256 == replicated.sha256


def test_an_imported_device_is_resolved_beside_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tiny.mlir").write_text(presets.source_text("tiny"))
    importing = 'ktdf_arch.device @tiny attributes {headrace.clock_mhz = 500} import("tiny.mlir")\n'
    (tmp_path / "mine.mlir").write_text(importing)
    device = presets.device(tmp_path / "mine.mlir")
    assert device.clock_mhz == 500
    assert device.units == presets.device("tiny").units


def test_canonical_text_survives_another_round() -> None:
    text = presets.device("spyre").text
    assert print_module(parse(text)) == text


UNIT = 'ktdf_arch.device @d { group {kind = "core"} share() { %u = exec_unit {BODY} } }'
BROKEN = {
    "module {}": "declares one device",
    'ktdf_arch.device @d { %m = memory {kind = "DDR", size = 8} }': "has no core",
    'ktdf_arch.device @d { %u = exec_unit {kind = "U"} }': "outside a core",
    'ktdf_arch.device @d { group {kind = "core"} share() { %m = memory {kind = "L1"} } }': "needs a size",
    UNIT.replace("BODY", "headrace.setup_cycles = 3"): "needs a kind",
    UNIT.replace("BODY", 'kind = "U", headrace.setup = 3'): "unknown attribute headrace.setup",
    UNIT.replace("BODY", 'kind = "U", headrace.setup_cycles = "x"'): "not of kind int",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_says_what_is_wrong(text: str) -> None:
    with pytest.raises(HeadraceError, match=BROKEN[text]):
        read(text, "broken.mlir")


def test_cores_that_differ_are_refused() -> None:
    unit = '%u = exec_unit {kind = "U", headrace.setup_cycles = %d}'
    core = 'group {kind = "core"} share() { ' + unit + " }"
    with pytest.raises(HeadraceError, match="differ"):
        read("ktdf_arch.device @d {" + core.replace("%d", "1") + core.replace("%d", "2") + "}")


@pytest.mark.parametrize(
    "old,new,said",
    [
        ("headrace.count = 2", "headrace.count = [1]", "count is [1]"),
        ("headrace.count = 2", "headrace.count = 9999999999", "not a number from 1 to"),
        ("headrace.count = 2", "headrace.count = 0", "count is 0"),
        ("i16 = 32", 'i16 = "x"', "lanes has 'x' for i16"),
        ("i16 = 32", "i16 = [1]", "lanes has [1] for i16"),
        ('kind = "SFU"', 'kind = "S+FU"', "'S+FU' is no kind of a unit"),
    ],
)
def test_a_file_with_a_value_of_the_wrong_kind_is_refused(old: str, new: str, said: str) -> None:
    text = presets.source_text("tiny")
    assert old in text
    with pytest.raises(HeadraceError) as caught:
        read(text.replace(old, new, 1))
    assert said in str(caught.value)
