"""A kernel as the bytes that stand in a pickle, under a checksum.

A kernel is machine code, so a pickle of which one bit differs could do anything. Nothing of it is
loaded before all of it is known to be as it was written. The checksum finds damage, not malice: who
makes a pickle can make its checksum, too.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from . import _native
from ._errors import Failed

_MAGIC = b"lathe kernel 1\n"
_DIGEST = hashlib.sha256().digest_size
_COUNT = 8  # bytes of the head's size


class Parts(NamedTuple):
    """What a kernel is made of again."""

    code: bytes
    #: Of generated code alone; a library that ``lathe compile`` made says these itself.
    inputs: list[_native.TensorTuple] | None
    outputs: list[_native.TensorTuple] | None
    threads: int
    #: Kinds of instructions that the code may use.
    needed: frozenset[str]
    constants: dict[int, bytes]


def pack(parts: Parts) -> bytes:
    constants = sorted(parts.constants.items())
    head = json.dumps(
        {
            "code": len(parts.code),
            "inputs": parts.inputs,
            "outputs": parts.outputs,
            "threads": parts.threads,
            "needed": sorted(parts.needed),
            "constants": [[number, len(data)] for number, data in constants],
        }
    ).encode()
    body = b"".join([len(head).to_bytes(_COUNT, "little"), head, parts.code])
    body += b"".join(data for _, data in constants)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes) -> Parts:
    """Raises ``Failed`` where anything differs from what ``pack`` made."""
    body = data[len(_MAGIC) + _DIGEST :] if isinstance(data, bytes) else b""
    if not body or data != _MAGIC + hashlib.sha256(body).digest() + body:
        raise Failed(
            "the pickle of a kernel is damaged, or of another version of Lathe: its checksum "
            "differs; pickle the kernel again",
            "data-loss",
        )
    size = int.from_bytes(body[:_COUNT], "little")
    head = json.loads(body[_COUNT : _COUNT + size])
    place = _COUNT + size

    def take(count: int) -> bytes:
        nonlocal place
        place += count
        return body[place - count : place]

    code = take(head["code"])
    constants = {number: take(count) for number, count in head["constants"]}
    return Parts(
        code, head["inputs"], head["outputs"], head["threads"], frozenset(head["needed"]), constants
    )


def refuse_without_checksum() -> Failed:
    return Failed(
        "the kernel was pickled by an older Lathe, without a checksum, so nobody knows whether it "
        "is whole; make it again and pickle that",
        "data-loss",
    )
