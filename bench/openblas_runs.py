"""How the comparisons start OpenBLAS: the libraries that are here, and what each is told."""

from pathlib import Path


def environment():
    """OpenBLAS of Debian does not know every core: tell it the newest kind whose instructions this
    one has."""
    flags = Path("/proc/cpuinfo").read_text()
    core = "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None
    # its threads spin for 2^20 cycles after a call instead of 2^26, so that they are still before
    # the next turn
    return {"OPENBLAS_THREAD_TIMEOUT": "20"} | ({"OPENBLAS_CORETYPE": core} if core else {})


def libraries(build):
    """By name, the words that peers/openblas.cpp takes."""
    found = {"openblas-debian": ["libopenblas.so.0"]}
    for path in sorted(build.parent.glob(
        "bench-python/lib/python3*/site-packages/scipy_openblas32/lib/lib*openblas*.so")):
        found["openblas-pypi"] = [str(path), "scipy_"]
    return found
