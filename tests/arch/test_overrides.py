"""`KIND.ATTRIBUTE=VALUE` changes one constant of an architecture."""

from __future__ import annotations

import pytest

from headrace.arch.overrides import parse_changes
from headrace.arch.presets import device
from headrace.arch.read import read
from headrace.ir.diagnostics import HeadraceError


def test_memories_units_links_and_the_device_can_be_changed() -> None:
    changed = device(
        "spyre",
        {
            "hbm.sustained_gbps": 75,
            "LX.size": "1048576",
            "mnilu.outstanding": 8,
            "sfu.op_cycles.function": 6,
            "sfu.lanes.f32": 64,
            "pt.macs.f16": 256,
            "pt.resident_bytes": 16384,
            "ring_cw.bandwidth": 64,
            "l1lu->sfu.queue_depth": 4,
            "L1LU:SFU.queue_bytes": 512,
            "device.clock_mhz": 1000,
            "ddr.multicast.sync_cycles": 7,
        },
    )
    assert changed.memory("ddr").sustained_gbps == 75.0
    assert changed.memory("lx").size_bytes == 1 << 20
    assert changed.unit("MNILU").outstanding == 8
    assert changed.unit("SFU").op_cycles["function"] == 6
    assert changed.lanes("SFU", "f32") == 64
    matrix = changed.unit("PT").matrix
    assert matrix is not None
    assert (matrix.macs["f16"], matrix.macs["bf16"], matrix.resident_bytes) == (256, 512, 16384)
    assert changed.clock_mhz == 1000
    link = changed.link("L1LU", "SFU")
    assert (link.queue_depth, link.queue_bytes) == (4, 512)
    multicast = changed.memory("ddr").multicast
    assert multicast is not None
    assert (multicast.max_consumers, multicast.sync_cycles) == (32, 7)
    assert [ring.hop(1).bandwidth for ring in changed.rings if ring.corelet is None] == [64]


def test_a_change_shows_in_the_digest_and_in_the_text() -> None:
    plain, changed = device("spyre"), device("spyre", {"hbm.sustained_gbps": 75})
    assert plain.sha256 != changed.sha256
    assert read(changed.text) == changed


def test_the_number_of_cores_can_be_changed_where_it_is_written_once() -> None:
    assert device("spyre", {"core.count": 8}).cores == 8
    assert device("spyre", {"device.cores": 2}).rings[0].steps == (1, -1)
    assert device("spyre", {"core.count": 1}).rings == ()
    with pytest.raises(HeadraceError, match="cannot be changed"):
        device("spyre-1core", {"core.count": 2})
    with pytest.raises(HeadraceError, match="no number of cores"):
        device("spyre", {"core.count": 0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("wheel.size", "known: .*mnilu"),
        ("hbm.colour", "known: .*sustained_gbps"),
        ("sfu.op_cycles", "known: .*op_cycles.KEY"),
        ("pt.macs.f64", "known: f16"),
        ("hbm", "names no constant"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(change: str, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        device("spyre", {change: 1})


def test_all_wrong_changes_are_reported_at_once() -> None:
    with pytest.raises(HeadraceError) as caught:
        device("spyre", {"wheel.size": 1, "hbm.colour": 2})
    assert len(caught.value.diagnostics) == 2


def test_a_value_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(HeadraceError, match="no value for hbm.size"):
        device("spyre", {"hbm.size": "big"})


def test_texts_of_the_command_line_are_taken_apart() -> None:
    assert parse_changes(["hbm.sustained_gbps=75", "lx.size = 4096"]) == {
        "hbm.sustained_gbps": "75",
        "lx.size": "4096",
    }
    for text in ("hbm=75", "hbm.size", "hbm.size="):
        with pytest.raises(HeadraceError, match="changes no constant"):
            parse_changes([text])


def test_an_unknown_device_lists_the_presets() -> None:
    with pytest.raises(HeadraceError, match="sample, spyre"):
        device("wheel")


@pytest.mark.parametrize(
    "change,said",
    [
        ("hbm.latency_ns=1e30", "latency_ns is 1e+30"),
        ("hbm.latency_ns=nan", "latency_ns is nan"),
        ("hbm.sustained_gbps=0", "sustained_gbps is 0.0"),
        ("hbm.size=-1", "size is -1"),
        ("hbm.reserved=1", "no list of pairs"),
        ("lx.align_bytes=0", "align_bytes is 0"),
        ("lx.sync_cycles=1", "multicast without max_consumers"),
        ("SFU.rows=3", "matrix without macs"),
        ("SFU.lanes.f16=0", "lanes is 0"),
        ("PT.macs.f16=-1", "macs is -1"),
        ("L1LU->SFU.bandwidth=0", "bandwidth is 0"),
        ("device.clock_mhz=0", "clock_mhz is 0"),
    ],
)
def test_a_constant_no_machine_has_is_refused(change: str, said: str) -> None:
    key, _, value = change.partition("=")
    with pytest.raises(HeadraceError) as caught:
        device("spyre", overrides={key: value})
    assert said in str(caught.value) and "hint:" in str(caught.value)


@pytest.mark.parametrize("change", ["sfu.wide_internal", "l1lu.splat", "rngsu.passive"])
def test_a_flag_can_be_taken_away_and_given(change: str) -> None:
    kind, flag = change.split(".")
    for wanted in (True, False):
        assert getattr(device("spyre", {change: wanted}).unit(kind), flag) is wanted
    with pytest.raises(HeadraceError, match="'perhaps' is no value"):
        device("spyre", {change: "perhaps"})
