"""A model in a process of its own: model.py lathe|inductor|eager THREADS SECONDS-OF-TUNING NAME.

It serves as contestant.py does."""

import sys
import time

from contestant import tell


def block(channels, results, size, stride=1, groups=1):
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(channels, results, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(results), nn.ReLU())


def residual(channels, results, stride):
    from torch import nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = block(channels, results, 3, stride)
            self.second = nn.Sequential(nn.Conv2d(results, results, 3, 1, 1, bias=False),
                                        nn.BatchNorm2d(results))
            self.past = nn.Identity() if stride == 1 and channels == results else nn.Sequential(
                nn.Conv2d(channels, results, 1, stride, bias=False), nn.BatchNorm2d(results))
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.second(self.first(x)) + self.past(x))

    return Residual()


def made(name):
    """ResNet-18 and MobileNet v1 with random weights; nothing but PyTorch is needed."""
    import torch
    from torch import nn

    torch.manual_seed(1)
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    if name == "ResNet-18":
        layers, channels = [block(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
        for results, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                                (512, 1)]:
            layers.append(residual(channels, results, stride))
            channels = results
        return nn.Sequential(*layers, *end, nn.Linear(512, 1000)).eval()
    layers, channels = [block(3, 32, 3, 2)], 32
    for results, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                            *[(512, 1)] * 5, (1024, 2), (1024, 1)]:
        layers += [block(channels, channels, 3, stride, channels), block(channels, results, 1)]
        channels = results
    return nn.Sequential(*layers, *end, nn.Linear(1024, 1000)).eval()


def main():
    import torch

    library, threads, seconds, name = (sys.argv[1], int(sys.argv[2]), float(sys.argv[3]),
                                       sys.argv[4])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    model, x = made(name), torch.rand(1, 3, 224, 224)
    wanted, begin = model(x), time.time()
    if library == "lathe":
        import lathe.torch

        lathe.torch.tune(model, x, seconds=seconds, progress=False)
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=lathe.torch.backend)
        result = compiled(x)
    elif library == "eager":
        compiled, result = model, wanted
    else:
        with torch._inductor.config.patch(freezing=True):
            compiled = torch.compile(model)
            result = compiled(x)
    error = ((result - wanted).abs().max() / wanted.abs().max()).item()
    tell(row=name, kind="", number=0, error_of_result=error, ready_after=time.time() - begin)
    print("ready", flush=True)
    for line in sys.stdin:
        _, repeats = map(int, line.split())
        compiled(x)
        begin = time.perf_counter()
        for _ in range(repeats):
            compiled(x)
        print((time.perf_counter() - begin) / repeats, flush=True)


if __name__ == "__main__":
    main()
