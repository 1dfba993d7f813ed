"""Rows of convolutions with constant weights between row-major tensors (NCHW): the twelve of
ResNet-18 with and without what follows them, other kernels, strides and dilations, and transposed
ones. Listed before anything was tuned.
"""

from dataclasses import dataclass

from family_row import add
from workloads import CONVOLUTIONS


@dataclass
class Shape:
    batch: int
    channels: int
    height: int
    width: int
    filters: int
    kernel: tuple
    stride: int = 1
    pad: tuple = (0, 0)
    dilation: int = 1

    @property
    def input(self):
        return [self.batch, self.channels, self.height, self.width]

    @property
    def weight(self):
        return [self.filters, self.channels, *self.kernel]

    @property
    def output(self):
        reach = [self.dilation * (taps - 1) + 1 for taps in self.kernel]
        return [self.batch, self.filters,
                *((size + 2 * pad - taps) // self.stride + 1 for size, pad, taps
                  in zip((self.height, self.width), self.pad, reach))]

    def sum(self):
        """The convolution in Lathe's words, without its output."""
        def index(name, tap, pad):
            tapped = f"{self.dilation}*{tap}" if self.dilation > 1 else tap
            at = f"{self.stride}*{name}" if self.stride > 1 else name
            return f"{at}+{tapped}" + (f"-{pad}" if pad else "")

        outside = " else 0" if any(self.pad) else ""
        return (f"sum(c,r,s) X[n,c,{index('y', 'r', self.pad[0])},"
                f"{index('x', 's', self.pad[1])}{outside}] * W[o,c,r,s]")

    def target(self):
        return f"Y[n,o,y:{self.output[2]},x:{self.output[3]}]"

    def words(self):
        """Its parameters, for a call in Python."""
        return f"stride={self.stride}, padding={self.pad}, dilation={self.dilation}"

    def graph_words(self):
        return f"stride={self.stride}, pad={self.pad}, dilation={self.dilation}"


def resnet(name):
    size, channels, filters, kernel, stride = CONVOLUTIONS[name]
    return Shape(1, channels, size, size, filters, (kernel, kernel), stride,
                 (kernel // 2, kernel // 2))


def add_fused():
    """With bias, the residual input and ReLU."""
    for name in CONVOLUTIONS:
        shape = resnet(name)
        graph = f"conv(X, W, b, R, relu=True, {shape.graph_words()})"
        add(f"fused-{name}", "fused",
            f"{shape.target()} = relu(({shape.sum()}) + b[o] + R[n,o,y,x])",
            f"torch.relu(F.conv2d(X, W, b, {shape.words()}) + R)", graph=graph, packed=graph,
            constants=("W", "b"), X=shape.input, W=shape.weight, b=[shape.filters],
            R=shape.output)


def add_convolution(name, family, shape, operator=None):
    graph = f"conv(X, W, {shape.graph_words()})"
    add(name, family, f"{shape.target()} = {shape.sum()}",
        f"F.conv2d(X, W, None, {shape.words()})", graph=graph, packed=graph, constants=("W",),
        operator=operator, X=shape.input, W=shape.weight)


def add_plain():
    for name in CONVOLUTIONS:
        shape = resnet(name)
        add_convolution(f"plain-{name}", "plain", shape,
                        {"kind": "conv2d", "input": shape.input, "weight": shape.weight,
                         "stride": shape.stride, "pad": shape.pad[0], "borders": "plain"})


# batch, channels, height, width, filters, kernel, stride, padding, dilation
KERNELS = {
    "alexnet-11x11-4": Shape(1, 3, 227, 227, 96, (11, 11), 4),
    "alexnet-5x5": Shape(1, 96, 27, 27, 256, (5, 5), 1, (2, 2)),
    "googlenet-5x5": Shape(1, 32, 28, 28, 96, (5, 5), 1, (2, 2)),
    "dcgan-5x5-2": Shape(1, 64, 32, 32, 128, (5, 5), 2, (2, 2)),
    "stem-batch4-7x7-2": Shape(4, 3, 224, 224, 64, (7, 7), 2, (3, 3)),
    "inception-1x7": Shape(1, 128, 17, 17, 128, (1, 7), 1, (0, 3)),
    "inception-7x1": Shape(1, 128, 17, 17, 192, (7, 1), 1, (3, 0)),
    "jasper-1x11": Shape(1, 256, 1, 400, 256, (1, 11), 1, (0, 5)),
    "deeplab-3x3-dilated2": Shape(1, 256, 33, 33, 256, (3, 3), 1, (2, 2), 2),
    "deeplab-3x3-dilated4": Shape(1, 256, 33, 33, 256, (3, 3), 1, (4, 4), 4),
}


def add_kernels():
    for name, shape in KERNELS.items():
        add_convolution(f"kernel-{name}", "kernels", shape)


def add_transposed():
    """The generator of DCGAN: kernels of 4, a stride of 2, a padding of 1. An output has four
    phases by the parity of its coordinates; two taps of either axis meet each."""
    for channels, filters, size in ((512, 256, 4), (256, 128, 8), (128, 64, 16), (64, 3, 32)):
        add(f"transposed-{channels}-{filters}-{size}", "transposed",
            f"output Y: f32[1,{filters},{size},2,{size},2] as [1,{filters},{2 * size},{2 * size}];"
            f" Y[n,o,y,p,x,q] = sum(c,t:2,u:2) X[n,c,y+p-t,x+q-u else 0] * W[c,o,2*t-p+1,2*u-q+1]",
            "F.conv_transpose2d(X, W, None, 2, 1)", graph="conv_transpose(X, W, stride=2, pad=1)",
            constants=("W",), X=[1, channels, size, size], W=[channels, filters, 4, 4])


def add_all():
    add_fused()
    add_plain()
    add_kernels()
    add_transposed()
