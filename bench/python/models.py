#!/usr/bin/env python3
"""Whole architectures with random weights inside torch.compile: backend "lathe" against Inductor
with frozen weights, whole calls, one thread.

Usage: models.py [SECONDS-OF-TUNING-A-MODEL [NAME...]]   (default 60, all)
"""

import sys
import time

import lathe.torch
import torch
import torchvision
import transformers
from turns import mean, row, seconds_of

VISION = ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1",
          "shufflenet_v2_x1_0", "efficientnet_b0", "mnasnet1_0", "densenet121", "googlenet",
          "regnet_y_400mf", "convnext_tiny", "vgg11", "alexnet", "resnext50_32x4d", "vit_b_16"]
TEXT = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(num_hidden_layers=4)),
    "distilbert": lambda: transformers.DistilBertModel(transformers.DistilBertConfig(n_layers=4)),
    "gpt2": lambda: transformers.GPT2Model(transformers.GPT2Config(n_layer=4)),
    "albert": lambda: transformers.AlbertModel(
        transformers.AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072,
                                  num_hidden_layers=4)),
}


class Tensors(torch.nn.Module):
    """A language model whose result is a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, use_cache=False)[0] if self.caches else self.model(tokens)[0]

    @property
    def caches(self):
        return isinstance(self.model, transformers.GPT2Model)


def made(name):
    torch.manual_seed(3)
    if name in TEXT:
        return Tensors(TEXT[name]()).eval(), torch.randint(0, 1000, (1, 32))
    model = getattr(torchvision.models, name)(weights=None)
    size = 64 if name == "vit_b_16" else 224
    if name == "vit_b_16":
        model = torchvision.models.VisionTransformer(64, 16, 4, 12, 768, 3072)
        torch.nn.init.normal_(model.heads.head.weight)  # else zeros, and so the result
    return model.eval(), torch.rand(1, 3, size, size)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    names = sys.argv[2:] or [*VISION, *TEXT]
    torch.set_num_threads(1)
    print(f"{'microseconds a call':38} {'lathe':>9} {'inductor':>9}   ratio  compiled in")
    ratios = []
    for name in names:
        model, x = made(name)
        with torch.no_grad():
            want = model(x)
        if seconds > 0:
            lathe.torch.tune(model, x, seconds=seconds, progress=False)
        with torch.no_grad():
            torch._dynamo.reset()
            begin = time.perf_counter()
            ours = torch.compile(model, backend=lathe.torch.backend)
            got = ours(x)
            spent = time.perf_counter() - begin
            difference = (got - want).abs().max().item() / want.abs().max().item()
            with torch._inductor.config.patch(freezing=True):
                theirs = torch.compile(made(name)[0])
                theirs(x)
            ratios.append(row(name, seconds_of([lambda: ours(x), lambda: theirs(x)], 3)))
            print(f"    off by {difference:.1g}, compiled in {spent:.0f} s", flush=True)
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}, "
          f"{sum(r >= 1.1 for r in ratios)} faster by 1.1")


if __name__ == "__main__":
    main()
