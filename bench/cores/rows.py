"""The rows of a session on a machine with many cores: convolutions, products, rows of memory."""

#: name: image, channels, results, kernel, stride, batch, groups
CONVOLUTIONS = {
    "C1": (224, 3, 64, 7, 2, 1, 1),
    "C2": (56, 64, 64, 3, 1, 1, 1),
    "C3": (56, 64, 64, 1, 1, 1, 1),
    "C4": (56, 64, 128, 3, 2, 1, 1),
    "C6": (28, 128, 128, 3, 1, 1, 1),
    "C7": (28, 128, 256, 3, 2, 1, 1),
    "C9": (14, 256, 256, 3, 1, 1, 1),
    "C10": (14, 256, 512, 3, 2, 1, 1),
    "C12": (7, 512, 512, 3, 1, 1, 1),
    "C6, batch 8": (28, 128, 128, 3, 1, 8, 1),
    "depthwise": (56, 512, 512, 3, 1, 1, 512),
}
PRODUCTS = {"product 1024": (1024, 1024, 1024), "product 3000": (3000, 2900, 3100)}
CONTRACTION = "contraction"
SOFTMAX = "softmax"
NAMES = [*CONVOLUTIONS, *PRODUCTS, CONTRACTION, SOFTMAX]
NINE = list(CONVOLUTIONS)[:9]

#: What is contracted: A[a,e,b,f] * B[d,f,c,e].
LEFT, RIGHT = (40, 24, 24, 20), (32, 20, 20, 24)
ROWS = (4096, 4096)
