"""Kernels: how they are called, what they refuse, constants, files."""

import array
import copy
import ctypes
import os
import pickle
import signal
import threading
import time
from unittest import mock

import lathe
import numpy as np
from lathe._cache import own_cache
from support import Case, floats, folder, main

PRODUCT = "C[i,j] = sum(k) A[i,k] * B[k,j]"


class Calls(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.a, cls.b = floats(7, 13), floats(13, 5, seed=1)
        cls.kernel = lathe.compile(PRODUCT, A=cls.a, B=cls.b)

    def test_in_order_by_name_and_into_an_output(self) -> None:
        want = self.a @ self.b
        self.assert_near(self.kernel(self.a, self.b), want)
        self.assert_near(self.kernel(B=self.b, A=self.a), want)
        self.assert_near(self.kernel(self.a, B=self.b), want)
        out = np.empty((7, 5), "f4")
        self.assertIs(self.kernel(self.a, self.b, out=out), out)
        self.assert_near(out, want)
        self.assert_near(self.kernel(self.a, self.b, out=None), want)

    def test_an_input_called_out(self) -> None:
        kernel = lathe.compile("out: f32[3]; Y[i] = out[i] + 1")
        given, result = np.arange(3, dtype="f4"), np.empty(3, "f4")
        for called in (kernel(given), kernel(out_=given), kernel(out_=given, out=result), result):
            self.assert_near(called, [1, 2, 3])
        self.refused("inputs are out_", lambda: kernel(x=given))

    def test_takes_what_has_a_buffer(self) -> None:
        kernel = lathe.compile("C[i] = A[i] + 1", A=(4,))
        given = array.array("f", [1, 2, 3, 4])
        self.assert_near(kernel(given), [2, 3, 4, 5])
        self.assert_near(kernel(memoryview(given)), [2, 3, 4, 5])
        out = (ctypes.c_float * 4)()
        kernel(given, out=out)
        self.assertEqual(list(out), [2, 3, 4, 5])

    def test_takes_what_has_dlpack(self) -> None:
        class Foreign:
            def __init__(self, array, device=1):
                self.array, self.device = array, device

            def __dlpack__(self, **more):
                return self.array.__dlpack__(**more)

            def __dlpack_device__(self):
                return (self.device, 0)

        class Old(Foreign):
            def __dlpack__(self):
                return self.array.__dlpack__()

        want = self.a @ self.b
        self.assert_near(self.kernel(Foreign(self.a), self.b), want)
        self.assert_near(self.kernel(Old(self.a), self.b), want)
        out = np.empty((7, 5), "f4")
        self.kernel(self.a, self.b, out=Foreign(out))
        self.assert_near(out, want)
        self.refused("processor's memory", lambda: self.kernel(Foreign(self.a, 2), self.b))

    def test_types(self) -> None:
        for dtype in ("f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8"):
            a = np.arange(6).astype(dtype)
            kernel = lathe.compile("C[i] = A[i] + A[i]", A=a)
            got = kernel(a)
            self.assertEqual(got.dtype, np.dtype(dtype))
            self.assert_near(got, a + a)
        a = np.array([True, False, True])
        self.assertEqual(lathe.compile("C[i] = !A[i]", A=a)(a).tolist(), [False, True, False])

    def test_on_a_device_of_opencl(self) -> None:
        a, b = floats(7, 13), floats(13, 5)
        text = "C[i,j] = sum(k) A[i,k] * B[k,j]"
        os.environ.setdefault("POCL_KERNEL_CACHE", "0")  # tests leave nothing behind
        try:
            kernel = lathe.compile(text, A=a, B=b, constants=["B"], target="opencl",
                                   schedule="default", check=False)
        except lathe.Failed as error:
            self.skipTest(str(error))
        self.assert_near(kernel(a), a @ b)
        self.assert_near(kernel(a, 2 * b), 2 * (a @ b))
        self.refused("only programs of processors have threads",
                     lambda: lathe.compile(text, A=a, B=b, target="opencl", threads=2))

    def test_several_outputs(self) -> None:
        a = floats(5, 8)
        text = "S[i] = sum(j) A[i,j]; M[i] = max(j) A[i,j]"
        kernel = lathe.compile(text, A=a)
        total, largest = kernel(a)
        self.assert_near(total, a.sum(1))
        self.assert_near(largest, a.max(1))
        outs = (np.empty(5, "f4"), np.empty(5, "f4"))
        self.assertIs(kernel(a, out=outs), outs)
        self.assert_near(outs[1], a.max(1))
        self.refused("2 outputs", lambda: kernel(a, out=outs[0]))
        self.refused("2 outputs", lambda: kernel(a, out=outs[:1]))

    def test_describes_itself(self) -> None:
        self.assertEqual(self.kernel.inputs[1], lathe.Tensor("B", "f32", (13, 5), False))
        self.assertEqual([t.name for t in self.kernel.outputs], ["C"])
        self.assertIn("A: f32[7, 13]", repr(self.kernel))
        self.assertEqual(self.kernel.threads, lathe._native.Machine.usual_threads()[0])
        self.assertIn("sum", self.kernel.key)
        self.assertEqual(self.kernel.numerics, "local")
        self.assertIn("numerics local", repr(self.kernel))

    def test_is_timed(self) -> None:
        self.assertGreater(self.kernel.time(self.a, self.b, seconds=0.01), 0)
        self.assertGreater(self.kernel.time(seconds=0.01), 0)


class Refusals(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.a, cls.b = floats(7, 13), floats(13, 5, seed=1)
        cls.kernel = lathe.compile(PRODUCT, A=cls.a, B=cls.b)

    def test_of_inputs(self) -> None:
        a, b, kernel = self.a, self.b, self.kernel
        self.refused('"B" is missing', lambda: kernel(a))
        self.refused('"B" is given as list', lambda: kernel(a, b.tolist()))
        self.refused('"B" is given as NoneType', lambda: kernel(a, None))
        self.refused("of f64, not of f32", lambda: kernel(a, b.astype("f8")))
        self.refused("extent 4 in dimension 1, not 5", lambda: kernel(a, b[:, :4]))
        self.refused("0 dimensions, not 2", lambda: kernel(a, np.float32(1)))
        self.refused("20 dimensions, not 2", lambda: kernel(a, np.ones((1,) * 20, "f4")))
        self.refused("ascontiguousarray", lambda: kernel(a, np.asfortranarray(b)))
        self.refused("row-major", lambda: kernel(a, floats(26, 5)[::2]))
        self.refused("row-major", lambda: kernel(a, b[::-1]))
        self.refused("other order", lambda: kernel(a, b.astype(">f4")))
        self.refused('format "Zf"', lambda: kernel(a, b.astype("c8")))
        self.refused("3 are given", lambda: kernel(a, b, b))
        self.refused('no input "D"', lambda: kernel(a, D=b))
        self.refused('"A" is given twice', lambda: kernel(a, A=a))
        self.refused("masked", lambda: kernel(np.ma.masked_less(a, 0), b))
        odd = np.zeros(13 * 5 * 4 + 1, "u1")[1:].view("f4").reshape(13, 5)
        self.refused("multiple of its element size", lambda: kernel(a, odd))

    def test_of_outputs(self) -> None:
        a, b, kernel = self.a, self.b, self.kernel
        fixed = np.empty((7, 5), "f4")
        fixed.flags.writeable = False
        self.refused('"C" is read-only', lambda: kernel(a, b, out=fixed))
        self.refused("dimension 0, not 7", lambda: kernel(a, b, out=np.empty((6, 5), "f4")))
        whole = np.empty(200, "f4")
        inside, out = whole[:91].reshape(7, 13), whole[80:115].reshape(7, 5)
        self.refused("overlap", lambda: kernel(inside, b, out=out))
        self.refused("1 outputs", lambda: kernel(a, b, out=(fixed, fixed)))

    def test_of_what_was_not_made(self) -> None:
        self.refused("was not made", lambda: lathe.Kernel.__new__(lathe.Kernel)(self.a))
        with self.assertRaises(TypeError):
            lathe.Kernel(3)

    def test_of_layouts_of_their_own(self) -> None:
        text, shapes = "layout free; " + PRODUCT, {"A": (7, 13), "B": (13, 5)}
        columns = {"step": "layout", "layout": [[1, 1], [0, 1]], "pad_stride": 0}
        for name in "ABC":
            trace = [columns | {"buffer": name}]
            self.refused("layout free", lambda t=trace: lathe.compile(text, schedule=t, **shapes))
        # It is the layouts that are refused, not the words: a schedule may choose plain ones.
        a, b = floats(7, 13), floats(13, 5, seed=1)
        self.assert_near(lathe.compile(text, schedule="naive", A=a, B=b)(a, b), a @ b)

    def test_of_texts(self) -> None:
        self.refused("no iterator", lambda: lathe.compile("C[i] = A[j]", A=(3,)))
        self.refused("m: matmul needs it", lambda: lathe.compile("matmul"))
        self.refused("give a text", lambda: lathe.compile(3))
        for shape in ([3, "x"], (3.5,), "3", (True,)):
            self.refused("or a shape", lambda s=shape: lathe.compile("C[i] = A[i]", A=s))
        self.refused("no dimensions", lambda: lathe.compile("C[i:1] = A[0]", A=np.float32(3)))
        self.refused("schedule", lambda: lathe.compile("C[i] = A[i]", A=(3,), schedule="fast"))
        self.refused("f33", lambda: lathe.compile("C[i] = A[i]", A=(3,), dtypes={"A": "f33"}))


class Constants(Case):
    def setUp(self) -> None:
        self.x, self.w = floats(4, 33), floats(33, 17, seed=1)
        self.text = "Y[i,j] = sum(k) X[i,k] * W[k,j]"

    def test_are_packed_when_compiled(self) -> None:
        kernel = lathe.compile(self.text, X=self.x, W=self.w, constants=["W"])
        self.assert_near(kernel(self.x), self.x @ self.w)
        self.assert_near(kernel(X=self.x), self.x @ self.w)

    def test_are_given_later_and_changed(self) -> None:
        kernel = lathe.compile(self.text, X=self.x, W=self.w.shape, constants="W")
        self.refused("not all were given", lambda: kernel(self.x))
        self.assert_near(kernel(self.x, self.w), self.x @ self.w)
        self.assert_near(kernel(self.x), self.x @ self.w)
        before = self.x @ self.w
        self.w *= 3
        self.assert_near(kernel(self.x), before)  # they are copied
        self.assert_near(kernel(self.x, self.w), self.x @ self.w)
        self.assert_near(kernel(self.x), self.x @ self.w)
        self.refused("not constant", lambda: kernel.prepare(X=self.x))
        kernel.prepare(W=self.w * 2)
        self.assert_near(kernel(self.x), self.x @ self.w * 2)

    def test_are_checked(self) -> None:
        kernel = lathe.compile(self.text, X=self.x, W=self.w.shape, constants=["W"])
        self.refused("dimension 0", lambda: kernel(self.x, self.w[:3]))
        self.refused("of f64", lambda: kernel.prepare(W=self.w.astype("f8")))
        self.refused("not all were given", lambda: kernel(self.x))
        self.refused("is no input", lambda: lathe.compile(self.text, X=(4, 33), W=(33, 17),
                                                          constants=["V"]))


    def test_are_kept_while_another_is_refused_or_all_are_timed(self) -> None:
        text = "Y[i,j] = (sum(k) X[i,k] * W[k,j]) + B[j]"
        b = floats(17, seed=2)
        kernel = lathe.compile(text, X=self.x, W=self.w, B=b, constants=["W", "B"])
        kernel.time(seconds=0.01)
        self.assert_near(kernel(self.x), self.x @ self.w + b)
        other = self.w * 2
        self.refused("dimension 0", lambda: kernel(self.x, other, b[:3]))
        self.assert_near(kernel(self.x, other, b), self.x @ other + b)


class Files(Case):
    def test_saved_and_loaded(self) -> None:
        a, b = floats(7, 13), floats(13, 5, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b, constants=["B"])
        path = os.path.join(folder(), "product.so")
        kernel.save(path)
        self.assertTrue(os.path.exists(os.path.join(folder(), "product.h")))
        loaded = lathe.load(path)
        self.assertEqual(loaded.inputs, kernel.inputs)
        self.assertIsNone(loaded.trace)
        self.assertEqual(loaded.records, [])
        self.refused("not all were given", lambda: loaded(a))
        self.assert_near(loaded(a, b), a @ b)
        # Another library under the same name does not change what is loaded.
        other = lathe.compile("C[i] = A[i] * 2", A=(3,))
        other.save(path)
        self.assert_near(lathe.load(path)(np.ones(3, "f4")), [2, 2, 2])
        self.assert_near(loaded(a, b), a @ b)
        loaded.save(os.path.join(folder(), "again.so"))
        self.assert_near(lathe.load(os.path.join(folder(), "again.so"))(a, b), a @ b)

    def test_pickled(self) -> None:
        a, b = floats(7, 13), floats(13, 5, seed=1)
        kernel = lathe.compile(PRODUCT, A=a, B=b)
        self.assert_near(pickle.loads(pickle.dumps(kernel))(a, b), a @ b)

    def test_pickled_with_its_constants(self) -> None:
        a, b = floats(7, 13), floats(13, 5, seed=1)
        kernel = lathe.compile(PRODUCT, A=(7, 13), B=b, constants=["B"])
        path = os.path.join(folder(), "constant.so")
        kernel.save(path)
        saved = lathe.load(path)
        saved.prepare(B=2 * b)
        empty = lathe.compile(PRODUCT, A=(7, 13), B=(13, 5), constants=["B"])
        for given, want in ((kernel, a @ b), (saved, a @ (2 * b))):
            for again in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
                self.assert_near(again(a), want)
                self.assert_near(again(a, 3 * b), a @ (3 * b))
                self.assert_near(given(a), want)
        self.refused("not all were given", lambda: pickle.loads(pickle.dumps(empty))(a))

    def test_a_damaged_pickle_is_refused(self) -> None:
        a, b = floats(7, 13), floats(13, 5, seed=1)
        kernel = lathe.compile(PRODUCT, A=(7, 13), B=b, constants=["B"])
        path = os.path.join(folder(), "pickled.so")
        kernel.save(path)
        saved = lathe.load(path)
        saved.prepare(B=b)
        random = np.random.default_rng(7)
        for whole in (pickle.dumps(kernel), pickle.dumps(saved)):
            begin = whole.index(b"lathe kernel 1")
            for _ in range(300):
                at = int(random.integers(begin, len(whole) - 8))  # pickle's own end follows
                damaged = bytearray(whole)
                damaged[at] ^= 1 << int(random.integers(8))
                self.refused("checksum", lambda: pickle.loads(bytes(damaged)), lathe.Failed)
            for size in random.integers(0, len(whole), 100):
                with self.assertRaises((pickle.UnpicklingError, EOFError)):
                    pickle.loads(whole[:size])
            # What pickle itself writes around it: refused by pickle, or the kernel is whole.
            # (Python may print a SystemError of its own bytearrays.)
            for at in range(begin):
                damaged = bytearray(whole)
                damaged[at] ^= 1 << int(random.integers(8))
                try:
                    again = pickle.loads(bytes(damaged))
                except Exception:
                    continue
                if isinstance(again, lathe.Kernel):
                    self.assert_near(again(a), a @ b)

    def test_a_shortened_or_foreign_payload_is_refused(self) -> None:
        make, (payload,) = lathe.compile("C[i] = A[i] * 2", A=(3,)).__reduce__()
        for wrong in (b"", payload[:14], payload[:47], payload[:-1], payload + b"x", "text", None):
            self.refused("checksum", lambda: make(wrong), lathe.Failed)

    def test_a_pickle_without_a_checksum_is_refused(self) -> None:
        for name in ("_of_bytes", "_of_module"):
            old = b"clathe._kernel\n" + name.encode() + b"\n(C\x04codetR."
            self.refused("without a checksum", lambda: pickle.loads(old), lathe.Failed)

    def test_a_library_that_others_can_change_is_refused(self) -> None:
        kernel = lathe.compile("C[i] = A[i] * 2", A=(3,))
        shared = os.path.join(folder(), "shared")
        os.mkdir(shared)
        path = os.path.join(shared, "double.so")
        kernel.save(path)
        for name, mode in ((path, 0o646), (shared, 0o777)):
            before = os.stat(name).st_mode
            os.chmod(name, mode)
            self.refused(f"chmod go-w '{name}'", lambda: lathe.load(path), lathe.Failed)
            os.chmod(name, before)
        self.assert_near(lathe.load(path)(np.ones(3, "f4")), [2, 2, 2])

    def test_a_cache_that_others_can_write_is_none(self) -> None:
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=os.path.join(folder(), "cache")):
            own = own_cache()
            self.assertEqual(own, os.path.join(folder(), "cache", "lathe"))
            self.assertEqual(os.stat(own).st_mode & 0o7777, 0o700)
            for mode in (0o777, 0o1777, 0o720):
                os.chmod(own, mode)
                self.assertIsNone(own_cache())
            os.chmod(own, 0o755)
            self.assertEqual(own_cache(), own)
            with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
                self.assertIsNone(own_cache())

    def test_ctrl_c_ends_a_timing(self) -> None:
        kernel = lathe.compile(PRODUCT, A=(7, 13), B=(13, 5))
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            kernel.time(seconds=60)
        self.assertLess(time.monotonic() - begin, 30)

    def test_refusals(self) -> None:
        self.refused("cannot be read", lambda: lathe.load("/no/such.so"), lathe.Failed)
        self.refused("no library", lambda: lathe.load(os.__file__), lathe.Failed)
        self.refused("cannot be read", lambda: lathe.load(folder()), lathe.Failed)
        strange = np.__file__.replace("__init__.py", "_core/_simd.cpython-311-x86_64-linux-gnu.so")
        if os.path.exists(strange):
            self.refused("lathe compile", lambda: lathe.load(strange), lathe.Failed)
        kernel = lathe.compile("C[i] = A[i] * 2", A=(3,))
        whole, half = (os.path.join(folder(), name) for name in ("whole.so", "half.so"))
        kernel.save(whole)
        with open(whole, "rb") as file, open(half, "wb") as cut:
            cut.write(file.read()[: os.path.getsize(whole) // 2])
        self.refused("only the beginning", lambda: lathe.load(half), lathe.Failed)
        self.refused("no/folder", lambda: kernel.save("/no/folder/x.so"), lathe.Failed)


if __name__ == "__main__":
    main()
