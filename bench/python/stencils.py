#!/usr/bin/env python3
"""Stencil pipelines against Halide with its autoschedulers, f32, one thread, calls in turns.

Usage: stencils.py [--tune SECONDS] [--seconds SECONDS] [NAME ...]
  --tune SECONDS     tunes each program for so long; by default it is the predicted one
  --seconds SECONDS  how long a race takes (default 10)
  NAME               of the pipelines below (default: all)

Halide's schedule is the faster one of those that Mullapudi2016 and Adams2019 make.
"""

import argparse
import os
import pathlib
import warnings

os.environ["HL_NUM_THREADS"] = "1"

import halide as hl  # noqa: E402
import lathe  # noqa: E402
import numpy as np  # noqa: E402
from turns import mean, seconds_of  # noqa: E402

LEVELS, TONES = 4, 8  # of pyramids; of the local Laplacian filter


warnings.filterwarnings("ignore", message="The floating-point value")  # of f32, as is meant


class Halide:
    """A pipeline of one input, scheduled by an autoscheduler and compiled."""

    def __init__(self, make, shape, scheduler):
        self.input = hl.ImageParam(hl.Float(32), len(shape), "X")
        for dim, extent in enumerate(reversed(shape)):
            self.input.dim(dim).set_bounds(0, extent)
            self.input.dim(dim).set_estimate(0, extent)
        func, out = make(self.input, shape)
        func.set_estimates([hl.Range(0, extent) for extent in reversed(out)])
        self.pipeline = hl.Pipeline(func)
        target = hl.get_host_target()
        self.pipeline.apply_autoscheduler(
            target, hl.AutoschedulerParams(scheduler, {"parallelism": "1"}))
        self.pipeline.compile_jit(target)
        self.out = np.zeros(out, "f4")
        self.buffer = hl.Buffer(self.out)

    def __call__(self, x):
        self.input.set(hl.Buffer(x))
        self.pipeline.realize(self.buffer)
        return self.out


X, Y, C = hl.Var("x"), hl.Var("y"), hl.Var("c")


def func(name, args, body):
    made = hl.Func(name)
    made[tuple(args)] = body
    return made


# Harris corners: gradients of 3x3, their products summed up over 3x3.
def harris_text(shape):
    h, w = shape
    k = [-1 / 12, 0, 1 / 12, -1 / 6, 0, 1 / 6, -1 / 12, 0, 1 / 12]
    return f"""X: f32[{h},{w}]; K: f32[3,3] = {{{",".join(f"{v:.9f}" for v in k)}}}
U[y,x] = sum(r,s) X[y+r,x+s]*K[r,s]
V[y,x] = sum(r,s) X[y+r,x+s]*K[s,r]
A[y,x] = sum(r:3,s:3) U[y+r,x+s]*U[y+r,x+s]
B[y,x] = sum(r:3,s:3) V[y+r,x+s]*V[y+r,x+s]
D[y,x] = sum(r:3,s:3) U[y+r,x+s]*V[y+r,x+s]
Y[y,x] = A[y,x]*B[y,x]-D[y,x]*D[y,x]-0.04*(A[y,x]+B[y,x])*(A[y,x]+B[y,x])"""


def harris_halide(p, shape):
    def gradient(a, b):  # along one axis, smoothed along the other
        return sum((1 / 12, 1 / 6, 1 / 12)[r] * (b(r) - a(r)) for r in range(3))

    u = func("u", (X, Y), gradient(lambda r: p[X, Y + r], lambda r: p[X + 2, Y + r]))
    v = func("v", (X, Y), gradient(lambda r: p[X + r, Y], lambda r: p[X + r, Y + 2]))

    def windows(name, a, b):
        product = func(name + "_product", (X, Y), a[X, Y] * b[X, Y])
        return func(name, (X, Y), sum(product[X + s, Y + r] for r in range(3) for s in range(3)))

    a, b, d = windows("a", u, u), windows("b", v, v), windows("d", u, v)
    trace = a[X, Y] + b[X, Y]
    made = func("harris", (X, Y), a[X, Y] * b[X, Y] - d[X, Y] * d[X, Y] - 0.04 * trace * trace)
    return made, (shape[0] - 4, shape[1] - 4)


# A chain of box filters of three taps in each direction.
def blurs_text(count):
    def text(shape):
        h, w = shape
        lines, last = [f"X: f32[{h},{w}]"], "X"
        for n in range(count):
            lines.append(f"H{n}[y,x] = ({last}[y,x] + {last}[y,x+1] + {last}[y,x+2])/3")
            last = "Y" if n + 1 == count else f"V{n}"
            lines.append(f"{last}[y,x] = (H{n}[y,x] + H{n}[y+1,x] + H{n}[y+2,x])/3")
        return "\n".join(lines)
    return text


