"""PyTorch → KTIR: the device "headrace", the Inductor back-end and the lowering of loop programs."""

import torch  # noqa: F401  first: `import torch` loads `headrace.frontend.autoload`, which imports this room
