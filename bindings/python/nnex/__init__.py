"""nnex: reads, checks, converts, edits, quantises, compares and runs neural networks of ONNX, NNEF, WebNN and CVM.

    import nnex

    model = nnex.load("model.onnx")
    y = model(x)                          # its output; a tuple of several
    outputs = model.run({"input": x})     # a dict by names

A source of a model is a path (a file, a folder, an archive), the bytes of a file, a file that is open, an onnx.ModelProto,
or a mapping from names of files to their bytes.
"""

from collections.abc import Mapping

try:
    from . import _nnex
except ImportError as error:
    raise ImportError(f"nnex's module cannot be loaded: {error} (in a checkout bindings/python/build makes it, for CPython 3.11 and later)") from error
from ._errors import (Cancelled, Error, Fault, InternalError, InvalidArgument, InvalidModel, InvalidType, LimitReached, NotFound, TimedOut, Unreadable,
                      Unsupported)
from ._nnex import Cancel, Graph, Model as _Model, Session, Value
from ._types import Block, Compared, Comparison, CustomOp, Finding, Inspection, Node, NodeTime, Port, Quantized, QuantizedLayer, QuantizedOutput, Report, Severity

__version__, isa, _threads = _nnex.environment()

__all__ = [
    "Block", "Cancel", "Cancelled", "Compared", "Comparison", "CustomOp", "Error", "Fault", "Finding", "Graph", "Inspection", "InternalError",
    "InvalidArgument", "InvalidModel", "InvalidType", "LimitReached", "Model", "Node", "NodeTime", "NotFound", "Port", "Quantized", "QuantizedLayer", "QuantizedOutput",
    "Report", "Session", "Severity", "TimedOut", "Unreadable", "Unsupported", "Value", "check", "compare", "convert", "convert_to_bytes", "has", "inspect",
    "isa", "load", "load_graph", "parse_graph", "quantize", "read_value", "usable_threads", "view", "write_value",
]


class Model(_Model):
    __doc__ = _Model.__doc__

    def read_input(self, name, path, *, layout=None, mean=None, scale=None, bgr=False, cast=False, sample_rate=None):
        """A file (.npy .npz .pb .json .csv .wav .raw, .ppm ...) as the value of an input.

        Of pictures an element is (pixel / 255 - mean) / scale; mean and scale are a number, or one for each channel.
        """
        options = {"layout": layout, "mean": mean, "scale": scale, "bgr": bgr, "cast": cast, "sample_rate": sample_rate}
        return self._read_input(name, path, options)

    def profile(self, *inputs) -> list[NodeTime]:
        """How long each node takes: the second run of a session of its own, as a list of NodeTime."""
        session = self.session()
        session.run(*inputs)
        session.profile(True)
        session.run(*inputs)
        return session.nodes

    def graph(self) -> Graph:
        """What the model runs: its graph after the passes, taken before the first run; many have operations that no standard has."""
        return _nnex.graph_load(self, {})

    def __repr__(self):
        ports = lambda some: ", ".join(f"{port.name}: {port.type}" for port in some)
        return f"<nnex.Model ({ports(self.inputs)}) -> ({ports(self.outputs)})>"


def usable_threads() -> int:
    """Threads that this process may use."""
    return _threads


def has(feature: str) -> bool:
    """Whether this build has a feature: 'onnx', 'nnef', 'webnn', 'cvm', 'custom_operators', 'dlpack', 'threads'."""
    return _nnex.has(feature)


def _options(symbols=None, shapes=None, carry=None, custom_ops=None, **settings):
    if isinstance(carry, (list, tuple)):
        carry = dict(carry)
    for name, given, plain in (("symbols", symbols, ()), ("shapes", shapes, ()), ("carry", carry, bool)):
        if given is not None and not isinstance(given, plain) and not hasattr(given, "items"):
            raise TypeError(f"{name}: found {type(given).__name__}; needed a dict")
    custom_ops = [custom_ops] if isinstance(custom_ops, CustomOp) else None if custom_ops is None else list(custom_ops)
    if any(not isinstance(op, CustomOp) for op in custom_ops or ()):
        raise TypeError("custom_ops: found something else; needed CustomOp objects")
    return {"symbols": symbols, "shapes": shapes, "carry": carry, "custom_ops": custom_ops, "settings": settings}


