"""The rows of bench_budgets, listed before anything was tuned, and how a row is said to `lathe`."""

import families
from workloads import WORKLOADS

ROWS = ["C2", "C6", "C9", "C12", "fused-C4", "plain-C7", "kernel-alexnet-5x5", "dense-bert-up",
        "dense-dlrm-top", "batch-256x27x27x64", "depthwise-96x56-7x7-1", "maxpool-64x112-3-2",
        "softmax-1536x128", "layernorm-512x1024", "sum-columns-1024x1024", "nchw-to-nhwc-64x56x56",
        "gelu-128x3072", "einsum-abcd-aebf-dfce", "einsum-abij-acki-bckj", "conv1x1-256-64-56"]


def words_of(name):
    """None where no row has this name."""
    if name in WORKLOADS:
        return [*WORKLOADS[name].words, "--layout", WORKLOADS[name].layout]
    return [families.ROWS[name].expression] if name in families.ROWS else None
