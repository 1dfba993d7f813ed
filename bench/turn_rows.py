"""Forty rows for comparisons of threads: convolutions, products, contractions, windows."""

from families import ROWS
from workloads import CONVOLUTIONS

# Listed before anything was measured.
PRODUCTS = {f"product-{n}": f"A: f32[{n},{n}]; B: f32[{n},{n}]; C[i,j] = sum(k) A[k,i] * B[k,j]"
            for n in (512, 768, 1024, 1536, 2048, 3000)}
CONTRACTIONS = ("einsum-abcd-aebf-dfce", "einsum-abcd-dbea-ec", "einsum-abc-adec-ebd",
                "einsum-abcdef-dega-gfbc", "einsum-ab-cad-dcb", "einsum-abc-bda-dc",
                "einsum-abcd-bdef-aefc", "einsum-abij-acki-bckj", "einsum-ijkl-ijm-mkl")
FAMILIES = ("depthwise", "pooling")
LEFT_OUT = ("depthwise-512x14-3x3-2", "depthwise-1024x7-3x3-1")  # so that there are 40


def rows():
    """The words of each for `lathe`, by name."""
    named = {name: ROWS[f"plain-{name}"].expression for name in CONVOLUTIONS} | PRODUCTS
    named |= {name: ROWS[name].expression for name in CONTRACTIONS}
    return named | {row.name: row.expression for row in ROWS.values()
                    if row.family in FAMILIES and row.name not in LEFT_OUT}


def chosen(parser, beginnings):
    """The rows whose names begin so, or all; where none does, the parser's error lists them."""
    named = rows()
    found = {name: words for name, words in named.items()
             if not beginnings or name.startswith(tuple(beginnings))}
    if not found:
        parser.error(f"no row is called {' or '.join(beginnings)}; they are {', '.join(named)}")
    return found
