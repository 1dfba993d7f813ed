"""Libraries of models that the command compiled, loaded: with weights inside and in a file."""

import os
import pathlib
import pickle
import shutil
import subprocess

import lathe
import numpy as np
from support import Case, floats, folder, main


def _field(number: int, value: "int | bytes | str | list[bytes]") -> bytes:
    """A field of a message of Protobuf."""

    def varint(n: int) -> bytes:
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    if isinstance(value, list):
        return b"".join(_field(number, each) for each in value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def _shaped(name: str, shape: "tuple[int, ...]") -> bytes:
    dimensions = b"".join(_field(1, _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, dimensions)))


def model(path: str, weight: np.ndarray, rows: int) -> None:
    """Writes y = x @ weight as a model of ONNX."""
    node = _field(1, "x") + _field(1, "w") + _field(2, "y") + _field(4, "MatMul")
    tensor = b"".join(_field(1, size) for size in weight.shape)
    tensor += _field(2, 1) + _field(8, "w") + _field(9, weight.tobytes())
    graph = _field(1, node) + _field(2, "product") + _field(5, tensor)
    graph += _field(11, _shaped("x", (rows, weight.shape[0])))
    graph += _field(12, _shaped("y", (rows, weight.shape[1])))
    with open(path, "wb") as file:
        file.write(_field(1, 8) + _field(7, graph) + _field(8, _field(2, 17)))


