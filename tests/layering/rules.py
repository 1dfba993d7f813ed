"""The rules of the house. Each takes a Tree and yields one sentence a violation."""

# Order of the groups (the first folder below src/): a room links its own group and those before it.
GROUPS = ["base", "runtime", "compiler", "tuner", "graph", "research", "api", "cli"]
APART = [("graph", "tuner")]

# Third-party headers by the start of their name. `base` brings fmt and JSON to everyone; DLPack's
# struct is part of the C ABI. GoogleTest and the C library's threads belong to nobody.
LIBRARIES = {
    "llvm/": "llvm", "llvm-c/": "llvm", "lld/": "llvm", "xgboost/": "xgboost", "torch/": "torch",
    "ATen/": "torch", "Eigen/": "eigen", "sqlite3.h": "sqlite", "zstd.h": "zstd",
    "CLI/": "cli11", "spdlog/": "spdlog", "libpq-fe.h": "libpq", "nats/": "nats",
    "cuda": "cuda", "nvrtc": "cuda", "CL/": "opencl", "onnx/": "onnx",
    "google/protobuf/": "protobuf", "fmt/": "fmt", "nlohmann/": "json",
}
FROM_BASE = {"fmt", "json"}
SHARED_BY_ALL = ("threads", "gtest", "dl", "rt", "m", "pthread", "${cmake_dl_libs}")


def library_of_header(spelled):
    for prefix, library in LIBRARIES.items():
        if spelled.startswith(prefix):
            return library
    return None


def library_of_target(target):
    name = target.lower().split("::")[0]
    return None if name in SHARED_BY_ALL or name.startswith("-") else name


def sources_are_listed(tree):
    for path in tree.files:
        if path.suffix != ".h" and path not in tree.listed:
            yield (f"{tree.name(path)} is listed in no CMakeLists.txt: add it to the SOURCES of "
                   "its room")


def headers_have_a_room(tree):
    for path in tree.files:
        if path.suffix == ".h" and tree.owners[path] is None:
            yield (f"{tree.name(path)} belongs to no room: list it, or a source of its name, in "
                   "the SOURCES of one")


def includes_are_linked(tree):
    for path in tree.files:
        room = tree.owners[path]
        if room is None:
            continue
        for header in tree.includes(path)[0]:
            other = tree.owners.get(header)
            if tree.root.resolve() / "include" in header.parents:
                continue
            if other is None:
                yield f"{tree.name(path)} includes {tree.name(header)}, which belongs to no room"
            elif other is not room and other.name not in room.links:
                yield (f"{tree.name(path)} includes {tree.name(header)} of room {other.name}, "
                       f"which is not among the LINKS of {room.name}")


def links_exist(tree):
    for room in tree.rooms:
        for link in room.links:
            if link not in tree.by_name:
                yield f"room {room.name} links {link}, which no CMakeLists.txt declares"


def no_cycles(tree):
    done, path = set(), []

    def visit(name):
        if name in path:
            yield "rooms link each other in a circle: " + " -> ".join(path[path.index(name):] +
                                                                      [name])
        elif name not in done and name in tree.by_name:
            path.append(name)
            for link in tree.by_name[name].links:
                yield from visit(link)
            path.pop()
            done.add(name)

    for room in tree.rooms:
        yield from visit(room.name)


def group_of(tree, room):
    parts = room.folder.resolve().relative_to(tree.src.resolve()).parts
    return parts[0] if parts else ""


def groups_in_order(tree):
    for room in tree.rooms:
        for link in room.links:
            if link not in tree.by_name:
                continue
            above, below = group_of(tree, room), group_of(tree, tree.by_name[link])
            if above not in GROUPS or below not in GROUPS:
                yield (f"room {room.name} or {link} is in a group that is not one of "
                       f"{', '.join(GROUPS)}")
            elif (GROUPS.index(below) > GROUPS.index(above)
                  or tuple(sorted((above, below))) in APART):
                yield f"room {room.name} of {above}/ may not link {link} of {below}/"


def third_party_has_one_room(tree):
    users = {}
    for room in tree.rooms:
        for library in filter(None, map(library_of_target, room.uses)):
            users.setdefault(library, set()).add(room.name)
    for path in tree.files:
        for library in filter(None, map(library_of_header, tree.includes(path)[1])):
            if tree.owners[path] is not None and library not in FROM_BASE:
                users.setdefault(library, set()).add(tree.owners[path].name)
    for library, rooms in sorted(users.items()):
        if library in FROM_BASE | {"nlohmann_json"}:
            yield f"{library} comes through base, but {', '.join(sorted(rooms))} uses it by itself"
        elif len(rooms) > 1:
            yield (f"{library} is used by {' and '.join(sorted(rooms))}: one third-party library, "
                   "one room")


def third_party_stays_inside(tree):
    """A header that shows a library's types, itself or through another header, is for its own room
    only."""

    def shown(header, seen):
        if header in seen:
            return None
        seen.add(header)
        own, foreign = tree.includes(header)
        found = [library for library in map(library_of_header, foreign) if library
                 and library not in FROM_BASE]
        return found[0] if found else next(filter(None, (shown(path, seen) for path in own)), None)

    for path in tree.files:
        for header in tree.includes(path)[0]:
            library = shown(header, set())
            if library and tree.owners.get(header) is not tree.owners[path]:
                yield (f"{tree.name(path)} includes {tree.name(header)}, which shows {library} to "
                       "another room")
    for header in sorted((tree.root / "include").rglob("*.h")):
        library = shown(header.resolve(), set())
        if library:
            yield f"{tree.name(header.resolve())} is an installed header and shows {library}"


RULES = [
    sources_are_listed, headers_have_a_room, includes_are_linked, links_exist, no_cycles,
    groups_in_order, third_party_has_one_room, third_party_stays_inside,
]


def violations(tree):
    return [sentence for rule in RULES for sentence in rule(tree)]
