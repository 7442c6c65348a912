"""Entry point that `import torch` calls: makes the device "headrace" known, cheaply."""

from __future__ import annotations

import warnings


def autoload() -> None:
    """Registers the device; a failure is a warning, never an error: `import torch` must always work."""
    try:
        from headrace.frontend.device import register

        register()
    except Exception as error:
        warnings.warn(f"the device 'headrace' is not available: {error}", stacklevel=2)
