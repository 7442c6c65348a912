"""Loops and guarded blocks, as `with` statements."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.index import Index
from headrace.runtime.ktir.values import Value


class Loop:
    """A counted loop. `loop.index` is the counter; a carried value `loop.name` reads as what it is at this
    point: assign its next value inside, find its last one afterwards.
    """

    index: Index

    def __init__(self, code: Code, bounds: tuple[Index, Index, Index], carried: dict[str, Value]) -> None:
        for name, value in carried.items():
            if not isinstance(value, Value) or name == "index" or name.startswith("_"):
                hint = "carry tensors and scalars under other names: k.loop(0, n, acc=k.zeros(...))"
                raise wrong(f"'{name}' cannot be carried by a loop", hint)
        self.__dict__.update(_code=code, _bounds=bounds, _start=carried, _now=dict(carried), _results={})

    def __enter__(self) -> Loop:
        code: Code = self._code
        low, high, step = self._bounds
        counter = code.fresh("i")
        if low.range and high.range:
            code.ranges[counter] = (low.range[0], max(low.range[0], high.range[1] - 1))
            if step.range and not low.terms and not high.terms and not step.terms:
                last = range(low.constant, high.constant, step.constant)
                code.ranges[counter] = (low.constant, last[-1] if last else low.constant)
        names = {name: code.fresh(name) for name in self._start}
        head = f"scf.for {counter} = {low.name} to {high.name} step {step.name}"
        if names:
            inits = [f"{names[n]} = {v.use()}" for n, v in self._start.items()]
            types = ", ".join(v.type for v in self._start.values())
            self._results.update({n: code.fresh(n) for n in names})
            head = f"{', '.join(self._results.values())} = {head} iter_args({', '.join(inits)}) -> ({types})"
        block = code.enter(head + " {")
        self.__dict__["index"] = Index(code, {counter: 1}, 0, block)
        for name, value in self._start.items():
            self._now[name] = Value(code, names[name], value.dtype, value.shape, block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        code: Code = self._code
        last = ""
        if self._now:
            types = ", ".join(v.type for v in self._now.values())
            last = f"scf.yield {', '.join(v.use() for v in self._now.values())} : {types}"
        code.leave(last)
        for name, result in self._results.items():
            value = self._start[name]
            self._now[name] = Value(code, result, value.dtype, value.shape, code.block)

    def __getattr__(self, name: str) -> Any:
        carried = self.__dict__["_now"]
        if name not in carried:
            raise wrong(f"the loop carries no '{name}'", f"it carries {', '.join(carried) or 'nothing'}")
        return carried[name]

    def __setattr__(self, name: str, value: Value) -> None:
        old = self.__getattr__(name)
        if not isinstance(value, Value) or value.type != old.type:
            said = value.type if isinstance(value, Value) else type(value).__name__
            raise wrong(f"'{name}' carries {old.type}, its next value is {said}", "cast or reshape it")
        self._now[name] = value


class When:
    """A block that only runs where a condition (i1) holds."""

    def __init__(self, code: Code, condition: Value) -> None:
        if not isinstance(condition, Value) or condition.shape is not None or condition.dtype != "i1":
            raise wrong(
                "the condition of 'when' is no i1 scalar", "compare indices or scalars: k.when(row < 5)"
            )
        self._code, self._condition = code, condition

    def __enter__(self) -> None:
        self._code.enter(f"scf.if {self._condition.use()} {{")
        self._code.guards += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._code.leave()
            self._code.guards -= 1