def load(source, *, threads=0, seed=0, symbols=None, shapes=None, carry=None, custom_ops=None, **settings) -> Model:
    """Reads and compiles a model; a Graph is compiled.

    threads: of a run; 0: all this process may use. seed: of random operators without one of their own.
    symbols: numbers of symbolic extents, {"N": 1}. shapes: other shapes of inputs, {"x": (1, 3, 224, 224)}.
    carry: outputs that become inputs of a session's next run, {"present.0.key": "past_key_values.0.key"}; True: all that
    look so. They are states of sessions then, and no outputs and inputs any more. custom_ops: CustomOp objects.
    settings: cache (a folder that keeps compiled models), memory_limit (bytes), exact (only whole numbers, the
    same on every machine), portable (floats as every machine computes them), optimize (False: as it stands), isa ("avx2": this instruction set at most), external_folder (of tensors beside
    an ONNX file), map ("never": the file is copied), archive_ratio, archive_limit, dialect (of NNEF), weight_seed (NNEF without
    weights gets random ones), expand_compounds, quantized (NNEF's graph.quant is applied), cvm_answers.
    """
    return _nnex.load(Model, source, _options(symbols, shapes, carry, custom_ops, **settings), threads, seed)


def load_graph(source, **options) -> Graph:
    """Reads a model as a Graph and compiles nothing; options as those of `load`."""
    return _nnex.graph_load(source, _options(**options))


def parse_graph(text: str) -> Graph:
    """A Graph from its text: "graph main(x: f32[N,2]) -> (y) { y = relu(x); }"."""
    return _nnex.graph_parse(text)


def check(source, **options) -> Report:
    """Checks a model as far as it can be read: every fault at once, with its place and the rule it breaks."""
    sound, found = _nnex.check(source, _options(**options))
    return Report(sound, tuple(Finding(Severity(severity), _CODES[code], *rest) for severity, code, *rest in found))


_CODES = ("invalid argument", "invalid model", "unreadable", "unsupported", "limit reached", "fault", "cancelled", "internal error")


def inspect(source, **options) -> Inspection:
    """What is known of a model without compiling it: its ports, operators, parameters, work, metadata."""
    return Inspection(**_nnex.inspect(source, _options(**options)))


def convert(source, path, *, format=None, name=None, custom=False, overwrite=False, external_data=False, keep_fragments=False, **options) -> None:
    """Writes a model (or a Graph) in the form of a standard.

    format: 'onnx', 'nnef', 'webnn', 'cvm' or 'c'; None: what the path's ending says. custom: operations that the
    standard lacks are carried as custom ones. overwrite: a file that has the name already is replaced.
    external_data: ONNX's tensors in a file of their own. options: as those of `load`.
    """
    _nnex.convert(source, path, _options(**options), _save(format, name, custom, overwrite, external_data, keep_fragments))


def convert_to_bytes(source, format, *, name=None, custom=False, external_data=False, keep_fragments=False, **options) -> dict[str, bytes]:
    """As `convert`, into memory: a dict from names of files to their bytes, which is a source again."""
    return _nnex.convert(source, None, _options(**options), _save(format, name, custom, False, external_data, keep_fragments))


def _save(format, name, custom, overwrite, external_data, keep_fragments):
    return {"format": format, "name": name, "custom": custom, "overwrite": overwrite, "external_data": external_data, "keep_fragments": keep_fragments}


def view(source, *, format="html", unfolded=False, unchecked=False, **options) -> bytes:
    """A drawing of a model, as the bytes of one file: 'html', 'svg', or 'dot' for Graphviz."""
    return _nnex.view(source, _options(**options), format, unfolded, unchecked)


def _in_order(ports, inputs):
    """Inputs by name, in order, or one alone, as a tuple in the order of these ports; lists take their types."""
    names = [port.name for port in ports]
    if isinstance(inputs, Mapping):
        if sorted(inputs) != sorted(names):
            raise ValueError(f"found inputs {sorted(inputs)}; needed {names}")
        inputs = [inputs[name] for name in names]
    elif not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if len(inputs) != len(names):
        raise ValueError(f"found {len(inputs)} inputs; needed {len(names)}: {names}")
    plain = (list, tuple, int, float, str)
    return tuple(Value(given, port.dtype) if isinstance(given, plain) and port.dtype != "none" else given for port, given in zip(ports, inputs))


