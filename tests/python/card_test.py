"""Kernels for cards of NVIDIA, on the double of the driver: its memory is the host's, so that what
a call does to it shows, and that nothing is copied.

Usage: card_test.py DOUBLE   (the library of the double)
"""

import ctypes
import os
import pickle
import struct
import sys
import types
from threading import Thread

DOUBLE = sys.argv.pop(1)
os.environ["LATHE_CUDA_LIBRARY"] = DOUBLE
from support import FEW, Case, floats, folder, main  # noqa: E402  (sets the database)

STATE = os.path.join(folder(), "state")
os.environ["LATHE_FAKE_CUDA"] = f"state={STATE} processors=2 most=1000000"  # a short probe
os.environ["XDG_CACHE_HOME"] = os.path.join(folder(), "cache")

import lathe  # noqa: E402
import numpy as np  # noqa: E402

CARD, HOST = 2, 1
cuda = ctypes.CDLL(DOUBLE)


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def called(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"code {code} of the double")


def calls() -> dict[str, int]:
    """How often each function of the double was called."""
    with open(STATE, "rb") as file:
        data = file.read()
    out = {}
    for at in range(16, len(data), 64):  # fake_cuda/options.h
        name, count = struct.unpack("56sq", data[at : at + 64])
        if name[0]:
            out[name.rstrip(b"\0").decode()] = count
    return out


class Array:
    """An array on the card, as a framework has it: __dlpack__ and no buffer."""

    def __init__(self, like: np.ndarray, device: int = CARD, card: int = 0, knows=True) -> None:
        address = ctypes.c_uint64()
        called(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(like.nbytes)))
        self.address = address.value
        self.device, self.card, self.knows = device, card, knows
        self.dtype, self.shape = like.dtype, like.shape
        self.streams: list[int | None] = []  # that were asked for
        self._kept: list[object] = []
        self.set(like)

    def _view(self) -> np.ndarray:  # the double's memory is the host's
        count = int(np.prod(self.shape)) * self.dtype.itemsize
        raw = (ctypes.c_uint8 * count).from_address(self.address)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)

    def set(self, values: np.ndarray) -> None:
        self._view()[...] = values

    def get(self) -> np.ndarray:
        return self._view().copy()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, self.card)

    def __dlpack__(self, *, stream: int | None = None, **others: object) -> object:
        if others and not self.knows:
            raise TypeError("max_version is not known here")
        self.streams.append(stream)
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        kind = {"f": 2, "i": 0, "u": 1}[self.dtype.kind]
        tensor = DLTensor(
            self.address, self.device, self.card, len(self.shape),
            kind, 8 * self.dtype.itemsize, 1, shape, None, 0,
        )  # fmt: skip
        managed = Managed(tensor, None, None)
        self._kept += [shape, managed]
        return new_capsule(ctypes.addressof(managed), b"dltensor", None)


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_of", ctypes.c_void_p),
        ("object_of", ctypes.c_void_p),
        ("view_of", ctypes.c_void_p),
        ("stream_of", ctypes.c_void_p),
    ]


def exchanges(cls: type) -> type:
    """Gives a class of arrays the functions that PyTorch's tensors have."""
    pointer, out, number = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int

    def view_of(array: "Tensor", tensor: pointer) -> int:
        own = array.tensor()
        ctypes.memmove(tensor, ctypes.addressof(own), ctypes.sizeof(own))
        return 0

    def stream_of(kind: int, card: int, stream: object) -> int:
        assert (kind, card) == (CARD, 0)
        stream[0] = cls.stream
        return 0

    def allocate(prototype: object, made: object, *_: object) -> int:
        wanted = prototype[0]
        assert (wanted.device_type, wanted.code) == (CARD, 2)
        shape = tuple(wanted.shape[d] for d in range(wanted.ndim))
        cls.made.append(cls(np.zeros(shape, f"f{wanted.bits // 8}")))
        made[0] = len(cls.made)  # no address, but it is only handed back
        return 0

    def object_of(made: int, array: object) -> int:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(cls.made[made - 1]))
        array[0] = id(cls.made[made - 1])
        return 0

    types_of = {
        view_of: (number, ctypes.py_object, pointer),
        stream_of: (number, number, ctypes.c_int32, out),
        allocate: (number, ctypes.POINTER(DLTensor), out, pointer, pointer),
        object_of: (number, pointer, out),
    }
    functions = {f.__name__: ctypes.PYFUNCTYPE(*types_of[f])(f) for f in types_of}
    addresses = {name: ctypes.cast(f, pointer) for name, f in functions.items()}
    cls.kept = functions, Exchange(major=1, minor=3, **addresses)
    cls.__dlpack_c_exchange_api__ = new_capsule(
        ctypes.addressof(cls.kept[1]), b"dlpack_exchange_api", None
    )
    return cls


