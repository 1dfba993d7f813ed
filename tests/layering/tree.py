"""Reads a source tree: its rooms and programs as the CMake lists declare them, and who includes
what."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

KEYWORDS = {
    "SOURCES", "LINKS", "USES", "EXPOSES", "PRIVATE", "PUBLIC", "INTERFACE", "STATIC", "SHARED",
    "OBJECT", "MODULE", "EXCLUDE_FROM_ALL",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Room:
    """One library of `lathe_room`, or one program or library that a CMake list makes by hand."""

    name: str
    folder: Path
    sources: list = field(default_factory=list)
    links: list = field(default_factory=list)
    uses: list = field(default_factory=list)


def commands(text):
    """The commands of a CMake list: (name, words), comments and quotes removed."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text):
        yield match.group(1).lower(), match.group(2).replace('"', " ").split()


def sections(words):
    """Words grouped by the CMake keyword before them; those before any keyword under ''."""
    found, current = {"": []}, ""
    for word in words:
        if word in KEYWORDS:
            current = word
            found.setdefault(current, [])
        else:
            found[current].append(word)
    return found


def add_links(room, words):
    for word in words:
        if word.startswith("lathe_"):
            room.links.append(word.removeprefix("lathe_"))
        else:
            room.uses.append(word)


def read_list(path):
    """The rooms and programs that one CMake list declares."""
    rooms = {}
    for command, words in commands(path.read_text()):
        if not words:
            continue
        parts = sections(words[1:])
        listed = [word for group in parts.values() for word in group]
        if command == "lathe_room":
            room = Room(words[0], path.parent, parts.get("SOURCES", []), parts.get("LINKS", []),
                        parts.get("USES", []))
            if words[0] != "base":
                room.uses += parts.get("EXPOSES", [])
            rooms[words[0]] = room
        elif command in ("add_executable", "add_library"):
            name = words[0].removeprefix("lathe_")
            rooms[name] = Room(name, path.parent, listed)
        elif command == "lathe_program":
            rooms[words[0]] = Room(words[0], path.parent, words[1:2])
            add_links(rooms[words[0]], parts.get("LINKS", []))
        elif command == "target_sources" and words[0].removeprefix("lathe_") in rooms:
            rooms[words[0].removeprefix("lathe_")].sources += listed
        elif command == "target_link_libraries" and words[0].removeprefix("lathe_") in rooms:
            add_links(rooms[words[0].removeprefix("lathe_")], listed)
    return list(rooms.values())


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.src = self.root / "src"
        self.rooms = [room for path in sorted(self.src.rglob("CMakeLists.txt"))
                      for room in read_list(path)]
        self.by_name = {room.name: room for room in self.rooms}
        self.listed = {(room.folder / source).resolve(): room for room in self.rooms
                       for source in room.sources}
        self.files = sorted(p.resolve() for p in self.src.rglob("*") if p.suffix in (".h", ".cpp",
                                                                                     ".c"))
        self.owners = {path: self.find_owner(path) for path in self.files}

    def find_owner(self, path):
        """The room of a file: the one listing it, or its sibling of the same name, or the nearest
        above that is alone."""
        if path in self.listed:
            return self.listed[path]
        if path.suffix != ".h":
            return None
        for suffix in (".cpp", ".c"):
            if path.with_suffix(suffix) in self.listed:
                return self.listed[path.with_suffix(suffix)]
        folder = path.parent
        while folder != self.src.resolve().parent:
            beside = {id(room): room for source, room in self.listed.items()
                      if source.parent == folder}
            declared = [room for room in self.rooms if room.folder.resolve() == folder]
            for candidates in (list(beside.values()), declared):
                if len(candidates) == 1:
                    return candidates[0]
                libraries = [room for room in candidates if not room.name.startswith("lathe")]
                if len(libraries) == 1:  # beside a program's main file
                    return libraries[0]
            folder = folder.parent
        return None

    def name(self, path):
        return str(path.relative_to(self.root.resolve()))

    @cache
    def includes(self, path):
        """Own headers and foreign ones that a file includes: (resolved paths, [spelled names])."""
        own, foreign = [], []
        for bracket, spelled in INCLUDE.findall(path.read_text(errors="replace")):
            found = [base / spelled for base in (path.parent, self.src, self.root / "include")]
            found = [candidate.resolve() for candidate in found if candidate.is_file()]
            if bracket == '"' and found:
                own.append(found[0])
            else:
                foreign.append(spelled)
        return own, foreign
