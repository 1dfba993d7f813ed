"""The rows on which families of operators are compared: what each computes, said to `lathe` as an
index expression, to PyTorch and NumPy as a line of Python, and to ONNX Runtime and OpenVINO as a
line that builds a graph (peers/onnx_graph.py).

Listed before anything was tuned. Matrix products are those of language and recommendation models,
contractions those of chemistry and tensor networks, the other rows layers of MobileNet, ResNet,
ConvNeXt, BERT, GPT-2 and LLaMA. Nothing is constant here: nobody packs weights beforehand. The
rows of convolution_families.py have constant weights.
"""

import convolution_families
from family_row import ROWS, add, chosen  # noqa: F401

# name: rows of the activations, columns of the result, terms of a sum; weights lie as PyTorch's,
# a row an output
DENSE = {
    "bert-qkv": (128, 768, 768), "bert-up": (128, 3072, 768), "bert-down": (128, 768, 3072),
    "bert-384": (384, 768, 768), "gpt2-batch8": (8, 2304, 768), "llama-batch4": (4, 4096, 4096),
    "llama-batch16": (16, 4096, 4096), "llama-1024": (1024, 2048, 2048),
    "dlrm-bottom": (256, 512, 13), "dlrm-top": (256, 1024, 479), "dlrm-last": (256, 1, 256),
    "resnet-classes": (8, 1000, 512), "ncf": (1024, 32, 64),
}
# name: rows, columns, terms; the second operand lies a row a term
PRODUCTS = {
    "skinny-rows": (4096, 16, 256), "tall": (1024, 8, 1024), "short-sum": (1000, 1000, 7),
    "prime": (257, 263, 269),
}
# name: columns of the result, terms
VECTORS = {"gpt2-up": (3072, 768), "llama": (4096, 4096), "gpt2-logits": (50257, 768)}


def matmul(m, n, k, transpose_b=False):
    return {"kind": "matmul", "m": m, "n": n, "k": k, "transpose_a": False,
            "transpose_b": transpose_b}


def add_products():
    for name, (m, n, k) in DENSE.items():
        add(f"dense-{name}", "product", "Y[m,n] = sum(k) X[m,k] * W[n,k]", "F.linear(X, W)",
            "X @ W.T", "gemm(X, W)", operator=matmul(m, n, k, transpose_b=True), X=[m, k],
            W=[n, k])
    for name, (m, n, k) in PRODUCTS.items():
        add(f"product-{name}", "product", "C[m,n] = sum(k) A[m,k] * B[k,n]", "A @ B", "A @ B",
            "matmul(A, B)", operator=matmul(m, n, k), A=[m, k], B=[k, n])
    for name, (n, k) in VECTORS.items():
        add(f"vector-{name}", "product", "y[n] = sum(k) W[n,k] * x[k]", "W @ x", "W @ x",
            "matmul(W, x)", operator=matmul(n, 1, k), W=[n, k], x=[k])
    for batch, m, n, k in ((12, 128, 128, 64), (1000, 7, 7, 7), (256, 27, 27, 64)):
        add(f"batch-{batch}x{m}x{n}x{k}", "product", "C[b,m,n] = sum(k) A[b,m,k] * B[b,k,n]",
            "torch.bmm(A, B)", "A @ B", "matmul(A, B)", A=[batch, m, k], B=[batch, k, n])


# channels, size, kernel, stride
DEPTHWISE = ((32, 112, 3, 1), (64, 112, 3, 2), (128, 56, 3, 1), (128, 56, 3, 2), (256, 28, 3, 1),
             (512, 14, 3, 1), (512, 14, 3, 2), (1024, 7, 3, 1), (96, 56, 7, 1), (240, 28, 5, 1))


