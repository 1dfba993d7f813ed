"""A card through NVIDIA's driver, by ctypes alone: kernels of a text in PTX, graphs of launches,
and how long these take. For probes and for programs that were made by hand; what Lathe makes is run
by lathe-cuda-runner."""

import ctypes as c
import os
import statistics
from array import array

SHARED_OF_FUNCTION, SPILLED_OF_FUNCTION, REGISTERS_OF_FUNCTION, DYNAMIC_SHARED = 1, 3, 4, 8
ERROR_LOG, ERROR_LOG_BYTES = 5, 6
SPINS, NON_BLOCKING, OF_THREAD = 1, 1, 1


class CardError(Exception):
    """The driver refused something; the sentence says what."""


class Card:
    """The first card that the driver shows, with a context and a stream."""

    def __init__(self, number=0):
        name = os.environ.get("LATHE_CUDA_LIBRARY", "libcuda.so.1")
        try:
            self._driver = c.CDLL(name)
        except OSError as error:
            raise CardError(f"NVIDIA's driver cannot be opened ({error})") from None
        self.call("cuInit", 0)
        device, self._context, self.stream = c.c_int(), c.c_void_p(), c.c_void_p()
        self.call("cuDeviceGet", c.byref(device), number)
        self._device = device
        self.call("cuCtxCreate_v2", c.byref(self._context), SPINS, device)
        self.call("cuStreamCreate", c.byref(self.stream), NON_BLOCKING)
        self._events = [c.c_void_p(), c.c_void_p()]
        for event in self._events:
            self.call("cuEventCreate", c.byref(event), 0)

    def call(self, name, *words):
        code = getattr(self._driver, name)(*words)
        if code:
            text = c.c_char_p()
            self._driver.cuGetErrorName(code, c.byref(text))
            raise CardError(f"{name}: {text.value.decode() if text.value else code}")

    def attribute(self, number):
        value = c.c_int()
        self.call("cuDeviceGetAttribute", c.byref(value), number, self._device)
        return value.value

    def memory(self, size):
        """The address of so many bytes; they stay until the process ends."""
        address = c.c_uint64()
        self.call("cuMemAlloc_v2", c.byref(address), c.c_size_t(max(size, 16)))
        self.fill(address.value, size)
        return address.value

    def fill(self, address, size):
        """Every bit a one, which reads as NaN."""
        self.call("cuMemsetD8Async", c.c_uint64(address), c.c_ubyte(255), c.c_size_t(size),
                  self.stream)
        self.wait()

    def put(self, address, values):
        """An array of floats onto the card."""
        place, count = values.buffer_info()
        self.call("cuMemcpyHtoDAsync_v2", c.c_uint64(address), c.c_void_p(place),
                  c.c_size_t(count * values.itemsize), self.stream)
        self.wait()

    def get(self, address, count):
        values = array("f", bytes(4 * count))
        self.call("cuMemcpyDtoHAsync_v2", c.c_void_p(values.buffer_info()[0]), c.c_uint64(address),
                  c.c_size_t(4 * count), self.stream)
        self.wait()
        return values

    def copied(self, values):
        address = self.memory(4 * len(values))
        self.put(address, values)
        return address

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def module(self, ptx):
        """Assembles a text; its errors are in the sentence."""
        log = c.create_string_buffer(4096)
        options = (c.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (c.c_void_p * 2)(c.cast(log, c.c_void_p), c.c_void_p(len(log)))
        module = c.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", c.byref(module), c.c_char_p(ptx.encode()), 2, options,
                      values)
        except CardError as error:
            raise CardError(f"{error}: {log.value.decode(errors='replace')[:300]}") from None
        return module

    def kernel(self, module, name, shared=0):
        function = c.c_void_p()
        self.call("cuModuleGetFunction", c.byref(function), module, name.encode())
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        return function

    def resources(self, function):
        found = {}
        for name, which in {"registers": REGISTERS_OF_FUNCTION, "spilled": SPILLED_OF_FUNCTION,
                            "shared": SHARED_OF_FUNCTION}.items():
            value = c.c_int()
            self.call("cuFuncGetAttribute", c.byref(value), which, function)
            found[name] = value.value
        return found

    def launch(self, function, grid, block, arguments, shared=0):
        """Gives a kernel with these addresses to the stream."""
        values = [c.c_uint64(argument) for argument in arguments]
        places = (c.c_void_p * max(1, len(values)))(*[c.cast(c.pointer(value), c.c_void_p)
                                                      for value in values])
        self.call("cuLaunchKernel", function, *grid, *block, shared, self.stream, places, None)

    def graph(self, work, calls):
        """`calls` times what work() launches, as a chain in a graph."""
        graph, run = c.c_void_p(), c.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, OF_THREAD)
        try:
            for _ in range(calls):
                work()
        finally:
            self.call("cuStreamEndCapture", self.stream, c.byref(graph))
        self.call("cuGraphInstantiateWithFlags", c.byref(run), graph, c.c_ulonglong(0))
        self.call("cuGraphDestroy", graph)
        return run

    def seconds(self, work):
        """Of what work() gives to the stream, by the card's clock."""
        begin, end = self._events
        self.call("cuEventRecord", begin, self.stream)
        work()
        self.call("cuEventRecord", end, self.stream)
        self.call("cuEventSynchronize", end)
        milliseconds = c.c_float()
        self.call("cuEventElapsedTime", c.byref(milliseconds), begin, end)
        return 1e-3 * milliseconds.value

    def chain_seconds(self, work, calls=20, repeats=7):
        """The median of a call's seconds in chains; long ones are shorter chains."""
        once = self.seconds(work)
        calls = max(1, min(calls, int(5e-3 / max(once, 1e-7))))
        repeats = max(1, min(repeats, int(0.5 / max(once * calls, 1e-7))))
        run = self.graph(work, calls)
        self.seconds(lambda: self.call("cuGraphLaunch", run, self.stream))
        times = [self.seconds(lambda: self.call("cuGraphLaunch", run, self.stream)) / calls
                 for _ in range(repeats)]
        self.call("cuGraphExecDestroy", run)
        return statistics.median(times)