def blurs_halide(count):
    def make(p, shape):
        last = p
        for n in range(count):
            row = func(f"h{n}", (X, Y), (last[X, Y] + last[X + 1, Y] + last[X + 2, Y]) / 3.0)
            last = func(f"v{n}", (X, Y), (row[X, Y] + row[X, Y + 1] + row[X, Y + 2]) / 3.0)
        return last, (shape[0] - 2 * count, shape[1] - 2 * count)
    return make


GAUSS = [0.00443305, 0.05400558, 0.24203623, 0.39905028, 0.24203623, 0.05400558, 0.00443305]


# Unsharp mask of a picture of three channels: the grey picture, blurred by seven taps.
def unsharp_text(shape):
    _, h, w = shape
    taps = ",".join(map(str, GAUSS))
    return f"""X: f32[3,{h},{w}] in 0.1..1; K: f32[7] = {{{taps}}}
G[y:{h},x:{w}] = 0.299*X[0,y,x] + 0.587*X[1,y,x] + 0.114*X[2,y,x]
V[y,x] = sum(r) G[y+r,x]*K[r]
B[y,x] = sum(s) V[y,x+s]*K[s]
R[y,x] = (2*G[y+3,x+3] - B[y,x]) / G[y+3,x+3]
Y[c,y,x] = R[y,x]*X[c,y+3,x+3]"""


def unsharp_halide(p, shape):
    grey = func("grey", (X, Y), 0.299 * p[X, Y, 0] + 0.587 * p[X, Y, 1] + 0.114 * p[X, Y, 2])
    rows = func("rows", (X, Y), sum(GAUSS[r] * grey[X, Y + r] for r in range(7)))
    blur = func("blur", (X, Y), sum(GAUSS[s] * rows[X + s, Y] for s in range(7)))
    middle = grey[X + 3, Y + 3]
    ratio = func("ratio", (X, Y), (2.0 * middle - blur[X, Y]) / middle)
    made = func("unsharp", (X, Y, C), ratio[X, Y] * p[X + 3, Y + 3, C])
    return made, (3, shape[1] - 6, shape[2] - 6)


# Pyramids: half as large a level by the taps 1 3 3 1, twice as large by 3 1, edges repeated.
DOWN = (0.125, 0.375, 0.375, 0.125)


def sizes_of(shape, levels):
    h, w = shape
    return [((h + (1 << n) - 1) >> n, (w + (1 << n) - 1) >> n) for n in range(levels)]


def head_of(tone):
    """How a statement declares the tone that its reads have as an index, "k," or none."""
    return f"{tone[:-1]}:{TONES}," if tone else ""


def down_text(name, source, size, smaller, tone=""):
    h, w = size
    head = head_of(tone)
    return [f"{name}h[{head}y:{h},x:{smaller[1]}] = sum(s:4) "
            f"{source}[{tone}y,min(max(2*x+s-1,0),{w - 1})]*T[s]",
            f"{name}[{head}y:{smaller[0]},x:{smaller[1]}] = sum(r:4) "
            f"{name}h[{tone}min(max(2*y+r-1,0),{h - 1}),x]*T[r]"]


def up_text(name, source, size, smaller, tone=""):
    h, w = size
    sh, sw = smaller
    head = head_of(tone)
    return [f"{name}h[{head}y:{sh},x:{w}] = 0.75*{source}[{tone}y,x/2] + "
            f"0.25*{source}[{tone}y,min(max(x/2-1+2*(x%2),0),{sw - 1})]",
            f"{name}[{head}y:{h},x:{w}] = 0.75*{name}h[{tone}y/2,x] + "
            f"0.25*{name}h[{tone}min(max(y/2-1+2*(y%2),0),{sh - 1}),x]"]


def pyramid_text(shape):
    sizes = sizes_of(shape, LEVELS)
    lines = [f"X: f32[{shape[0]},{shape[1]}]; T: f32[4] = {{0.125,0.375,0.375,0.125}}"]
    names = ["X"] + [f"G{n}" for n in range(1, LEVELS)]
    for n in range(1, LEVELS):
        lines += down_text(names[n], names[n - 1], sizes[n - 1], sizes[n])
    last = names[-1]
    for n in reversed(range(LEVELS - 1)):
        h, w = sizes[n]
        lines += up_text(f"U{n}", names[n + 1], sizes[n], sizes[n + 1])
        lines += up_text(f"P{n}", last, sizes[n], sizes[n + 1])
        last = "Y" if n == 0 else f"O{n}"
        lines.append(f"{last}[y:{h},x:{w}] = P{n}[y,x] + 1.5*({names[n]}[y,x] - U{n}[y,x])")
    return "\n".join(lines)