def add_windows():
    for c, n, r, stride in DEPTHWISE:
        out, pad = (n + stride - 1) // stride, r // 2
        add(f"depthwise-{c}x{n}-{r}x{r}-{stride}", "depthwise",
            f"Y[c,y:{out},x:{out}] = sum(r,s) X[c,{stride}*y+r-{pad},{stride}*x+s-{pad} else 0]"
            " * W[c,r,s]",
            f"F.conv2d(X[None], W[:, None], padding={pad}, stride={stride}, groups={c})",
            graph=f"conv(view(X, 1, {c}, {n}, {n}), view(W, {c}, 1, {r}, {r}), stride={stride},"
            f" pad={pad}, groups={c})",
            X=[c, n, n], W=[c, r, r])
    add("maxpool-64x112-3-2", "pooling",
        "Y[c,y:56,x:56] = max(r:3,s:3) X[c,2*y+r-1,2*x+s-1 else -inf]",
        "F.max_pool2d(X[None], 3, 2, 1)",
        graph="max_pool(view(X, 1, 64, 112, 112), 3, stride=2, pad=1)", X=[64, 112, 112])
    add("maxpool-128x56-2-2", "pooling", "Y[c,y,x] = max(r:2,s:2) X[c,2*y+r,2*x+s]",
        "F.max_pool2d(X[None], 2)", graph="max_pool(view(X, 1, 128, 56, 56), 2, stride=2)",
        X=[128, 56, 56])
    add("avgpool-256x28-2-2", "pooling", "Y[c,y,x] = (sum(r:2,s:2) X[c,2*y+r,2*x+s]) * 0.25",
        "F.avg_pool2d(X[None], 2)",
        graph="average_pool(view(X, 1, 256, 28, 28), 2, stride=2)", X=[256, 28, 28])
    add("avgpool-global-2048x7", "pooling", "Y[c] = (sum(y,x) X[c,y,x]) / 49",
        "X.mean((1, 2))", "X.mean((1, 2))", "global_average(view(X, 1, 2048, 7, 7))",
        X=[2048, 7, 7])
    add("avgpool-global-512x28", "pooling", "Y[c] = (sum(y,x) X[c,y,x]) / 784",
        "X.mean((1, 2))", "X.mean((1, 2))", "global_average(view(X, 1, 512, 28, 28))",
        X=[512, 28, 28])


def add_rows():
    softmax = "E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])"
    for m, n in ((1536, 128), (16, 1000), (1, 1000), (64, 32000), (4096, 16)):
        add(f"softmax-{m}x{n}", "rows", softmax, "torch.softmax(X, -1)",
            graph="softmax(X)", X=[m, n])
    for m, n in ((128, 768), (512, 1024), (1, 4096)):
        add(f"layernorm-{m}x{n}", "rows",
            f"M[i] = (sum(k) X[i,k]) / {n};"
            f" V[i] = (sum(k) (X[i,k] - M[i]) * (X[i,k] - M[i])) / {n};"
            " Y[i,j] = (X[i,j] - M[i]) * rsqrt(V[i] + 1e-5) * g[j] + b[j]",
            f"F.layer_norm(X, ({n},), g, b)", graph="layer_norm(X, g, b, 1e-5)",
            X=[m, n], g=[n], b=[n])
        add(f"rmsnorm-{m}x{n}", "rows",
            f"Y[i,j] = X[i,j] * rsqrt((sum(k) X[i,k] * X[i,k]) / {n} + 1e-6) * g[j]",
            f"F.rms_norm(X, ({n},), g, 1e-6)", graph="rms_norm(X, g, 1e-6)", X=[m, n], g=[n])
    add("groupnorm-32x8x32x32", "rows",
        "M[g] = (sum(c,y,x) X[g,c,y,x]) / 8192;"
        " V[g] = (sum(c,y,x) (X[g,c,y,x] - M[g]) * (X[g,c,y,x] - M[g])) / 8192;"
        " Y[g,c,y,x] = (X[g,c,y,x] - M[g]) * rsqrt(V[g] + 1e-5) * a[g,c] + b[g,c]",
        "F.group_norm(X.view(1, 256, 32, 32), 32, a.view(-1), b.view(-1))",
        graph="group_norm(view(X, 1, 256, 32, 32), view(a, 256), view(b, 256), 32, 1e-5)",
        X=[32, 8, 32, 32], a=[32, 8], b=[32, 8])
    add("logsumexp-1024x1000", "rows",
        "m[i] = max(k) X[i,k]; Y[i] = m[i] + log(sum(k) exp(X[i,k] - m[i]))",
        "torch.logsumexp(X, -1)", graph="reduce('LogSumExp', X, 1)", X=[1024, 1000])


