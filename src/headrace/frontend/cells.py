"""The fused cells of recurrent networks that ATen picks for devices it does not know, in plain operators."""

from __future__ import annotations

from typing import Any

import torch


def lstm_cell(inputs: Any, hidden: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """(hidden state, cell state, gates) of an LSTM step from the two projections [batch, 4 * size]."""
    gates = inputs + hidden
    if input_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, c, o = gates.chunk(4, 1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    new_cell = f * cell + i * c
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, c, o], 1)


def gru_cell(inputs: Any, hidden: Any, state: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """(hidden state, what the backward pass needs) of a GRU step from the projections [batch, 3 * size]."""
    if input_bias is not None:
        inputs, hidden = inputs + input_bias, hidden + hidden_bias
    (reset_in, update_in, new_in), (reset, update, new) = inputs.chunk(3, 1), hidden.chunk(3, 1)
    r, z = (reset_in + reset).sigmoid(), (update_in + update).sigmoid()
    n = (new_in + r * new).tanh()
    return n + z * (state - n), torch.cat([r, z, n, state, new], 1)


CELLS = {"_thnn_fused_lstm_cell": lstm_cell, "_thnn_fused_gru_cell": gru_cell}
"""By the operators' names."""
