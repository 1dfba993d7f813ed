#!/usr/bin/env python3
"""Reads where every program and library looks for others: in no folder that somebody else may fill.

Usage: runpaths.py PATH...          a folder, a Debian package or a wheel, with all that is in it
       runpaths.py --build BUILD    a build folder, what it installs, what it packages, and a
                                    library that its `lathe compile` links
"""

import os
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LOADED, DYNAMIC, INTERPRETER = 1, 2, 3  # kinds of segments
NEEDED, STRINGS, RPATH, RUNPATH = 1, 5, 15, 29  # kinds of dynamic entries


def segments(data):
    """(kind, offset, address, size) of each segment of a 64-bit ELF file; none of another file."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        found.append((kind, offset, address, length))
    return found


def searched(data):
    """What the loader looks at: (kind, text) of each RPATH, RUNPATH and NEEDED of an ELF file."""
    parts = segments(data)

    def text(place):
        return data[place:data.index(b"\0", place)].decode()

    for kind, offset, _, size in parts:
        if kind == INTERPRETER:
            yield NEEDED, text(offset)
        if kind != DYNAMIC:
            continue
        entries = list(struct.iter_unpack("<QQ", data[offset:offset + size]))
        address = next((value for tag, value in entries if tag == STRINGS), None)
        if address is None:
            continue
        strings = next(file + address - start for what, file, start, length in parts
                       if what == LOADED and start <= address < start + length)
        for tag, value in entries:
            if tag in (RPATH, RUNPATH, NEEDED):
                yield tag, text(strings + value)


def others_may_fill(folder):
    """The folder on the way to this one where another user may put what is looked for, or None."""
    own = (0, os.geteuid())
    way = [*reversed(folder.parents), folder]
    for above, below in zip(way, way[1:]):
        if not above.is_dir():
            return None
        shared = above.stat().st_mode & stat.S_IWOTH
        kept = above.stat().st_mode & stat.S_ISVTX and below.exists() and below.stat().st_uid in own
        if shared and not kept:
            return above
    return folder if folder.is_dir() and folder.stat().st_mode & stat.S_IWOTH else None


def fault_of_entry(entry):
    if not entry:
        return "an empty entry, which is the current folder"
    if entry.split("/")[0] in ("$ORIGIN", "${ORIGIN}"):
        return None
    if not entry.startswith("/"):
        return f'"{entry}", which is seen from the current folder'
    open_to_all = others_may_fill(Path(entry))
    return f"{entry}, but others may write to {open_to_all}" if open_to_all else None


def faults(data):
    for kind, text in searched(data):
        if kind == NEEDED:
            if "/" in text and not text.startswith("/"):
                yield f'"{text}", which is seen from the current folder'
            continue
        yield from filter(None, map(fault_of_entry, text.split(":")))


def look(folder):
    """How many binaries there are in a folder, and their faults."""
    count, found = 0, []
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        data = path.read_bytes()
        if not any(kind == DYNAMIC for kind, *_ in segments(data)):
            continue
        count += 1
        found += [f"{path}: it looks for libraries in {fault}" for fault in faults(data)]
    return count, found


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def look_into(path):
    if path.is_dir():
        return look(path)
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".deb":
            run("dpkg-deb", "-x", path, folder)
        else:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(folder)
        return look(folder)


def made_by(build, folder):
    """Folders with what a build installs, what it packages, and a library that it links where
    LD_RUN_PATH asks for a RUNPATH."""
    install, package, library = (folder / name for name in ("install", "package", "library"))
    run("cmake", "--install", build, "--prefix", install)
    run("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", package,
        "-D", "CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
    library.mkdir()
    run(install / "bin/lathe", "compile", "C[i] = A[i] * 2", "--shape", "A=7", "--schedule",
        "default", "--no-check", "-o", library / "double.so",
        env={**os.environ, "LD_RUN_PATH": ":/tmp"})
    return [install, package, library]


def main():
    build = len(sys.argv) == 3 and sys.argv[1] == "--build"
    if len(sys.argv) < 2 or (not build and sys.argv[1].startswith("-")):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(argument) for argument in sys.argv[1 + build:]]
        if build:
            paths += made_by(paths[0].resolve(), Path(name))
        wrong = []
        for path in paths:
            count, found = look_into(path)
            print(f"{path}: {count} binaries, {len(found)} faults")
            wrong += found if count else [f"{path}: there is no binary in it"]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
