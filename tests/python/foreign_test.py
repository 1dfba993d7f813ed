"""Exported libraries called through TVM's FFI, from NumPy and from inside jax.jit."""

import os

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import lathe
import numpy as np
import tvm_ffi
from support import Case, floats, folder, main

TEXT = "C[i,j] = sum(k) A[i,k] * B[k,j]"


class Foreign(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.a, cls.b = floats(7, 13), floats(13, 5, seed=1)
        cls.path = os.path.join(folder(), "product.so")
        lathe.compile(TEXT, A=cls.a, B=cls.b, constants=["B"], threads=2).save(cls.path)
        cls.module = tvm_ffi.load_module(cls.path)

    def test_from_numpy(self) -> None:
        a, b, c = self.a, self.b.copy(), np.empty((7, 5), "f4")
        tensor = tvm_ffi.from_dlpack
        self.module.product(tensor(a), tensor(b), tensor(c))
        self.assert_near(c, a @ b)
        b *= 3  # a constant that changes is packed again
        self.module.product(tensor(a), tensor(b), tensor(c))
        self.assert_near(c, a @ b)
        with self.assertRaisesRegex(ValueError, "2 inputs and then 1 outputs, 2 arguments"):
            self.module.product(tensor(a), tensor(b))
        with self.assertRaisesRegex(ValueError, 'tensor "B" has extent 7'):
            self.module.product(tensor(a), tensor(a), tensor(c))
        with self.assertRaisesRegex(ValueError, 'tensor "B" is missing'):
            self.module.product(tensor(a), 3, tensor(c))

    def test_from_jax(self) -> None:
        jax_tvm_ffi.register_ffi_target("product", self.module.product, ["args", "rets"],
                                        platform="cpu")
        shape = jax.ShapeDtypeStruct((7, 5), jnp.float32)

        @jax.jit
        def twice_and_one(a, b):
            return jax.ffi.ffi_call("product", shape)(a * 2, b) + 1

        self.assert_near(twice_and_one(self.a, self.b), 2 * self.a @ self.b + 1)

    def test_kernels_take_arrays_of_jax(self) -> None:
        kernel = lathe.compile(TEXT, A=self.a, B=self.b)
        a, b = jnp.asarray(self.a), jnp.asarray(self.b)
        self.assert_near(kernel(a, b), self.a @ self.b)
        self.refused("read-only", lambda: kernel(a, b, out=jnp.zeros((7, 5))))

    def test_several_libraries_are_loaded_and_unloaded(self) -> None:
        for scale in (2, 3, 4):
            path = os.path.join(folder(), f"scale{scale}.so")
            lathe.compile(f"C[i] = A[i] * {scale}", A=(1000,), threads=2).save(path)
            module = tvm_ffi.load_module(path)
            a, c = floats(1000), np.empty(1000, "f4")
            getattr(module, f"scale{scale}")(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(c))
            self.assert_near(c, a * scale)
            del module


if __name__ == "__main__":
    main()
