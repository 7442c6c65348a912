"""The first graph of a process is decomposed by our rules, though Inductor asks for the back-end only when it
looks into its cache, or, without one, when the graph is traced already.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import torch
import headrace

headrace.set_fallback("error")
model = torch.nn.GRUCell(6, 4).eval()
x = torch.randn(3, 6)
with torch.no_grad():
    expected = model(x)
    compiled = torch.compile(model.to("headrace") if {on_device} else model, **{options})
    result = compiled(x.to("headrace") if {on_device} else x).cpu()
torch.testing.assert_close(result, expected)
"""


@pytest.mark.parametrize("on_device, options", [(True, {}), (False, {"backend": "headrace"})])
def test_the_first_graph_of_a_process_leaves_no_fused_cell_to_the_host(
    tmp_path: Path, on_device: bool, options: dict[str, str]
) -> None:
    environment = os.environ | {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    }
    script = SCRIPT.format(on_device=on_device, options=options)
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