class Models(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.weight, cls.x = floats(67, 131), floats(5, 67, seed=1)
        model(os.path.join(folder(), "net.onnx"), cls.weight, 5)

    def compiled(self, name: str, *flags: str) -> str:
        place = os.path.join(folder(), name)
        os.mkdir(place)
        path = os.path.join(place, "net.so")
        words = [os.environ["LATHE_COMMAND"], "compile", os.path.join(folder(), "net.onnx")]
        words += ["--schedule", "default", "--no-check", "-o", path, *flags]
        subprocess.run(words, check=True, capture_output=True)
        return path

    def assert_right(self, path: str) -> None:
        kernels = [lathe.load(path), lathe.load(path)]
        for kernel in kernels:
            self.assert_near(kernel(self.x), self.x @ self.weight)

    def test_weights_inside(self) -> None:
        path = self.compiled("inside")
        self.assert_right(path)
        kernel = pickle.loads(pickle.dumps(lathe.load(path)))
        self.assert_near(kernel(self.x), self.x @ self.weight)

    def test_weights_in_a_file(self) -> None:
        path = self.compiled("beside", "--weights", "net.weights")
        self.assert_right(path)
        link = os.path.join(folder(), "link.so")
        os.symlink(path, link)
        self.assert_right(link)
        before = os.getcwd()
        os.chdir(os.path.dirname(path))
        kernel = lathe.load("net.so")
        os.chdir(before)
        self.assert_near(kernel(self.x), self.x @ self.weight)
        self.assertGreater(kernel.time(self.x, seconds=0.01), 0)
        self.refused("have a file of their own", lambda: pickle.dumps(kernel))
        self.refused("copy that file and the library", lambda: kernel.save(path + "2"))

    def test_a_wrong_file_is_refused(self) -> None:
        path = self.compiled("wrong", "--weights", "net.weights")
        weights = os.path.join(os.path.dirname(path), "net.weights")
        shutil.copy(weights, weights + "2")
        os.truncate(weights, 5000)
        self.refused("cut off", lambda: lathe.load(path), lathe.Failed)
        os.remove(weights)
        self.refused("are not there", lambda: lathe.load(path), lathe.Failed)
        shutil.move(weights + "2", weights)
        os.chmod(weights, 0o666)
        self.refused("chmod go-w", lambda: lathe.load(path), lathe.Failed)
        os.chmod(weights, 0o644)
        self.assert_right(path)

    def test_narrow_weights(self) -> None:
        net = os.path.join(folder(), "net.onnx")
        wide = lathe.compile(net, schedule="default")
        self.assert_near(wide(self.x), self.x @ self.weight)
        for type_, bits in (("f16", 11), ("bf16", 8)):
            narrow = lathe.compile(
                net, schedule="default", max_error=5e-2, weights_type=type_, threads=1
            )
            made, exact = narrow(self.x), self.x @ self.weight
            self.assert_near(made, exact, 5e-2)
            # The weights were rounded, so more than f32's own roundings differs.
            self.assertGreater(np.abs(made - exact).max(), 2.0 ** -(bits + 8))
        tuned = lathe.tune(net, trials=2, max_error=1e-2, weights_type="f16", progress=False)
        self.assert_near(tuned(self.x), self.x @ self.weight, 1e-2)

    def test_wrong_exactness_is_refused(self) -> None:
        net = os.path.join(folder(), "net.onnx")
        for function in (lathe.tune, lathe.compile):
            self.refused(
                'no type of weights "f8"; there are any', lambda: function(net, weights_type="f8")
            )
            self.refused("weights_type is 16", lambda: function(net, weights_type=16))
            self.refused(
                "allow more, as max_error 1e-2", lambda: function(net, weights_type="f16")
            )
            for wrong in (0, -1, float("nan"), float("inf"), "1e-2", True, [1]):
                self.refused(
                    "give a number above 0, or None for 1e-4",
                    lambda: function(net, max_error=wrong),  # noqa: B023
                )
            self.refused(
                "weights_type is for a model.onnx",
                lambda: function("C[i] = A[i]", A=(3,), weights_type="f16"),
            )

    def test_memory(self) -> None:
        self.assert_right(self.compiled("memory", "--max-memory", "1MB"))
        with self.assertRaises(subprocess.CalledProcessError) as raised:
            self.compiled("little", "--max-memory", "10kB")
        self.assertIn(b"the model needs", raised.exception.stderr)

    def test_report(self) -> None:
        net, database = os.path.join(folder(), "net.onnx"), os.path.join(folder(), "report.db")
        lathe.tune(net, trials=2, progress=False, database=database, threads=1)
        for sizes in ({}, {"x": self.x}, {"x": (5, 67)}):
            report = lathe.report(net, database=database, threads=1, **sizes)
            self.assertIn("<html", report.page)
            self.assertIn("MatMul", report.page)
            self.assertNotIn("≈", report.page.split("<script", 1)[0])  # all is on record
        path = os.path.join(folder(), "net.html")
        report.save(path)
        self.assertGreater(os.path.getsize(path), 1000)
        narrow = lathe.report(
            pathlib.Path(net), database=database, max_error=1e-2, weights_type="f16", floors=True
        )
        self.assertIn("f16[67,131]", narrow.page)
        # What is not on record is guessed.
        self.assertIn("MatMul", lathe.report(net, database=path + ".db").page)

    def test_wrong_reports_are_refused(self) -> None:
        net = os.path.join(folder(), "net.onnx")
        none = os.path.join(folder(), "none.onnx")
        self.refused("none.onnx", lambda: lathe.report(none), lathe.Failed)
        self.refused("f8", lambda: lathe.report(net, weights_type="f8"), lathe.Failed)
        self.refused("weights_type is 16", lambda: lathe.report(net, weights_type=16))
        self.refused("max_error is 0", lambda: lathe.report(net, max_error=0))
        self.refused("thread", lambda: lathe.report(net, threads=-2))
        self.refused("give an array or a shape", lambda: lathe.report(net, x="5,67"))
        self.refused("rows", lambda: lathe.report(net, rows=5), lathe.Failed)
        self.refused("floors, batch: for the file of a model",
                     lambda: lathe.report(batch=1, floors=True))  # fmt: skip
        self.refused("weights_type is for a model.onnx", lambda: lathe.report(weights_type="f16"))
        self.refused("two databases are given",
                     lambda: lathe.report("a.db", database="b.db"))  # fmt: skip


if __name__ == "__main__":
    main()
