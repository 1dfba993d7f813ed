"""Workloads drawn from the operators and their shapes, each as words for `lathe`."""

import random


def size(draw, least, most, step=1):
    return step * draw.randint(least // step, most // step)


def conv2d(draw):
    side, taps = size(draw, 7, 56), draw.choice([1, 3, 5])
    channels, filters = size(draw, 16, 256, 8), size(draw, 16, 256, 8)
    stride = draw.choice([1, 1, 2])
    return ["conv2d", "--input", f"1,{channels},{side},{side}", "--weight",
            f"{filters},{channels},{taps},{taps}", "--pad", str(taps // 2), "--stride", str(stride)]


def depthwise(draw):
    side, taps, channels = size(draw, 14, 112), draw.choice([3, 5, 7]), size(draw, 16, 256, 8)
    return ["conv2d", "--input", f"1,{channels},{side},{side}", "--weight",
            f"{channels},1,{taps},{taps}", "--groups", str(channels), "--pad", str(taps // 2)]


def transposed(draw):
    side, channels, filters = size(draw, 7, 28), size(draw, 16, 128, 8), size(draw, 8, 128, 8)
    return ["conv_transpose2d", "--input", f"1,{channels},{side},{side}", "--weight",
            f"{channels},{filters},4,4", "--stride", "2", "--pad", "1"]


def matmul(draw):
    m, n, k = (size(draw, 24, 768) for _ in "mnk")
    return ["matmul", "--m", str(m), "--n", str(n), "--k", str(k)]


def batch_matmul(draw):
    batch = size(draw, 2, 64)
    m, n, k = (size(draw, 16, 160) for _ in "mnk")
    return ["batch_matmul", "--batch", str(batch), "--m", str(m), "--n", str(n), "--k", str(k)]


def contraction(draw):
    """Two tensors of four indices, two of them summed over, in any order."""
    letters = "abcdef"
    first, second = draw.sample("abef", 4), draw.sample("cdef", 4)
    out = draw.sample("abcd", 4)
    sizes = ",".join(f"{letter}={size(draw, 12, 32, 2)}" for letter in letters)
    return ["einsum", "--subscripts", f"{''.join(first)},{''.join(second)}->{''.join(out)}",
            "--sizes", sizes]


def attention(draw):
    return ["attention", "--heads", str(size(draw, 2, 12)), "--tokens", str(size(draw, 32, 256)),
            "--width", str(size(draw, 16, 96, 8))]


def softmax(draw):
    return ["softmax", "--input", f"{size(draw, 16, 1024)},{size(draw, 32, 2048)}"]


def layer_norm(draw):
    return ["layer_norm", "--input", f"{size(draw, 16, 512)},{size(draw, 64, 2048)}"]


def max_pool2d(draw):
    side = size(draw, 28, 112)
    return ["max_pool2d", "--input", f"1,{size(draw, 16, 128)},{side},{side}", "--kernel", "3",
            "--stride", "2", "--pad", "1"]


def reduce(draw):
    sizes = [size(draw, 16, 128) for _ in range(3)]
    return ["reduce", "--input", ",".join(map(str, sizes)), "--op",
            draw.choice(["sum", "max", "mean"]), "--axes", str(draw.randrange(3))]


def transpose(draw):
    sizes = [size(draw, 16, 128) for _ in range(3)]
    order = draw.choice(["2,1,0", "1,2,0", "0,2,1", "2,0,1"])
    return ["transpose", "--input", ",".join(map(str, sizes)), "--order", order]


OPERATORS = [conv2d, depthwise, transposed, matmul, batch_matmul, contraction, attention, softmax,
             layer_norm, max_pool2d, reduce, transpose]


def drawn(count, seed):
    """An operator comes twice only where all have come."""
    draw = random.Random(seed)
    order = []
    while len(order) < count:
        order += draw.sample(OPERATORS, len(OPERATORS))
    return [operator(random.Random(f"{seed}/{place}"))
            for place, operator in enumerate(order[:count])]
