"""Entry point that `import torch` calls: makes the device "headrace" known, cheaply."""


def autoload() -> None:
    """Register the device."""
