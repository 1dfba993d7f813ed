"""Python's libraries as contestants: each function takes a setup and the inputs as arrays, and
gives the call to time and what made it. A call returns the result as the library's users get it.
"""

from lathe_library import lathe_call


def numpy_call(setup, arrays):
    import numpy

    return (eval(f"lambda: {setup['code']}", {"np": numpy, **arrays}),
            f"numpy {numpy.__version__}")


def torch_of(setup):
    import torch

    torch.set_num_threads(setup["threads"])
    torch.set_grad_enabled(False)
    return torch


def torch_call(setup, arrays):
    torch = torch_of(setup)
    names = {"torch": torch, "F": torch.nn.functional}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return eval(f"lambda: {setup['code']}", {**names, **tensors}), f"torch {torch.__version__}"


def reference_call(setup, arrays):
    """PyTorch in f64, with which the others are compared."""
    return torch_call(setup, {name: array.astype("f8") for name, array in arrays.items()})


def packed_call(setup, arrays):
    """PyTorch with the weights of a convolution in oneDNN's layout, as its own compiler calls it;
    sum, ReLU and bias are part of the call."""
    torch = torch_of(setup)

    def conv(X, W, bias=None, add=None, stride=1, pad=0, dilation=1, relu=False):
        place = list(pad), [stride] * 2, [dilation] * 2, 1
        packed = torch.ops.mkldnn._reorder_convolution_weight(W, *place, list(X.shape))
        after = "relu" if relu else None
        if add is None:
            return lambda: torch.ops.mkldnn._convolution_pointwise(
                X, packed, bias, *place, after or "none", [], "")
        return lambda: torch.ops.mkldnn._convolution_pointwise.binary(
            X, add, packed, bias, *place, "add", 1.0, after, [], "")

    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return eval(setup["code"], {"conv": conv, **tensors}), f"torch {torch.__version__} packed"


def onnxruntime_call(setup, arrays):
    import onnxruntime

    import onnx_graph

    model, fed = onnx_graph.build(setup["code"], arrays, setup["constants"])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = setup["threads"], 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return (lambda: session.run(None, fed)[0]), f"onnxruntime {onnxruntime.__version__}"


def openvino_model(core, setup, arrays):
    """The model, and what to feed it in the order of its inputs."""
    if not setup["code"].startswith("attention("):
        import onnx_graph

        text, fed = onnx_graph.build(setup["code"], arrays, setup["constants"])
        model = core.read_model(text)
        return model, [fed[port.any_name] for port in model.inputs]
    import openvino
    from openvino import opset13

    def attention(*arrays):
        fed.extend(array[None] for array in arrays)
        ports = [opset13.parameter(array.shape, openvino.Type.f32) for array in fed]
        result = opset13.scaled_dot_product_attention(*ports)
        return openvino.Model([opset13.result(result)], ports)

    fed = []
    return eval(setup["code"], {"attention": attention, **arrays}), fed


def openvino_call(setup, arrays):
    """Inputs lie where the request finds them; the result lies in a tensor of the request."""
    import openvino

    core = openvino.Core()
    model, fed = openvino_model(core, setup, arrays)
    request = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": setup["threads"], "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_HYPER_THREADING": True}).create_infer_request()
    for place, array in enumerate(fed):
        request.set_input_tensor(place, openvino.Tensor(array, shared_memory=True))

    def call():
        request.infer()
        return request.get_output_tensor().data

    call.keep = fed  # the request only points to it
    return call, f"openvino {openvino.__version__.split('-')[0]}"


LIBRARIES = {"numpy": numpy_call, "torch": torch_call, "torch-packed": packed_call,
             "onnxruntime": onnxruntime_call, "openvino": openvino_call, "lathe": lathe_call,
             "reference": reference_call}
