"""Models in plain PyTorch: a residual network, a U-Net, an unrolled LSTM, a recommender."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Made = tuple[nn.Module, dict[str, Any]]


def convolved(inside: int, outside: int, window: int = 3, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the image's size (but for the stride), and its batch norm."""
    convolution = nn.Conv2d(inside, outside, window, stride, padding=window // 2, bias=False)
    norm = nn.BatchNorm2d(outside)
    nn.init.uniform_(norm.running_mean, -0.2, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return nn.Sequential(convolution, norm)


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = convolved(inside, outside, 3, stride), convolved(outside, outside)
        is_same = inside == outside and stride == 1
        self.shortcut = nn.Identity() if is_same else convolved(inside, outside, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class ResNet18(nn.Module):
    """ResNet-18 (He et al., 2016) with narrow layers."""

    def __init__(self, width: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.stem = convolved(3, width, 7, 2)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(a if k == 0 else b, b, 2 if k == 0 and stage else 1)
                for stage, (a, b) in enumerate(zip(widths, widths[1:], strict=False))
                for k in range(2)
            )
        )
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class UNet(nn.Module):
    """U-Net (Ronneberger et al., 2015): two levels down, two up, by transposed convolution and by nearest."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()

        def twice(inside: int, outside: int) -> nn.Sequential:
            return nn.Sequential(
                convolved(inside, outside), nn.ReLU(), convolved(outside, outside), nn.ReLU()
            )

        self.down1, self.down2 = twice(3, width), twice(width, 2 * width)
        self.middle = twice(2 * width, 4 * width)
        self.grow2, self.grow1 = (
            nn.ConvTranspose2d(4 * width, 2 * width, 2, 2),
            nn.Conv2d(2 * width, width, 1),
        )
        self.up2, self.up1 = twice(4 * width, 2 * width), twice(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = self.down1(x)
        coarse = self.down2(F.max_pool2d(fine, 2))
        x = self.middle(F.max_pool2d(coarse, 2))
        x = self.up2(torch.cat([coarse, self.grow2(x)], 1))
        x = self.grow1(F.interpolate(x, scale_factor=2, mode="nearest"))
        return self.head(self.up1(torch.cat([fine, x], 1)))


class LSTM(nn.Module):
    """Two LSTM layers, unrolled over the sequence, over embedded tokens."""

    def __init__(self, vocabulary: int = 64, width: int = 48, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.cells = nn.ModuleList(nn.LSTMCell(width, width) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        steps = self.embedding(tokens).unbind(1)
        for cell in self.cells:
            h = c = torch.zeros_like(steps[0])
            outputs = []
            for x in steps:
                gates = F.linear(x, cell.weight_ih, cell.bias_ih) + F.linear(h, cell.weight_hh, cell.bias_hh)
                i, f, g, o = gates.chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                outputs.append(h)
            steps = tuple(outputs)
        return self.head(torch.stack(steps, 1))


class DLRM(nn.Module):
    """DLRM (Naumov et al., 2019): dense features, bags of embeddings, their products by pairs."""

    def __init__(self, rows: tuple[int, ...] = (100, 37, 8), width: int = 16, dense: int = 13) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, width, mode="sum") for n in rows)
        pairs = (len(rows) + 1) * len(rows) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("pairs", torch.tril_indices(len(rows) + 1, len(rows) + 1, -1))

    def forward(self, dense: torch.Tensor, bags: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        features = torch.stack(
            [x, *(table.weight[bags[:, k]].sum(1) for k, table in enumerate(self.tables))], 1
        )
        products = features @ features.transpose(1, 2)
        taken = products[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([x, taken], 1)))


def resnet18() -> Made:
    return ResNet18(), {"x": torch.randn(2, 3, 64, 64)}


def unet() -> Made:
    return UNet(), {"x": torch.randn(1, 3, 32, 32)}


def lstm() -> Made:
    return LSTM(), {"tokens": torch.randint(0, 64, (3, 8))}


def dlrm() -> Made:
    return DLRM(), {"dense": torch.randn(16, 13), "bags": torch.randint(0, 8, (16, 3, 4))}


MODELS: dict[str, Callable[[], Made]] = {"resnet-18": resnet18, "u-net": unet, "lstm": lstm, "dlrm": dlrm}
