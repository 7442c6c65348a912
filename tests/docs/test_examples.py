"""The examples of the README and the docs run, and print what the pages say they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = [Path("README.md"), *sorted(Path("docs").glob("*.md"))]
BLOCK = re.compile(r"```(python|mlir|console)\n(.*?)```", re.S)
OUTPUT = re.compile(r"<!-- output: (.*?) -->\n```text\n(.*?)```\n<!-- end -->", re.S)


def blocks(kind: str) -> list[tuple[Path, int, str]]:
    """(page, position, text) of every code block of a kind."""
    return [
        (page, match.start(), match.group(2))
        for page in PAGES
        for match in BLOCK.finditer(page.read_text())
        if match.group(1) == kind
    ]


def printed(page: Path, position: int) -> str | None:
    """The text of the output block that follows a position before the next code block, if any."""
    rest = page.read_text()[position:]
    found = OUTPUT.search(rest)
    following = BLOCK.search(rest, 5)
    return found.group(2) if found and (following is None or found.start() < following.start()) else None


def cycles(text: str) -> list[str]:
    """The deterministic figures of an output."""
    return re.findall(r"([\d,]+) cycles|cycles +([\d,]+)", text)


@pytest.mark.parametrize("page,position,code", blocks("python"), ids=lambda x: str(x)[:24])
def test_a_python_example_runs(page: Path, position: int, code: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = printed(page, position)
    if said:
        assert cycles(done.stdout) == cycles(said)


@pytest.mark.parametrize("page,position,code", blocks("mlir"), ids=lambda x: str(x)[:24])
def test_a_kernel_example_runs(page: Path, position: int, code: str, tmp_path: Path) -> None:
    path = tmp_path / "exponential.mlir"
    path.write_text(code)
    headrace = str(Path(sys.executable).parent / "headrace")
    done = subprocess.run([headrace, "run", path.name], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = printed(page, position)
    assert said is not None
    assert [line for line in done.stdout.splitlines() if "wall " not in line] == said.strip().splitlines()
    assert subprocess.run([headrace, "check", path.name], cwd=tmp_path, capture_output=True).returncode == 0


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
