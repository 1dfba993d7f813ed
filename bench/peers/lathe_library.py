"""A library that `lathe compile` wrote, called from Python through its C interface."""

import ctypes
import re
from pathlib import Path

import numpy

# DLPack's codes of element types
CODES = {"f32": (2, numpy.float32), "f64": (2, numpy.float64), "i32": (0, numpy.int32),
         "i64": (0, numpy.int64)}


class Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int),
                ("device_id", ctypes.c_int), ("ndim", ctypes.c_int), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


def tensor_of(array, kind):
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return Tensor(array.ctypes.data, 1, 0, array.ndim, CODES[kind][0], 8 * array.itemsize, 1, shape,
                  None, 0)


def pointers(tensors):
    return (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, tensors))


def borders(header):
    """(inputs or outputs, name, element type, shape), in the order of the header."""
    found = re.findall(r"(inputs|outputs)\[\d+\]\s+(\w+): (\w+) \[([\d, ]+)\]", header)
    return [(side, name, kind, [int(size) for size in shape.split(",")])
            for side, name, kind, shape in found]


def lathe_call(setup, arrays):
    library = ctypes.CDLL(setup["path"])
    library.lathe_row_message.restype = ctypes.c_char_p
    handle = ctypes.c_void_p()
    tensors = borders(Path(setup["path"]).with_suffix(".h").read_text())
    inputs = pointers([tensor_of(arrays[name], kind) for side, name, kind, _ in tensors
                       if side == "inputs"])
    (_, _, kind, shape), = [border for border in tensors if border[0] == "outputs"]
    result = numpy.zeros(shape, CODES[kind][1])
    outputs = pointers([tensor_of(result, kind)])

    def demand(code):
        if code != 0:
            raise RuntimeError(library.lathe_row_message(handle).decode())

    def call():
        demand(library.lathe_row_run(handle, inputs, outputs))
        return result

    demand(library.lathe_row_create(None, ctypes.byref(handle)))
    demand(library.lathe_row_prepare(handle, inputs))
    call.keep = arrays  # what the pointers point to
    return call, "lathe"