@exchanges
class Tensor(Array):
    """An array of a framework that hands its functions over, as PyTorch does."""

    made: list["Tensor"] = []
    stream = 0
    requires_grad = False

    def is_neg(self) -> bool:
        return False

    def tensor(self) -> DLTensor:
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        self._kept.append(shape)
        return DLTensor(
            self.address, self.device, self.card, len(self.shape),
            2, 8 * self.dtype.itemsize, 1, shape, None, 0,
        )  # fmt: skip

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("its functions are there")


def like(*shape: int, dtype: str = "f4") -> Array:
    return Array(np.full(shape, 77, dtype))


class Card(Case):
    context = ctypes.c_void_p()

    @classmethod
    def setUpClass(cls) -> None:
        called(cuda.cuInit(0))
        called(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(cls.context), 0))
        called(cuda.cuCtxPushCurrent_v2(cls.context))
        cls.a, cls.b = floats(24, 40), floats(24, 33, seed=1)
        cls.text = "C[i,j] = sum(k) A[k,i] * B[k,j]"
        cls.kernel = lathe.compile(
            cls.text, A=cls.a, B=cls.b, target="cuda:sm_80", schedule="default", check=False
        )

    def stream(self) -> int:
        made = ctypes.c_void_p()
        called(cuda.cuStreamCreate(ctypes.byref(made), 1))
        return made.value

    def test_takes_arrays_without_copies(self) -> None:
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        before = calls()
        self.assertIs(self.kernel(a, b, out=c), c)
        new = {name for name, count in calls().items() if count != before.get(name)}
        self.assertLessEqual(
            new,
            {"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuPointerGetAttribute", "cuLaunchKernel",
             "cuStreamGetCtx"},
        )  # fmt: skip
        self.assertIn("cuLaunchKernel", new)
        self.assert_near(c.get(), self.a.T @ self.b)
        self.assertTrue(self.kernel.on_card)
        a.set(2 * self.a)  # the same memory counts in the next call
        self.kernel(B=b, A=a, out=c)
        self.assert_near(c.get(), 2 * self.a.T @ self.b)

    def test_streams(self) -> None:
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        own = self.stream()
        by_protocol = types.SimpleNamespace(__cuda_stream__=lambda: (0, own))
        for given, number in (
            (None, 1), (0, 1), (1, 1), (2, 2), (own, own),
            (types.SimpleNamespace(cuda_stream=own), own), (types.SimpleNamespace(ptr=own), own),
            (by_protocol, own),
        ):  # fmt: skip
            a.streams, c.streams = [], []
            c.set(np.zeros((40, 33), "f4"))
            self.kernel(a, b, out=c, stream=given)
            self.assertEqual((a.streams, c.streams), ([number], [number]))
            self.assert_near(c.get(), self.a.T @ self.b)
        for wrong in ("a text", -1, 1.5, object()):
            self.refused("stream is none", lambda: self.kernel(a, b, out=c, stream=wrong))

    def test_takes_the_current_stream_of_torch(self) -> None:
        own = self.stream()
        stream = types.SimpleNamespace(cuda_stream=own)
        used = types.SimpleNamespace(is_initialized=lambda: True, current_stream=lambda: stream)
        unused = types.SimpleNamespace(is_initialized=lambda: False, current_stream=lambda: stream)
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        real = sys.modules.get("torch")
        try:
            for torch, number in ((used, own), (unused, 1)):
                sys.modules["torch"] = types.SimpleNamespace(cuda=torch)
                a.streams = []
                self.kernel(a, b, out=c)
                self.assertEqual(a.streams, [number])
        finally:
            del sys.modules["torch"]
            if real is not None:
                sys.modules["torch"] = real

    def test_results_are_of_the_framework_and_on_its_stream(self) -> None:
        a, b = Tensor(self.a), Tensor(self.b)
        Tensor.stream = self.stream()
        before = calls()
        c = self.kernel(a, b)
        self.assertIs(type(c), Tensor)
        self.assertEqual((c.shape, c.dtype, c.device), ((40, 33), np.dtype("f4"), CARD))
        self.assert_near(c.get(), self.a.T @ self.b)
        new = {name: count - before.get(name, 0) for name, count in calls().items()}
        self.assertEqual(new["cuStreamGetCtx"], 1)  # it is not the default stream
        self.assertEqual(new["cuMemAlloc_v2"], 1)  # of the result, by the framework
        self.assertFalse(any("Memcpy" in name and count for name, count in new.items()), new)
        text = "S[i] = sum(j) A[i,j]; M[i] = max(j) A[i,j]"
        values = floats(5, 83)
        several = lathe.compile(text, A=values, target="cuda:sm_80", schedule="default",
                                check=False)
        total, largest = several(Tensor(values))
        self.assert_near(total.get(), values.sum(1))
        self.assert_near(largest.get(), values.max(1))

    def test_older_versions_of_dlpack(self) -> None:
        a, b, c = Array(self.a, knows=False), Array(self.b, knows=False), like(40, 33)
        own = self.stream()
        self.kernel(a, b, out=c, stream=own)
        self.assertEqual(a.streams, [own])
        self.assert_near(c.get(), self.a.T @ self.b)

    def test_what_does_not_fit_is_refused(self) -> None:
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        host = "is in the processor's memory; copy it to the card first"
        self.refused(f'tensor "A" {host}', lambda: self.kernel(self.a, b, out=c))
        self.refused(f'tensor "C" {host}', lambda: self.kernel(a, b, out=np.empty((40, 33), "f4")))
        self.refused("give one for it as out, as cupy.empty", lambda: self.kernel(a, b))
        other = Array(self.a, device=4)
        self.refused('tensor "A" is not on a card of NVIDIA', lambda: self.kernel(other, b, out=c))
        other = Array(self.a, card=1)
        self.refused("is on card 1, and the handle on card 0",
                     lambda: self.kernel(other, b, out=c))
        other = Array(self.a.astype("f8"))
        self.refused("has elements of f64", lambda: self.kernel(other, b, out=c))
        self.refused("has extent 33", lambda: self.kernel(b, b, out=c))
        moved = like(40, 33)
        moved.address = a.address
        self.refused("overlap in memory", lambda: self.kernel(a, b, out=moved))
        other = Array(self.a)
        other.address += 4
        self.refused("multiple of 16 bytes", lambda: self.kernel(other, b, out=c))
        self.refused('no input "stram"', lambda: self.kernel(a, b, out=c, stram=1))
        self.refused("only programs of processors have threads",
                     lambda: lathe.compile(self.text, A=self.a, B=self.b, target="cuda", threads=2))
        self.refused("time it by", lambda: self.kernel.time(a, b))
        self.refused("cannot be pickled", lambda: pickle.dumps(self.kernel))
        # Kernels of the processor take no arrays of a card.
        plain = lathe.compile(self.text, A=self.a, B=self.b, schedule="default", check=False)
        self.refused("is not in the processor's memory", lambda: plain(a, self.b))
        self.refused('no input "stream"', lambda: plain(self.a, self.b, stream=1))

    def test_constants(self) -> None:
        x, w = floats(7, 13), floats(13, 5, seed=2)
        text = "Y[i,o] = sum(k) X[i,k] * W[k,o]"
        how = {"constants": ["W"], "target": "cuda:sm_80", "schedule": "default", "check": False}
        y, on_card = like(7, 5), Array(x)
        kernel = lathe.compile(text, X=x, W=w, **how)  # packed at once, from NumPy
        kernel(on_card, out=y)
        self.assert_near(y.get(), x @ w)
        self.refused("leave them out of calls", lambda: kernel(on_card, Array(w), out=y))
        other = Array(3 * w)
        kernel.prepare(W=other)
        other.set(0 * w)
        kernel(on_card, out=y)
        self.assert_near(y.get(), 3 * (x @ w))
        later = lathe.compile(text, X=x, W=w.shape, **how)
        self.refused("not all were given yet", lambda: later(on_card, out=y))
        later(on_card, Array(w), out=y)
        self.assert_near(y.get(), x @ w)
        self.refused('"X" is not constant', lambda: later.prepare(X=on_card))
        two = lathe.compile("Y[i,o] = sum(k) X[i,k] * W[k,o] + B[o]", X=x, W=w, B=(5,),
                            **{**how, "constants": ["W", "B"]})
        self.refused('"B" is missing; the constants', lambda: two.prepare(W=w))
        two.prepare(W=w, B=np.arange(5, dtype="f4"))
        two(on_card, out=y)
        self.assert_near(y.get(), x @ w + np.arange(5, dtype="f4"))

    def test_several_outputs_and_types(self) -> None:
        a = floats(5, 83)
        text = "S[i] = sum(j) A[i,j]; M[i] = max(j) A[i,j]"
        for dtype, error in (("f4", 1e-5), ("f8", 1e-12), ("f2", 2e-2)):
            values = a.astype(dtype)
            kernel = lathe.compile(text, A=values, target="cuda:sm_80", schedule="default",
                                   check=False)
            outs = like(5, dtype=dtype), like(5, dtype=dtype)
            self.assertIs(kernel(Array(values), out=outs), outs)
            self.assert_near(outs[0].get(), values.sum(1, dtype="f8"), error)
            self.assert_near(outs[1].get(), values.max(1), 0)
            self.refused("2 outputs", lambda kernel=kernel, values=values, outs=outs: kernel(
                Array(values), out=outs[0]))

    def test_several_threads_call(self) -> None:
        a, b = Array(self.a), Array(self.b)
        outs = [like(40, 33) for _ in range(4)]
        threads = [Thread(target=self.kernel, args=(a, b), kwargs={"out": c}) for c in outs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for c in outs:
            self.assert_near(c.get(), self.a.T @ self.b)

    def test_files(self) -> None:
        path = os.path.join(folder(), "product.so")
        self.kernel.save(path)
        again = lathe.load(path)
        self.assertTrue(again.on_card)
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        again(a, b, out=c)
        self.assert_near(c.get(), self.a.T @ self.b)
        copy = os.path.join(folder(), "copy.so")
        again.save(copy)
        lathe.load(copy)(a, b, out=c)

    def test_tunes_on_the_card(self) -> None:
        x = floats(9, 50)
        kernel = lathe.tune("Y[i] = sum(j) X[i,j]", X=x, target="cuda", trials=4, options=FEW,
                            progress=False)
        self.assertEqual(kernel.trials, 4)
        self.assertGreater(kernel.seconds, 0)
        y = like(9)
        kernel(Array(x), out=y)
        self.assert_near(y.get(), x.sum(1))
        best = lathe.compile("Y[i] = sum(j) X[i,j]", X=x, target="cuda:host")
        self.assertEqual(best.trace, kernel.trace)

    def test_a_forked_child_is_refused(self) -> None:
        a, b, c = Array(self.a), Array(self.b), like(40, 33)
        child = os.fork()
        if child == 0:
            try:
                self.kernel(a, b, out=c)
            except lathe.Failed as error:
                os._exit(0 if "forked from one that used CUDA" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    main()
