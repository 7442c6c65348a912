"""`headrace doctor`: what this installation has, and whether its parts work."""

from __future__ import annotations

import platform


def doctor() -> int:
    """Print versions, then run one small kernel at two levels."""
    from importlib.metadata import PackageNotFoundError, version

    print(f"python {platform.python_version()} on {platform.machine()}")
    for name in (
        "headrace",
        "xdsl",
        "numpy",
        "ml_dtypes",
        "numba",
        "networkx",
        "ortools",
        "torch",
        "transformers",
    ):
        try:
            print(f"{name} {version(name)}")
        except PackageNotFoundError:
            print(f"{name} is missing: pip install {name}")
    return _smoke()


def _smoke() -> int:
    import numpy as np

    from headrace.runtime.kernel import Kernel, interpret
    from headrace.runtime.smoke import VECTOR_ADD

    kernel = Kernel(VECTOR_ADD, "vector_add")
    x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
    on_machine = kernel.compile("tiny").run(x=x, y=y).outputs["z"]
    on_reference = interpret(kernel, x=x, y=y).outputs["z"]
    is_fine = bool((on_machine == x + y).all() and (on_reference == x + y).all())
    print(f"a vector add on tiny: {'right' if is_fine else 'WRONG'} at both levels")
    return 0 if is_fine else 70