def compare(a, b, inputs, *, atol=0, rtol=0, ulp=0, layers=False, search=True, isolate=None, overwrite=False, threads=0, options_a=None, options_b=None) -> Comparison:
    """Runs two models on the same inputs and finds the first tensor that differs.

    b: a source too, or {"tensor of a": array}: values from elsewhere. inputs: in a's order, or by its names. An element
    differs where it is further away than atol + rtol * |a| and more than `ulp` floats; 0: what the element type says.
    layers: every tensor is compared, though outputs be the same. isolate: an .onnx path for the nodes where they part.
    """
    tensors = isinstance(b, dict) and not all(isinstance(value, (bytes, bytearray, memoryview)) for value in b.values())
    found = _nnex.compare(a, b, tensors, _in_order(inspect(a, **(options_a or {})).inputs, inputs), {
        "atol": atol, "rtol": rtol, "ulp": ulp, "layers": layers, "search": search, "isolate": isolate, "overwrite": overwrite, "threads": threads,
        "a": _options(**(options_a or {})), "b": _options(**(options_b or {}))})
    of = lambda fields: fields and Compared(**fields)
    found.update(outputs=[of(c) for c in found["outputs"]], layers=[of(c) for c in found["layers"]], first=of(found["first"]))
    return Comparison(**found)


def quantize(source, samples=None, *, to="onnx", weights="int8", method="mse", percentile=None, block=None, keep_float=(), per_tensor=False,
             bias_correction=True, equalize=False, smooth=False, measured=False, fastest=False, judge=True, judge_count=None, min_sqnr_db=None,
             recipe=None, threads=0, **options) -> Quantized:
    """A float network as one of 8-bit codes, or with weights of 4 bits.

    samples: inputs that the network meets, as a sequence: of arrays (networks of one input), of tuples in the order of
    the inputs, or of dicts by their names. It is read again and again. to: 'onnx' (codes around float operators), 'nnef'
    or 'cvm' (whole numbers alone). weights: 'int8', or 'int4', which needs no samples. recipe: a Quantized.recipe, which
    needs none either. keep_float: layers that stay float. What the others mean stands in docs/quantize.md of the sources.
    """
    graph = _nnex.graph_with(source, _options(**options)) if isinstance(source, Graph) else load_graph(source, **options)
    ports = graph.inputs
    if samples is not None and not hasattr(samples, "__len__"):
        samples = list(samples)

    def sample(index):
        return _in_order(ports, samples[index])

    made, told = _nnex.quantize(graph, 0 if samples is None else len(samples), None if samples is None else sample, {
        "to": to, "weights": weights, "method": method, "percentile": percentile, "block": block, "keep_float": [keep_float] if isinstance(keep_float, str) else list(keep_float),
        "per_tensor": per_tensor,
        "bias_correction": bias_correction, "equalize": equalize, "smooth": smooth, "measured": measured, "fastest": fastest, "judge": judge,
        "judge_count": judge_count, "min_sqnr_db": min_sqnr_db, "recipe": recipe, "threads": threads})
    number = lambda x: None if x != x else x
    told["layers"] = [QuantizedLayer(name, op, why, size, number(sqnr)) for name, op, why, size, sqnr in told["layers"]]
    told["outputs"] = [QuantizedOutput(name, number(sqnr), rows, agreed) for name, sqnr, rows, agreed in told["outputs"]]
    told.update(float_us=number(told["float_us"]), us=number(told["us"]))
    return Quantized(graph=made, **told)


def read_value(path):
    """The tensor of a file, by its ending: .npy, .npz (its only array), .pb (ONNX), .dat (NNEF), .json."""
    return _nnex.read_value(path)


def write_value(value, path, *, name=None, overwrite=False) -> None:
    """Writes a tensor, by the ending of the path."""
    _nnex.write_value(value, path, name, overwrite)
