"""The attributes of an architecture file: where each stands, its type, default and meaning (one table per
resource).

`read` fills the dataclasses of `device` from these tables, `overrides` changes single entries by their
`name`, and the listing of devices prints them. Kinds of values: "int", "float", "flag", "text", "ints" (a
list), "map" (name -> number or name), "names" (class -> list of names), "dict" (a nested dictionary).
Numbers are finite and at least `least` of their attribute.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attribute:
    """One attribute: field name, path of dictionary keys in the text, kind of value, unit of measure,
    meaning, the smallest number it may be.
    """

    name: str
    path: tuple[str, ...]
    kind: str
    unit: str = ""
    meaning: str = ""

    @property
    def least(self) -> float:
        """The smallest number the attribute may be: 0 unless nothing works below something else."""
        return _LEAST.get(self.name, 0)


_LEAST: dict[str, float] = dict.fromkeys(
    "clock_mhz count size_bytes read_bytes_per_cycle write_bytes_per_cycle access_bytes align_bytes"
    " span_bytes banks bank_bytes outstanding request_bytes strided_accesses_per_cycle lanes macs rows"
    " columns resident_bytes bandwidth queue_depth queue_bytes granularity max_consumers".split(),
    1,
) | {"peak_gbps": 1e-6, "sustained_gbps": 1e-6, "step": float("-inf")}


def _headrace(name: str, kind: str, unit: str, meaning: str) -> Attribute:
    return Attribute(name, (f"headrace.{name}",), kind, unit, meaning)


def _feature(feature: str, name: str, kind: str, unit: str, meaning: str, field: str = "") -> Attribute:
    return Attribute(field or name, ("ktdf_arch.features", feature, name), kind, unit, meaning)


_MATRIX = "headrace.feature.matrix"
_QUEUE = "ktdf_arch.feature.queue"
_SIMD = "ktdf_arch.feature.simd"

DEVICE = (
    Attribute("version", ("version",), "int", "", "version of the description"),
    _headrace("clock_mhz", "int", "MHz", "the cycle every rate and latency is counted in"),
    _headrace("signal_cycles", "int", "cycles", "sync_send to visible in a unit of the same core"),
    _headrace("launch_cycles", "int", "cycles", "call of a schedule to its first instruction"),
)
GROUP = (_headrace("count", "int", "", "how many instances the group or switch stands for"),)
MEMORY = (
    Attribute("size_bytes", ("size",), "int", "B", "capacity"),
    _headrace("peak_gbps", "float", "B/ns", "data-sheet figure, for reports only"),
    _headrace("sustained_gbps", "float", "B/ns", "rate in one direction that timing and bound use"),
    _headrace(
        "turnaround_ns_per_byte", "float", "ns/B", "extra time per byte by which min(read, written) grows"
    ),
    _headrace("read_bytes_per_cycle", "int", "B/cycle", "read rate of all ports together"),
    _headrace("write_bytes_per_cycle", "int", "B/cycle", "write rate of all ports together"),
    _headrace("latency_ns", "float", "ns", "request to first byte"),
    _headrace("access_bytes", "int", "B", "burst: a run is rounded out to it"),
    _headrace("align_bytes", "int", "B", "alignment of every allocation"),
    _headrace("reserved", "ints", "B", "pairs lo, hi the scheduler must not use"),
    _headrace("span_bytes", "int", "B", "largest extent of one tensor a core may touch"),
    _headrace("banks", "int", "", "interleaved banks"),
    _headrace("bank_bytes", "int", "B", "width of a bank"),
    _headrace("multicast", "dict", "", "one read answers several consumers"),
)
UNIT = (
    _headrace("passive", "flag", "", "serves transfers of others, has no program"),
    _headrace("setup_cycles", "int", "cycles", "per composite op, before its first request"),
    _headrace("issue_cycles", "int", "cycles", "per op that is not vector work"),
    _headrace("outstanding", "int", "", "requests in flight"),
    _headrace("request_bytes", "int", "B", "size of one request"),
    _headrace("strided_accesses_per_cycle", "int", "1/cycle", "elements of vectors that are not contiguous"),
    _headrace("wide_internal", "flag", "", "f32 inside a step runs at the rate of its widest port"),
    _headrace("op_cycles", "map", "cycles/granule", "issue cycles per class of op"),
    _headrace("op_latency", "map", "cycles", "latency per class of op"),
    _feature(_SIMD, "lanes", "map", "", "elements per granule and type"),
    _feature(_SIMD, "splat", "flag", "", "broadcasts one element"),
    _feature(_SIMD, "zero_pad", "flag", "", "fills masked lanes with zero"),
    Attribute(
        "functions",
        ("ktdf_arch.features", "headrace.feature.functions"),
        "names",
        "",
        "functions by price class",
    ),
    _feature(
        "headrace.feature.indirect",
        "index_types",
        "texts",
        "",
        "gathers or scatters by indices of these types",
    ),
)
MATRIX = (
    _feature(_MATRIX, "macs", "map", "MAC/cycle", "rate per operand type"),
    _feature(_MATRIX, "accumulate", "map", "", "type of the sums per operand type"),
    _feature(_MATRIX, "rows", "int", "", "k per pass"),
    _feature(_MATRIX, "columns", "int", "", "n per pass"),
    _feature(_MATRIX, "resident_bytes", "int", "B", "one block of stationary operands"),
    _feature(_MATRIX, "accumulator_bytes", "int", "B", "sums kept inside"),
    _feature(_MATRIX, "swap_cycles", "int", "cycles", "a new block becomes current"),
    _feature(_MATRIX, "latency_cycles", "int", "cycles", "first operand to first result"),
)
LINK = (
    Attribute("bandwidth", ("ktdf_arch.bandwidth",), "int", "B/cycle", "rate of the link, or of its port"),
    _headrace("sustained_gbps", "float", "B/ns", "caps the bandwidth"),
    _headrace("latency_cycles", "int", "cycles", "entry to exit; ring links: per hop"),
    _headrace("port", "text", "", "links of one name inside a group instance share one bandwidth"),
    _headrace("step", "int", "", "instance i joins instance i + step"),
    _feature(_QUEUE, "depth", "int", "", "transfers in flight", field="queue_depth"),
    _feature(_QUEUE, "size", "int", "B", "bytes in flight", field="queue_bytes"),
    _feature(_QUEUE, "ordered", "flag", "", "first in, first out"),
    Attribute("granularity", ("ktdf_arch.transfer_granularity",), "ints", "B", "allowed transfer sizes"),
)
MULTICAST = (
    Attribute("max_consumers", ("headrace.multicast", "max_consumers"), "int", "", "consumers of one read"),
    Attribute(
        "sync_cycles", ("headrace.multicast", "sync_cycles"), "int", "cycles", "meeting of the requests"
    ),
)

OF_RESOURCE: dict[str, tuple[Attribute, ...]] = {
    "device": DEVICE,
    "group": GROUP,
    "switch": GROUP,
    "memory": MEMORY + MULTICAST,
    "exec_unit": UNIT + MATRIX,
    "datapath": LINK,
}
"""Every attribute by the mnemonic of the op it may stand on."""
