"""Models for images that torchvision does not have: a U-Net, and YOLOv8n as its exporter writes it.

Both are PyTorch alone, of fixed sizes, with random weights.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Twice(nn.Sequential):
    """Two convolutions of 3x3, each with what makes it easy to train."""

    def __init__(self, ins: int, outs: int) -> None:
        super().__init__(
            nn.Conv2d(ins, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(),
            nn.Conv2d(outs, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(),
        )  # fmt: skip


class UNet(nn.Module):
    """Ronneberger's, padded: what goes down by poolings comes up again beside what was there."""

    def __init__(self, width: int = 32, levels: int = 4, classes: int = 2,
                 bilinear: bool = False) -> None:  # fmt: skip
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.first = Twice(3, width)
        self.down, self.up, self.join = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for above, below in zip(widths, widths[1:]):
            self.down.append(nn.Sequential(nn.MaxPool2d(2), Twice(above, below)))
            larger = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"),
                                   nn.Conv2d(below, above, 1))  # fmt: skip
            self.up.append(larger if bilinear else nn.ConvTranspose2d(below, above, 2, 2))
            self.join.append(Twice(2 * above, above))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        left = [self.first(x)]
        for down in self.down:
            left.append(down(left[-1]))
        y = left.pop()
        for up, join in zip(reversed(self.up), reversed(self.join)):
            y = join(torch.cat([left.pop(), up(y)], 1))
        return self.last(y)


class Conv(nn.Sequential):
    def __init__(self, ins: int, outs: int, size: int = 1, stride: int = 1) -> None:
        super().__init__(nn.Conv2d(ins, outs, size, stride, size // 2, bias=False),
                         nn.BatchNorm2d(outs, eps=1e-3), nn.SiLU())  # fmt: skip


class Bottleneck(nn.Module):
    def __init__(self, width: int, residual: bool) -> None:
        super().__init__()
        self.convs = nn.Sequential(Conv(width, width, 3), Conv(width, width, 3))
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        return x + self.convs(x) if self.residual else self.convs(x)


class C2f(nn.Module):
    """Of one half of the channels bottlenecks make more, and all of them are joined."""

    def __init__(self, ins: int, outs: int, count: int, residual: bool = False) -> None:
        super().__init__()
        half = outs // 2
        self.first, self.last = Conv(ins, outs), Conv((2 + count) * half, outs)
        self.inner = nn.ModuleList(Bottleneck(half, residual) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.first(x).chunk(2, 1))
        for inner in self.inner:
            parts.append(inner(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Sppf(nn.Module):
    """Poolings one after the other, joined: windows of 1, 5, 9 and 13."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.last = Conv(width, width // 2), Conv(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class Detect(nn.Module):
    """Boxes and scores: a side of a box is the mean of a distribution over distances."""

    DISTANCES = 16

    def __init__(self, widths: list[int], classes: int, image: int, strides: list[int]) -> None:
        super().__init__()
        boxes, scores = max(16, widths[0] // 4, 4 * self.DISTANCES), max(widths[0], classes)

        def head(ins: int, inner: int, outs: int) -> nn.Module:
            return nn.Sequential(Conv(ins, inner, 3), Conv(inner, inner, 3),
                                 nn.Conv2d(inner, outs, 1))  # fmt: skip

        self.boxes = nn.ModuleList(head(w, boxes, 4 * self.DISTANCES) for w in widths)
        self.scores = nn.ModuleList(head(w, scores, classes) for w in widths)
        self.mean = nn.Conv2d(self.DISTANCES, 1, 1, bias=False)
        with torch.no_grad():
            self.mean.weight.copy_(torch.arange(float(self.DISTANCES)).view(1, -1, 1, 1))
        anchors, scales = [], []
        for stride in strides:  # pixels of an image, row by row
            at = torch.arange(image // stride) + 0.5
            y, x = torch.meshgrid(at, at, indexing="ij")
            anchors.append(torch.stack([x.flatten(), y.flatten()]))
            scales.append(torch.full((1, at.numel() ** 2), float(stride)))
        self.register_buffer("anchors", torch.cat(anchors, 1)[None])
        self.register_buffer("strides", torch.cat(scales, 1))

    def forward(self, images: list[Tensor]) -> Tensor:
        made = [torch.cat([boxes(x), scores(x)], 1)
                for x, boxes, scores in zip(images, self.boxes, self.scores)]  # fmt: skip
        rows = torch.cat([x.flatten(2) for x in made], 2)
        boxes, scores = rows.split([4 * self.DISTANCES, rows.shape[1] - 4 * self.DISTANCES], 1)
        batch, _, count = boxes.shape
        likely = boxes.view(batch, 4, self.DISTANCES, count).transpose(1, 2).softmax(1)
        before, after = self.mean(likely).view(batch, 4, count).chunk(2, 1)
        low, high = self.anchors - before, self.anchors + after
        box = torch.cat([(low + high) / 2, high - low], 1)  # centres and sizes
        return torch.cat([box * self.strides, scores.sigmoid()], 1)


class Yolo(nn.Module):
    """YOLOv8n: a third of the depth and a quarter of the width of YOLOv8."""

    def __init__(self, image: int = 640, classes: int = 80) -> None:
        super().__init__()
        self.to_8 = nn.Sequential(Conv(3, 16, 3, 2), Conv(16, 32, 3, 2), C2f(32, 32, 1, True),
                                  Conv(32, 64, 3, 2), C2f(64, 64, 2, True))  # fmt: skip
        self.to_16 = nn.Sequential(Conv(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.to_32 = nn.Sequential(Conv(128, 256, 3, 2), C2f(256, 256, 1, True), Sppf(256))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.up_16, self.up_8 = C2f(384, 128, 1), C2f(192, 64, 1)
        self.down_16, self.joined_16 = Conv(64, 64, 3, 2), C2f(192, 128, 1)
        self.down_32, self.joined_32 = Conv(128, 128, 3, 2), C2f(384, 256, 1)
        self.detect = Detect([64, 128, 256], classes, image, [8, 16, 32])

    def forward(self, x: Tensor) -> Tensor:
        by_8 = self.to_8(x)
        by_16 = self.to_16(by_8)
        by_32 = self.to_32(by_16)
        up_16 = self.up_16(torch.cat([self.up(by_32), by_16], 1))
        up_8 = self.up_8(torch.cat([self.up(up_16), by_8], 1))
        down_16 = self.joined_16(torch.cat([self.down_16(up_8), up_16], 1))
        down_32 = self.joined_32(torch.cat([self.down_32(down_16), by_32], 1))
        return self.detect([up_8, down_16, down_32])
