"""Fills in every figure of the documentation by running what it describes: `make docs`.

A block `<!-- output: COMMAND --> ... <!-- end -->` gets the output of its command,
`<!-- table: NAME --> ... <!-- end -->` the table of that name. "python" stands for the Python block before
it, "exponential.mlir" for the KTIR block before it.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import modeltable
from constants import constants
from legality import legality_table, settings_table
from optables import DFIR_DIALECTS, DIALECTS, beside_dfir_table, dfir_options, dfir_table, op_table

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"<!-- (output|table): (.*?) -->\n.*?<!-- end -->", re.S)
CODE = re.compile(r"```(python|mlir)\n(.*?)```", re.S)
SLOW = ("make demo", "make test", "python -m tests.mutants", "packing")
"""Commands whose output is only replaced when their log is given: `generate.py --log "make demo" FILE`."""


def main(arguments: list[str]) -> None:
    """Rewrite README.md and docs/*.md."""
    reader = argparse.ArgumentParser(description="Fills in every figure of the documentation.")
    slow = "output of a slow command, of a run of some models, or the JSON rows of the packing benchmark"
    reader.add_argument("--log", nargs=2, action="append", default=[], metavar=("NAME", "FILE"), help=slow)
    reader.add_argument("--only", action="append", default=[], metavar="NAME", help="fill these blocks only")
    given = reader.parse_args(arguments)
    logs = {name: Path(file).read_text() for name, file in given.log}
    only = set(given.only)
    if modeltable.COMMAND in logs:
        modeltable.keep(logs[modeltable.COMMAND])
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")

        def filled(match: re.Match[str], text: str = text) -> str:
            return match.group() if only and match.group(2) not in only else block(match, text, logs)

        fresh = BLOCK.sub(filled, text)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


def block(match: re.Match[str], page: str, logs: dict[str, str]) -> str:
    """The block with what belongs in it now."""
    kind, what = match.groups()
    if what in SLOW and what not in logs:
        return match.group()
    if what == "packing":
        return f"<!-- table: packing -->\n{packing(json.loads(logs[what])['rows'])}\n<!-- end -->"
    body = TABLES[what]() if kind == "table" else f"```text\n{output(what, page[: match.start()], logs)}\n```"
    return f"<!-- {kind}: {what} -->\n{body}\n<!-- end -->"


def output(command: str, before: str, logs: dict[str, str]) -> str:
    """What a command prints, without measured wall times of this machine."""
    if command in logs:
        return logs[command].rstrip()
    code = [text for _, text in CODE.findall(before)]
    with tempfile.TemporaryDirectory() as folder:
        if command == "python":
            (Path(folder) / "example.py").write_text(code[-1])
            words = [sys.executable, str(Path(folder) / "example.py")]
        else:
            (Path(folder) / "exponential.mlir").write_text(code[-1] if code else "")
            words = shlex.split(command)
            words[0] = str(Path(sys.executable).parent / words[0])
        cwd = folder if "exponential.mlir" in command else ROOT
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True)
    return "\n".join(
        line for line in done.stdout.rstrip().splitlines() if not line.strip().startswith("wall ")
    )


def kernels_by_device() -> str:
    """Every kernel on every device: cycles and their ratio to the bound, or why it cannot run there."""
    sys.path.insert(0, str(ROOT))
    from tests.kernels.coverage import DEVICES, KERNELS, outcome

    lines = [f"| kernel | {' | '.join(DEVICES)} |", "|---|" + "---|" * len(DEVICES)]
    for kernel in KERNELS:
        lines.append(f"| {kernel} | {' | '.join(outcome(kernel, device) for device in DEVICES)} |")
    return "\n".join(lines)


def benchmark(title: str) -> str:
    """One table of the schedule benchmark."""
    head, *lines = _benchmark()[title]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


@cache
def _benchmark() -> dict[str, list[list[str]]]:
    sys.path.insert(0, str(ROOT))
    from benchmarks.schedule import rows, tables

    return tables(rows())


def packing(rows: list[dict[str, Any]]) -> str:
    """The packing benchmark from its JSON rows, a set a line."""
    lines = ["| set | within capacity in 60 s | quick orders above the live bytes |", "|---|---|---|"]
    for packed, gap in zip(rows[:-1:2], rows[1:-1:2], strict=True):
        verdict = "yes" if packed["met"] else "no"
        lines.append(f"| {packed['name'].split()[0]} | {verdict} | {gap['value']:.1f} % |")
    total = rows[-1]
    verdict = "met" if total["met"] else "missed"
    return "\n".join(
        [*lines, f"| {total['name']} | {total['value']} | target {total['target']}: {verdict} |"]
    )


def native_operators() -> str:
    """The ATen operators that run in our kernels."""
    from headrace.frontend.ops import NATIVE

    return ", ".join(f"`{name}`" for name in sorted(NATIVE))


def operators() -> str:
    """Every native ATen operator by family, with what of it runs on the host and why."""
    from headrace.frontend import ops

    families = {
        "pointwise, casts, fills": ops.POINTWISE,
        "reductions, norms, scans, sorts": ops.REDUCTIONS,
        "contractions": ops.CONTRACTIONS,
        "gathers and scatters": ops.INDEXED,
        "movement": ops.MOVEMENT,
    }
    types = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in ops.DTYPES))
    lines = ["| operators | where | on the host |", "|---|---|---|"]
    for family, names in families.items():
        plain = ", ".join(f"`{name}`" for name in sorted(names - ops.LIMITS.keys()))
        lines.append(f"| {family}: {plain} | native | other types than {types} |")
        lines += [f"| `{name}` | native | {ops.LIMITS[name]} |" for name in sorted(names & ops.LIMITS.keys())]
    lines.append("| everything else | host | no native form |")
    return "\n".join(lines)


def passes() -> str:
    """The passes of `headrace opt` with their options."""
    from headrace.ir.passes import PASSES

    lines = ["| pass | what it does | options and defaults |", "|---|---|---|"]
    for name, found in sorted(PASSES.items()):
        options = ", ".join(f"`{key}={str(value).lower()}`" for key, value in found.options.items())
        lines.append(f"| `{name}` | {found.summary} | {options} |")
    return "\n".join(lines)


def fidelity(name: str) -> str:
    """Predicted against published, of the card or of the second architecture, with the scores below."""
    sys.path.insert(0, str(ROOT))
    from benchmarks import fidelity

    return fidelity.card_text() if name == "spyre" else fidelity.second_text()


def by_vectors() -> str:
    """Programs in another scheduler's style: ratio to the bound, and why, as `headrace explain` says it."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.kernels.by_vectors import KINDS, Stream

    from headrace.report.explain import explain
    from headrace.runtime.kernel import Kernel

    lines = ["| program | cores | cycles | ratio | why |", "|---|---|---|---|---|"]
    for kind in KINDS:
        for cores in (2, 32):
            text = Stream(kind, cores, 3 if cores == 2 else 2, 2).text()
            found = explain(Kernel(text, kind).compile("spyre"))
            cycles = found.facts.timing.cycles
            ratio = cycles / found.facts.bound.cycles
            lines.append(f"| {kind} | {cores} | {cycles:,} | {ratio:.2f} | {'; '.join(found.style)} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "by vectors": by_vectors,
    "kernels by device": kernels_by_device,
    **{
        f"benchmark: {title}": partial(benchmark, title)
        for title in ("cycles over the bound", "cycles without an optimisation", "on other devices")
    },
    "native operators": native_operators,
    "operators": operators,
    "models": modeltable.table,
    "passes": passes,
    "legality": legality_table,
    "settings": settings_table,
    **{f"constants of {name}": partial(constants, name) for name in ("spyre", "sample", "tiny", "tpuv3")},
    **{f"fidelity of {name}": partial(fidelity, name) for name in ("spyre", "tpuv3")},
    **{f"{dialect} ops": partial(op_table, dialect) for dialect in DIALECTS},
    **{f"{dialect} ops": partial(dfir_table, dialect) for dialect in DFIR_DIALECTS},
    "ops beside dfir": beside_dfir_table,
    "dfir settings": dfir_options,
}

if __name__ == "__main__":
    main(sys.argv[1:])
