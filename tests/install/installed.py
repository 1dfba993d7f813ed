#!/usr/bin/env python3
"""Installs a build, moves the tree, uses its command and builds and runs a program against it.

Usage: installed.py BUILD-FOLDER EXAMPLE-FOLDER C++-COMPILER
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
                 f"exit status {done.returncode}")
    return done.stdout


def exported(library):
    """Names that others see of a library."""
    fields = [line.split(" ", 2) for line in
              run("nm", "-DC", "--defined-only", library).splitlines()]
    return [name for _, kind, name in fields if kind.isupper()]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, example, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = {**os.environ, "XDG_DATA_HOME": name, "XDG_CACHE_HOME": name}
        for variable in ("LATHE_DB", "LATHE_LIBEXEC"):
            home.pop(variable, None)
        run("cmake", "--install", build, "--prefix", folder / "first")
        tree = (folder / "first").rename(folder / "moved")
        print(run(tree / "bin/lathe", "--version", env=home), end="")
        run(tree / "bin/lathe", "tune", "C[i] = sum(k) A[i,k]", "--shape", "A=31,17",
            "--trials", "4", env=home)

        # Completion answers as it was installed; the manual is there.
        script = next(tree.rglob("bash-completion/completions/lathe"))
        ask = "COMP_WORDS=(lathe tune --search g); COMP_CWORD=3; _lathe_words; echo $COMPREPLY"
        if run("bash", "-c", f"source {script}; {ask}") != "genetic\n":
            sys.exit("the completion of `lathe tune --search g` is wrong")
        if ".SS lathe space record" not in next(tree.rglob("man1/lathe.1")).read_text():
            sys.exit("the manual says nothing about `lathe space record`")

        # With CMake: a kernel that the models choose, then the best of records; a library that
        # tunes, with sizes of its own.
        product = ["C[i,j] = sum(k) A[k,i] * B[k,j]", "--shape", "A=67,48", "--shape", "B=67,31"]
        run(tree / "bin/lathe", "tune", *product, "--trials", "4", "--threads", "1", env=home)
        records = folder / "product.jsonl"
        records.write_text(run(tree / "bin/lathe", "export", env=home))
        for options in ([], [f"-DPRODUCT_RECORDS={records}"]):
            run("cmake", "-G", "Ninja", "-S", example, "-B", folder / "cmake",
                f"-DCMAKE_PREFIX_PATH={tree}",
                f"-DCMAKE_CXX_COMPILER={compiler}", *options)
            run("cmake", "--build", folder / "cmake", env=home)
            print(run(folder / "cmake/call_product"), end="")
        print(run(folder / "cmake/call_kernel"), end="")
        for kernel, threads in (("product", "1 thread"), ("kernel", "2 threads")):
            header = (folder / f"cmake/{kernel}.h").read_text()
            if f"NULL: up to {threads}," not in header:
                sys.exit(f"the header of {kernel} does not tell of {threads}")
        for sizes in ([64, 32, 31, 8], [1, 13, 7, 4]):
            print(run(folder / "cmake/dense", *sizes, env=home), end="")
        # What is linked with the archive finds the helpers by the command on the PATH.
        path = f"{tree / 'bin'}:{home['PATH']}"
        print(run(folder / "cmake/dense_static", 9, 14, 6, 4, env={**home, "PATH": path}), end="")
        if "liblathe" in run("ldd", folder / "cmake/dense_static"):
            sys.exit("dense_static uses the shared library")

        # With pkg-config.
        pc = next(tree.rglob("lathe.pc"))
        flags = run("pkg-config", "--cflags", "--libs", "lathe",
                    env={**home, "PKG_CONFIG_PATH": str(pc.parent)}).split()
        library = next(tree.rglob("liblathe.so"))
        run(compiler, "-std=c++23", Path(example) / "dense.cpp", "-o", folder / "dense", *flags,
            f"-Wl,-rpath,{library.parent}")
        print(run(folder / "dense", 5, 9, 11, 4, env=home), end="")

        flags = run("pkg-config", "--static", "--libs", "lathe",
                    env={**home, "PKG_CONFIG_PATH": str(pc.parent)}).split()
        flags = ["-l:liblathe.a" if flag == "-llathe" else flag for flag in flags]
        run(compiler, "-std=c++23", Path(example) / "dense.cpp", "-o", folder / "dense_static",
            f"-I{tree}/include", *flags)
        print(run(folder / "dense_static", 2, 3, 5, 4, env={**home, "PATH": path}), end="")

        names = exported(library)
        strangers = [name for name in names if "lathe::" not in name]
        if strangers:
            sys.exit(f"liblathe.so shows what is not its own: {strangers[:5]}")
        for header in (tree / "include/lathe").glob("*.h"):
            text = header.read_text()
            for function in re.findall(r"^  static [^;{]*?(\w+)\(", text, re.MULTILINE):
                if not any(f"::{function}(" in name or f"::{function}[" in name for name in names):
                    sys.exit(f"liblathe.so does not show {function}, which {header.name} declares")
            for kind in re.findall(r"^class (\w+) {", text, re.MULTILINE):
                if not any(name.startswith(f"lathe::{kind}::") for name in names):
                    sys.exit(f"liblathe.so lacks lathe::{kind} of {header.name}")


if __name__ == "__main__":
    main()