def clamped(source, size, rest):
    """A function of any position, whose edges repeat those of the size."""
    h, w = size
    return lambda x, y: source[(hl.clamp(x, 0, w - 1), hl.clamp(y, 0, h - 1), *rest)]


def down_halide(name, source, size, rest=()):
    f = clamped(source, size, rest)
    rows = func(name + "h", (X, Y, *rest), sum(DOWN[s] * f(2 * X + s - 1, Y) for s in range(4)))
    # The rows are clamped where they are read.
    g = clamped(rows, (size[0], 1 << 30), rest)
    return func(name, (X, Y, *rest), sum(DOWN[r] * g(X, 2 * Y + r - 1) for r in range(4)))


def up_halide(name, source, size, rest=()):
    f = clamped(source, size, rest)
    wide = func(name + "h", (X, Y, *rest),
                0.75 * f(X // 2, Y) + 0.25 * f(X // 2 - 1 + 2 * (X % 2), Y))
    g = clamped(wide, (size[0], 1 << 30), rest)
    return func(name, (X, Y, *rest),
                0.75 * g(X, Y // 2) + 0.25 * g(X, Y // 2 - 1 + 2 * (Y % 2)))


def pyramid_halide(p, shape):
    sizes = sizes_of(shape, LEVELS)
    g = [func("g0", (X, Y), p[X, Y])]
    for n in range(1, LEVELS):
        g.append(down_halide(f"g{n}", g[n - 1], sizes[n - 1]))
    last = g[-1]
    for n in reversed(range(LEVELS - 1)):
        up = up_halide(f"u{n}", g[n + 1], sizes[n + 1])
        before = up_halide(f"p{n}", last, sizes[n + 1])
        last = func(f"o{n}", (X, Y), before[X, Y] + 1.5 * (g[n][X, Y] - up[X, Y]))
    return last, shape


# The local Laplacian filter: pyramids of remapped tones, from which each pixel takes its own.
def remap(value, tone):
    return f"({value} + 0.5*({value} - {tone})*exp(-8*({value} - {tone})*({value} - {tone})))"


def laplacian_text(shape):
    sizes = sizes_of(shape, LEVELS)
    h, w = shape
    lines = [f"X: f32[{h},{w}] in 0..1; T: f32[4] = {{0.125,0.375,0.375,0.125}}"]
    lines.append(f"R0[k:{TONES},y:{h},x:{w}] = {remap('X[y,x]', f'f32(k)*{1 / (TONES - 1):.9f}')}")
    names = ["X"] + [f"G{n}" for n in range(1, LEVELS)]
    for n in range(1, LEVELS):
        lines += down_text(names[n], names[n - 1], sizes[n - 1], sizes[n])
        lines += down_text(f"R{n}", f"R{n - 1}", sizes[n - 1], sizes[n], "k,")
    last = None
    for n in reversed(range(LEVELS)):
        ny, nx = sizes[n]
        at = f"[y:{ny},x:{nx}]"
        lines.append(f"L{n}{at} = min(max({names[n]}[y,x]*{TONES - 1}, 0), {TONES - 1.001:.3f})")
        lines.append(f"I{n}{at} = min(max(i32(floor(L{n}[y,x])), 0), {TONES - 2})")
        if n + 1 == LEVELS:
            low, high = f"R{n}[I{n}[y,x],y,x]", f"R{n}[I{n}[y,x]+1,y,x]"
        else:
            lines += up_text(f"W{n}", f"R{n + 1}", sizes[n], sizes[n + 1], "k,")
            low = f"(R{n}[I{n}[y,x],y,x] - W{n}[I{n}[y,x],y,x])"
            high = f"(R{n}[I{n}[y,x]+1,y,x] - W{n}[I{n}[y,x]+1,y,x])"
        lines.append(f"F{n}[y:{ny},x:{nx}] = L{n}[y,x] - f32(I{n}[y,x])")
        own = f"(1 - F{n}[y,x])*{low} + F{n}[y,x]*{high}"
        name = "Y" if n == 0 else f"O{n}"
        if last is None:
            lines.append(f"{name}{at} = {own}")
        else:
            lines += up_text(f"P{n}", last, sizes[n], sizes[n + 1])
            lines.append(f"{name}{at} = P{n}[y,x] + {own}")
        last = name
    return "\n".join(lines)


def laplacian_halide(p, shape):
    sizes = sizes_of(shape, LEVELS)
    g = [func("g0", (X, Y), p[X, Y])]
    tone = hl.cast(hl.Float(32), C) * (1 / (TONES - 1))
    far = g[0][X, Y] - tone
    r = [func("r0", (X, Y, C), g[0][X, Y] + 0.5 * far * hl.exp(-8.0 * far * far))]
    for n in range(1, LEVELS):
        g.append(down_halide(f"g{n}", g[n - 1], sizes[n - 1]))
        r.append(down_halide(f"r{n}", r[n - 1], sizes[n - 1], (C,)))
    last = None
    for n in reversed(range(LEVELS)):
        band = r[n]
        if n + 1 < LEVELS:
            wide = up_halide(f"w{n}", r[n + 1], sizes[n + 1], (C,))
            band = func(f"band{n}", (X, Y, C), r[n][X, Y, C] - wide[X, Y, C])
        level = hl.clamp(g[n][X, Y] * float(TONES - 1), 0.0, TONES - 1.001)
        index = hl.clamp(hl.cast(hl.Int(32), hl.floor(level)), 0, TONES - 2)
        part = level - hl.cast(hl.Float(32), index)
        own = (1.0 - part) * band[X, Y, index] + part * band[X, Y, index + 1]
        if last is not None:
            own = own + up_halide(f"p{n}", last, sizes[n + 1])[X, Y]
        last = func(f"o{n}", (X, Y), own)
    return last, shape


PIPELINES = {
    "harris": (harris_text, harris_halide, (770, 1026)),
    "harris-large": (harris_text, harris_halide, (1540, 2567)),
    "blur": (blurs_text(1), blurs_halide(1), (1538, 2562)),
    "blurs-3": (blurs_text(3), blurs_halide(3), (770, 1030)),
    "blurs-7": (blurs_text(7), blurs_halide(7), (1031, 1500)),
    "unsharp": (unsharp_text, unsharp_halide, (3, 1031, 1287)),
    "pyramid": (pyramid_text, pyramid_halide, (768, 1280)),
    "local-laplacian": (laplacian_text, laplacian_halide, (512, 768)),
}


def of_halide(make, shape, x, seconds):
    """The faster one of what the autoschedulers make, and whose it is."""
    made = []
    for scheduler in ("Mullapudi2016", "Adams2019"):
        try:
            made.append((scheduler, Halide(make, shape, scheduler)))
        except RuntimeError as error:
            print(f"  {scheduler}: {str(error).splitlines()[0]}")
    times = seconds_of([lambda call=call: call(x) for _, call in made], seconds)
    return made[min(range(len(made)), key=lambda n: times[n][0])]


def race(name, tuning, seconds):
    text, make, shape = PIPELINES[name]
    x = np.random.default_rng(1).random(shape, "f4") * np.float32(0.9) + np.float32(0.1)
    source = text(shape)
    given = dict(threads=1, progress=False) if tuning else dict(threads=1)
    kernel = (lathe.tune(source, seconds=tuning, trials=100_000, **given) if tuning
              else lathe.compile(source, **given))
    scheduler, peer = of_halide(make, shape, x, min(seconds, 2))
    error = float(np.abs(kernel(x) - peer(x)).max() / np.abs(peer(x)).max())
    assert error < 1e-4, f"{name}: the results differ by {error}"
    (mine, least), (theirs, their_least) = seconds_of([lambda: kernel(x), lambda: peer(x)], seconds)
    print(f"| {name} | {'x'.join(map(str, shape))} | {mine * 1e3:.3f} ({least * 1e3:.3f}) | "
          f"{theirs * 1e3:.3f} ({their_least * 1e3:.3f}) | {scheduler} | {theirs / mine:.2f} | "
          f"{their_least / least:.2f} |", flush=True)
    return theirs / mine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    unknown = set(given.names) - set(PIPELINES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(PIPELINES)}")
    folder = next(pathlib.Path(hl.__file__).parent.glob("lib*"))
    for scheduler in ("mullapudi2016", "adams2019"):
        hl.load_plugin(str(folder / f"libautoschedule_{scheduler}.so"))
    print("| pipeline | size | lathe | halide | scheduler | ratio | of the fastest |")
    print("|---|---|---|---|---|---|---|")
    ratios = [race(name, given.tune, given.seconds) for name in given.names or PIPELINES]
    print(f"\nGeometric mean {mean(ratios):.2f}. Times are ms, the median and the fastest call.")


if __name__ == "__main__":
    main()