def add_reductions():
    add("sum-rows-1024x1024", "reduction", "Y[i] = sum(k) X[i,k]", "X.sum(1)", "X.sum(1)",
        "reduce('Sum', X, 1)",
        X=[1024, 1024])
    add("sum-columns-1024x1024", "reduction", "Y[i] = sum(k) X[k,i]", "X.sum(0)", "X.sum(0)",
        "reduce('Sum', X, 0)",
        X=[1024, 1024])
    add("sum-all-1000000", "reduction", "Y[o:1] = sum(k) X[k]", "X.sum()", "X.sum()",
        "reduce('Sum', X, 0)", X=[1000000])
    add("sum-all-10000000", "reduction", "Y[o:1] = sum(k) X[k]", "X.sum()", "X.sum()",
        "reduce('Sum', X, 0)", X=[10000000])
    add("max-rows-1024x1000", "reduction", "Y[i] = max(k) X[i,k]", "X.amax(1)", "X.max(1)",
        "reduce('Max', X, 1)",
        X=[1024, 1000])
    add("max-columns-5000x64", "reduction", "Y[i] = max(k) X[k,i]", "X.amax(0)", "X.max(0)",
        "reduce('Max', X, 0)",
        X=[5000, 64])
    add("mean-middle-64x100x256", "reduction", "Y[i,j] = (sum(k) X[i,k,j]) / 100", "X.mean(1)",
        "X.mean(1)", "reduce('Mean', X, 1)", X=[64, 100, 256])
    add("sum-outer-inner-100x300x50", "reduction", "Y[j] = sum(i,k) X[i,j,k]", "X.sum((0, 2))",
        "X.sum((0, 2))", "reduce('Sum', X, 0, 2)", X=[100, 300, 50])
    add("dot-100000", "reduction", "Y[o:1] = sum(k) A[k] * B[k]", "torch.dot(A, B)", "A @ B",
        "matmul(A, B)", A=[100000], B=[100000])
    add("argmax-rows-1024x1000", "reduction",
        "m[i] = max(k) X[i,k]; Y[i] = min(k) select(X[i,k] == m[i], k, 1000)", "X.argmax(1)",
        "X.argmax(1)", "argmax(X, 1)", X=[1024, 1000])
    add("argmax-columns-1024x1000", "reduction",
        "m[k] = max(i) X[i,k]; Y[k] = min(i) select(X[i,k] == m[k], i, 1024)", "X.argmax(0)",
        "X.argmax(0)", "argmax(X, 0)", X=[1024, 1000])


def add_maps():
    add("transpose-1024x1024", "permute", "Y[i,j] = X[j,i]", "X.t().contiguous()",
        "np.ascontiguousarray(X.T)", "transpose(X, 1, 0)", X=[1024, 1024])
    add("nchw-to-nhwc-64x56x56", "permute", "Y[y,x,c] = X[c,y,x]",
        "X.permute(1, 2, 0).contiguous()", "np.ascontiguousarray(X.transpose(1, 2, 0))",
        "transpose(X, 1, 2, 0)",
        X=[64, 56, 56])
    add("nhwc-to-nchw-56x56x64", "permute", "Y[c,y,x] = X[y,x,c]",
        "X.permute(2, 0, 1).contiguous()", "np.ascontiguousarray(X.transpose(2, 0, 1))",
        "transpose(X, 2, 0, 1)",
        X=[56, 56, 64])
    add("heads-128x12x64", "permute", "Y[h,s,d] = X[s,h,d]", "X.permute(1, 0, 2).contiguous()",
        "np.ascontiguousarray(X.transpose(1, 0, 2))", "transpose(X, 1, 0, 2)", X=[128, 12, 64])
    add("reverse-32x33x34x35", "permute", "Y[d,c,b,a] = X[a,b,c,d]",
        "X.permute(3, 2, 1, 0).contiguous()", "np.ascontiguousarray(X.transpose(3, 2, 1, 0))",
        "transpose(X, 3, 2, 1, 0)",
        X=[32, 33, 34, 35])
    add("gelu-128x3072", "map", "Y[i,j] = 0.5 * (X[i,j] + b[j])"
        " * (1 + erf((X[i,j] + b[j]) * 0.70710678))", "F.gelu(X + b)", graph="gelu(X + b)",
        X=[128, 3072], b=[3072])
    add("silu-gate-16x11008", "map", "Y[i,j] = A[i,j] * sigmoid(A[i,j]) * B[i,j]",
        "F.silu(A) * B", graph="A * op('Sigmoid', A) * B", A=[16, 11008], B=[16, 11008])
    add("add-relu-256x56x56", "map", "Y[c,y,x] = relu(A[c,y,x] + B[c,y,x])",
        "torch.relu(A + B)", graph="op('Relu', A + B)", A=[256, 56, 56], B=[256, 56, 56])
    add("batchnorm-64x56x56", "map", "Y[c,y,x] = relu(X[c,y,x] * a[c] + b[c])",
        "torch.relu(X * a[:, None, None] + b[:, None, None])",
        graph="op('Relu', X * view(a, 64, 1, 1) + view(b, 64, 1, 1))",
        X=[64, 56, 56], a=[64], b=[64])
    add("outer-1000x1000", "map", "Y[i,j] = a[i] * b[j]", "torch.outer(a, b)", "np.outer(a, b)",
        "view(a, 1000, 1) * b",
        a=[1000], b=[1000])


