"""Programs compiled before in the same process: found by content, and by all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import headrace
from headrace.runtime import cache, compiler
from headrace.runtime.kernel import Kernel
from headrace.runtime.smoke import VECTOR_ADD


@pytest.fixture(autouse=True)
def forgetful():
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of kernels that were compiled in full."""
    files: list[str] = []
    whole = compiler._compiled

    def noted(kernel, device, options):
        files.append(kernel.file)
        return whole(kernel, device, options)

    monkeypatch.setattr(compiler, "_compiled", noted)
    return files


def test_equal_texts_are_compiled_once_and_keep_their_own_files(compiled: list[str]) -> None:
    first, second = (Kernel(VECTOR_ADD, file).compile("tiny") for file in ("a.mlir", "b.mlir"))
    assert compiled == ["a.mlir"]
    assert (first.file, second.file) == ("a.mlir", "b.mlir")
    assert second.dfir_module is first.dfir_module and second.dfir == first.dfir


def test_anything_that_changes_the_program_compiles_it_again(compiled: list[str]) -> None:
    kernel = Kernel(VECTOR_ADD)
    wide = headrace.device("tiny", overrides={"hbm.sustained_gbps": 75})
    kernel.compile("tiny")
    for again in (
        lambda: Kernel(VECTOR_ADD + "// another text\n").compile("tiny"),
        lambda: kernel.compile("spyre"),
        lambda: kernel.compile(wide),
        lambda: kernel.compile("tiny", without=["fusion"]),
        lambda: kernel.compile("tiny", effort=2),
        lambda: kernel.compile("tiny", plan=kernel.compile("tiny").plan),
        lambda: kernel.compile("tiny", scalars={"unused": 1}),
        lambda: replace(kernel, is_masked=True).compile("tiny"),
    ):
        count = len(compiled)
        again()
        assert len(compiled) == count + 1
        again()
        assert len(compiled) == count + 1


def test_what_is_done_to_a_program_does_not_reach_the_next_one() -> None:
    kernel = Kernel(VECTOR_ADD)
    first = kernel.compile("tiny")
    first.plan["classes"][0]["phases"][0]["unit"] = "none"
    first.meta["entry"] = "elsewhere"
    second = kernel.compile("tiny")
    assert second.plan["classes"][0]["phases"][0]["unit"] != "none" and "entry" not in second.meta


def test_only_the_programs_asked_for_last_are_kept(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "KEPT", 2)
    texts = [VECTOR_ADD + f"// {k}\n" for k in range(3)]
    for number in (0, 1, 0, 2, 0, 1):
        Kernel(texts[number], str(number)).compile("tiny")
    assert compiled == ["0", "1", "2", "1"]