# einsum: extents by index; the first eight are of coupled-cluster methods, then tensor networks,
# then what appears in models
CONTRACTIONS = {
    "abcd-aebf-dfce": dict(a=24, b=24, c=24, d=24, e=24, f=24),
    "abcd-aebf-fdec": dict(a=24, b=24, c=24, d=24, e=24, f=24),
    "abcd-dbea-ec": dict(a=32, b=32, c=32, d=32, e=32),
    "abcde-efbad-cf": dict(a=16, b=16, c=16, d=16, e=16, f=16),
    "abcd-ebad-ce": dict(a=40, b=40, c=40, d=40, e=40),
    "abc-adec-ebd": dict(a=48, b=48, c=48, d=24, e=24),
    "abcdef-dega-gfbc": dict(a=12, b=12, c=12, d=12, e=12, f=12, g=16),
    "abcdef-gdab-efgc": dict(a=12, b=12, c=12, d=12, e=12, f=12, g=16),
    "ab-cad-dcb": dict(a=128, b=128, c=32, d=32),
    "abc-acd-db": dict(a=64, b=64, c=64, d=64),
    "abc-bda-dc": dict(a=72, b=72, c=72, d=72),
    "abcd-bdef-aefc": dict(a=20, b=20, c=20, d=20, e=20, f=20),
    "abcd-ea-ebcd": dict(a=32, b=32, c=32, d=32, e=32),
    "abcd-eb-aecd": dict(a=32, b=32, c=32, d=32, e=32),
    "abcd-ec-abed": dict(a=32, b=32, c=32, d=32, e=32),
    "abcd-ed-abce": dict(a=32, b=32, c=32, d=32, e=32),
    "abij-acki-bckj": dict(a=20, b=20, c=20, k=20, i=20, j=20),
    "bhqk-bqhd-bkhd": dict(b=2, h=8, q=128, k=128, d=64),
    "bqhd-bhqk-bkhd": dict(b=2, h=8, q=128, k=128, d=64),
    "nhw-nchw-c": dict(n=8, c=64, h=32, w=32),
    "ijkl-ijm-mkl": dict(i=16, j=40, k=30, l=50, m=24),
    "abcd-abe-ecd": dict(a=7, b=11, c=13, d=17, e=19),
    "ace-abd-bcde": dict(a=31, b=23, c=29, d=19, e=17),
    "abe-acd-bcde": dict(a=64, b=16, c=16, d=16, e=16),
}


def add_contractions():
    for name, extents in CONTRACTIONS.items():
        out, first, second = name.split("-")
        summed = ",".join(sorted(set(first + second) - set(out)))
        add(f"einsum-{name}", "contraction",
            f"C[{','.join(out)}] = sum({summed}) A[{','.join(first)}] * B[{','.join(second)}]",
            f'torch.einsum("{first},{second}->{out}", A, B)',
            f'np.einsum("{first},{second}->{out}", A, B, optimize=True)',
            f'einsum("{first},{second}->{out}", A, B)',
            A=[extents[i] for i in first], B=[extents[i] for i in second])


def add_attention():
    for tokens in (128, 1024):
        add(f"attention-12x{tokens}x64", "attention",
            "S[h,i,j] = (sum(d) Q[h,i,d] * K[h,j,d]) * 0.125;"
            " E[h,i,j] = exp(S[h,i,j] - (max(k) S[h,i,k]));"
            " Y[h,i,d] = (sum(j) E[h,i,j] * V[h,j,d]) / (sum(k) E[h,i,k])",
            "F.scaled_dot_product_attention(Q[None], K[None], V[None])",
            graph="matmul(softmax(matmul(Q, transpose(K, 0, 2, 1)) * 0.125), V)",
            openvino="attention(Q, K, V)",
            Q=[12, tokens, 64], K=[12, tokens, 64], V=[12, tokens, 64])


def add_flat_convolutions():
    """1x1 convolutions between plain borders: products over all pixels."""
    for c, o, n in ((64, 64, 56), (256, 64, 56), (128, 512, 28), (960, 160, 7), (1024, 256, 14)):
        add(f"conv1x1-{c}-{o}-{n}", "convolution", "Y[o,y,x] = sum(c) W[o,c] * X[c,y,x]",
            "F.conv2d(X[None], W[:, :, None, None])",
            graph=f"conv(view(X, 1, {c}, {n}, {n}), view(W, {o}, {c}, 1, 1))",
            W=[o, c], X=[c, n, n])


add_products()
add_windows()
add_rows()
add_reductions()
add_maps()
add_contractions()
add_attention()
add_flat_convolutions()
convolution_families.add_all()
