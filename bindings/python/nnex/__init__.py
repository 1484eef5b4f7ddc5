"""nnex: reads, checks, converts, edits, quantises, compares and runs neural networks of ONNX, NNEF, WebNN and CVM.

    import nnex

    model = nnex.load("model.onnx")
    y = model(x)                          # its output; a tuple of several
    outputs = model.run({"input": x})     # a dict by names

A source of a model is a path (a file, a folder, an archive), the bytes of a file, a file that is open, an onnx.ModelProto,
or a mapping from names of files to their bytes.
"""

import operator as _operator
import os as _os
from collections.abc import Iterable as _Iterable, Mapping as _Mapping, Sequence as _Sequence
from difflib import get_close_matches as _get_close_matches
from typing import Any as _Any, Optional as _Optional, Union as _Union, Unpack as _Unpack

try:
    from . import _nnex
except ImportError as error:
    raise ImportError(f"nnex's module cannot be loaded: {error} (in a checkout bindings/python/build makes it, for CPython 3.11 and later)") from error
from ._errors import (Cancelled, Denied, Error, Exists, Fault, InternalError, InvalidArgument, InvalidModel, InvalidType, LimitReached, NotFound, TimedOut, Unreadable,
                      Unsupported, _ours, error_of as _error_of, no_keyword as _no_keyword)
from ._nnex import Cancel, Graph, Model as _Model, Session, Value
from ._types import (Block, Carry as _Carry, Compared, Comparison, CustomOp, Finding, Inspection, Node, NodeTime, Options as _LoadOptions, Port, Quantized, QuantizedLayer,
                     QuantizedOutput, Report, Settings as _Settings, Severity)

_Path = _Union[str, _os.PathLike[str]]
_Source = _Any
_Array = _Any

__version__, isa, _threads = _nnex.environment()

__all__ = [
    "Block", "Cancel", "Cancelled", "Compared", "Comparison", "CustomOp", "Denied", "Error", "Exists", "Fault", "Finding", "Graph", "Inspection", "InternalError",
    "InvalidArgument", "InvalidModel", "InvalidType", "LimitReached", "Model", "Node", "NodeTime", "NotFound", "Port", "Quantized", "QuantizedLayer", "QuantizedOutput",
    "Report", "Session", "Severity", "TimedOut", "Unreadable", "Unsupported", "Value", "check", "compare", "convert", "convert_to_bytes", "has", "inspect",
    "isa", "load", "load_graph", "parse_graph", "quantize", "read_value", "usable_threads", "view", "write_value",
]


class Model(_Model):
    __doc__ = _Model.__doc__

    def read_input(self, name: str, path: _Path, *, layout: _Optional[str] = None, mean: _Union[float, _Sequence[float], None] = None,
                   scale: _Union[float, _Sequence[float], None] = None, bgr: bool = False, cast: bool = False, sample_rate: _Optional[int] = None) -> _Any:
        """A file (.npy .npz .pb .json .csv .wav .raw, .ppm ...) as the value of an input, whose type and extents it has.

        Of pictures an element is (pixel / 255 - mean) / scale; mean and scale are a number, or one for each channel. They,
        layout and bgr are refused for files that are no pictures, sample_rate for those that are no .wav.
        """
        options = {"layout": layout, "mean": mean, "scale": scale, "bgr": bgr, "cast": cast, "sample_rate": sample_rate}
        return self._read_input(name, path, options)

    def profile(self, *inputs: _Array) -> list[NodeTime]:
        """How long each node takes: the second run of a session of its own, as a list of NodeTime."""
        session = self.session()
        session.run(*inputs)
        session.profile(True)
        session.run(*inputs)
        return session.nodes

    def graph(self) -> Graph:
        """What the model runs: its graph after the passes, taken before the first run; many have operations that no standard has."""
        return _nnex.graph_load(self, {})

    def __repr__(self) -> str:
        ports = lambda some: ", ".join(f"{port.name}: {port.type}" for port in some)
        return f"<nnex.Model ({ports(self.inputs)}) -> ({ports(self.outputs)})>"


def usable_threads() -> int:
    """Threads that this process may use."""
    return _threads


def has(feature: str) -> bool:
    """Whether this build has a feature: 'onnx', 'nnef', 'webnn', 'cvm', 'custom_operators', 'dlpack', 'threads'."""
    return _nnex.has(feature)


def _setting(name, value):
    """A value of a setting as the C interface has it: NumPy's numbers and truth values, too."""
    if value is None or isinstance(value, (bool, str, bytes, _os.PathLike)):
        return value
    if type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    try:
        return _operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: found {type(value).__name__} {value!r}; needed a whole number, a truth value or a text") from None


def _settings(settings, own=()):
    known = [*_Settings.__annotations__, "symbols", "shapes", "carry", "custom_ops"]
    for name in settings:
        if name not in known:
            near = _get_close_matches(name, [*own, *known], 1)
            raise _no_keyword(f"found a keyword '{name}'; " + (f"did you mean '{near[0]}'?" if near else f"needed one of {', '.join([*own, *known])}"))
    found = {name: _setting(name, value) for name, value in settings.items() if name != "timeout"}
    if settings.get("timeout") is not None:
        timeout = float(settings["timeout"])
        if not timeout > 0:
            raise ValueError(f"timeout: found {timeout}; needed seconds above 0")
        found["timeout_ns"] = max(1, int(min(timeout, 9e9) * 1e9))
    return found


def _options(symbols=None, shapes=None, carry=None, custom_ops=None, _own=(), **settings):
    if isinstance(carry, (list, tuple)):
        carry = dict(carry)
    for name, given, plain in (("symbols", symbols, ()), ("shapes", shapes, ()), ("carry", carry, bool)):
        if given is not None and not isinstance(given, plain) and not hasattr(given, "items"):
            raise TypeError(f"{name}: found {type(given).__name__}; needed a dict")
    if isinstance(custom_ops, CustomOp):
        custom_ops = [custom_ops]
    elif custom_ops is not None and not isinstance(custom_ops, _Iterable):
        raise TypeError(f"custom_ops: found {type(custom_ops).__name__}; needed CustomOp objects")
    custom_ops = None if custom_ops is None else list(custom_ops)
    if any(not isinstance(op, CustomOp) for op in custom_ops or ()):
        raise TypeError("custom_ops: found something else; needed CustomOp objects")
    return {"symbols": symbols, "shapes": shapes, "carry": carry, "custom_ops": custom_ops, "settings": _settings(settings, _own)}


def load(source: _Source, *, threads: int = 0, seed: int = 0, symbols: _Optional[_Mapping[str, int]] = None,
         shapes: _Optional[_Mapping[str, _Iterable[int]]] = None, carry: _Optional[_Carry] = None, custom_ops: _Union[CustomOp, _Iterable[CustomOp], None] = None,
         **settings: _Unpack[_Settings]) -> Model:
    """Reads and compiles a model; a Graph is compiled.

    threads: of a run; 0: all this process may use. seed: of random operators without one of their own.
    symbols: numbers of symbolic extents, {"N": 1}. shapes: other shapes of inputs, {"x": (1, 3, 224, 224)}.
    carry: outputs that become inputs of a session's next run, {"present.0.key": "past_key_values.0.key"}; True: all that
    look so. They are states of sessions then, and no outputs and inputs any more. custom_ops: CustomOp objects.
    settings: cache (a folder that keeps compiled models), memory_limit (bytes), exact (only whole numbers, the
    same on every machine), portable (floats as every machine computes them), optimize (False: as it stands), isa ("avx2": this instruction set at most), external_folder (of tensors beside
    an ONNX file), map ("never": the file is copied), archive_ratio, archive_limit, dialect (of NNEF), weight_seed (NNEF without
    weights gets random ones), expand_compounds, quantized (NNEF's graph.quant is applied), cvm_answers, timeout (seconds).
    """
    return _nnex.load(Model, source, _options(symbols, shapes, carry, custom_ops, ("threads", "seed"), **settings), threads, seed)


def load_graph(source: _Source, **options: _Unpack[_LoadOptions]) -> Graph:
    """Reads a model as a Graph and compiles nothing; options as those of `load`."""
    return _nnex.graph_load(source, _options(**options))


def parse_graph(text: str) -> Graph:
    """A Graph from its text: "graph main(x: f32[N,2]) -> (y) { y = relu(x); }"."""
    return _nnex.graph_parse(text)


def check(source: _Source, **options: _Unpack[_LoadOptions]) -> Report:
    """Checks a model as far as it can be read: every fault at once, with its place and the rule it breaks."""
    sound, found = _nnex.check(source, _options(**options))
    return Report(sound, tuple(Finding(Severity(severity), _CODES[code], where, _ours(message), *rest) for severity, code, where, message, *rest in found))


_CODES = ("invalid argument", "invalid model", "unreadable", "unsupported", "limit reached", "fault", "cancelled", "internal error")


def inspect(source: _Source, **options: _Unpack[_LoadOptions]) -> Inspection:
    """What is known of a model without compiling it: its ports, operators, parameters, work, metadata."""
    return Inspection(**_nnex.inspect(source, _options(**options)))


def convert(source: _Source, path: _Path, *, format: _Optional[str] = None, name: _Optional[str] = None, custom: bool = False, overwrite: bool = False,
            external_data: bool = False, keep_fragments: bool = False, opset: int = 0, prove: bool = False, **options: _Unpack[_LoadOptions]) -> None:
    """Writes a model (or a Graph) in the form of a standard.

    format: 'onnx', 'nnef', 'webnn', 'cvm' or 'c'; None: what the path's ending says. custom: operations that the
    standard lacks are carried as custom ones. overwrite: a file that has the name already is replaced.
    external_data: ONNX's tensors in a file of their own. opset: of ONNX's standard domain; 0: the lowest that takes the
    operations, 17 at least. prove: what is written is run beside the source first, as the command line does; of what
    differs nothing is written. options: as those of `load`.
    """
    _nnex.convert(source, path, _options(_own=_SAVE, **options), _save(format, name, custom, overwrite, external_data, keep_fragments, opset, prove))


def convert_to_bytes(source: _Source, format: str, *, name: _Optional[str] = None, custom: bool = False, external_data: bool = False,
                     keep_fragments: bool = False, opset: int = 0, **options: _Unpack[_LoadOptions]) -> dict[str, bytes]:
    """As `convert`, into memory: a dict from names of files to their bytes, which is a source again."""
    return _nnex.convert(source, None, _options(_own=_SAVE, **options), _save(format, name, custom, False, external_data, keep_fragments, opset, False))


_SAVE = ("format", "name", "custom", "overwrite", "external_data", "keep_fragments", "opset", "prove")


def _save(*values):
    return dict(zip(_SAVE, values))


def view(source: _Source, *, format: str = "html", unfolded: bool = False, unchecked: bool = False, **options: _Unpack[_LoadOptions]) -> bytes:
    """A drawing of a model, as the bytes of one file: 'html', 'svg', or 'dot' for Graphviz."""
    return _nnex.view(source, _options(_own=("format", "unfolded", "unchecked"), **options), format, unfolded, unchecked)


def _as_port(port, given):
    """Lists and numbers as the element type of a port; None as it is."""
    plain = isinstance(given, (list, tuple, int, float, complex, str)) and port.dtype != "none"
    return Value(given, port.dtype) if plain else given


def _in_order(ports, inputs):
    """Inputs by name, in order, or one alone, as a tuple in the order of these ports; lists take their types."""
    names = [port.name for port in ports]
    if isinstance(inputs, _Mapping):
        if sorted(inputs) != sorted(names):
            raise ValueError(f"found inputs {sorted(inputs)}; needed {names}")
        inputs = [inputs[name] for name in names]
    elif not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if len(inputs) != len(names):
        raise ValueError(f"found {len(inputs)} inputs; needed {len(names)}: {names}")
    return tuple(_as_port(port, given) for port, given in zip(ports, inputs))


def _tensors_of(source, seen, tensors, options):
    """Tensors from elsewhere by a model's names for them: others are refused; lists take the types of outputs."""
    ports = {port.name: port for port in seen.outputs}
    inside = load_graph(source, **options) if any(name not in ports for name in tensors) else None
    for name in tensors:
        if name not in ports:
            port = inside.find(name)
            if port is None:
                near = _get_close_matches(name, ports, 1)
                message = f"found a tensor '{name}', which a does not have" + (f"; did you mean '{near[0]}'?" if near else "")
                raise _error_of(0, 0, "invalid argument", message, "", message, "", message)
            ports[name] = port
    return {name: _as_port(ports[name], tensor) for name, tensor in tensors.items()}


def compare(a: _Source, b: _Source, inputs: _Any, *, atol: float = 0, rtol: float = 0, ulp: int = 0, layers: bool = False, search: bool = True,
            isolate: _Optional[_Path] = None, overwrite: bool = False, threads: int = 0, options_a: _Optional[_LoadOptions] = None,
            options_b: _Optional[_LoadOptions] = None) -> Comparison:
    """Runs two models on the same inputs and finds the first tensor that differs.

    b: a source too, or {"tensor of a": array}: values from elsewhere. inputs: in a's order, or by its names. An element
    differs where it is further away than atol + rtol * |a| and more than `ulp` floats; 0: what the element type says.
    layers: every tensor is compared, though outputs be the same. isolate: an .onnx path for the nodes where they part.
    """
    for name, tolerance in (("atol", atol), ("rtol", rtol), ("ulp", ulp)):
        if tolerance is not None and not tolerance >= 0:
            raise ValueError(f"{name}: found {tolerance}; needed 0 or more")
    seen = inspect(a, **(options_a or {}))
    tensors = isinstance(b, dict) and not all(isinstance(value, (bytes, bytearray, memoryview)) for value in b.values())
    if tensors:
        b = _tensors_of(a, seen, b, options_a or {})
    found = _nnex.compare(a, b, tensors, _in_order(seen.inputs, inputs), {
        "atol": atol, "rtol": rtol, "ulp": ulp, "layers": layers, "search": search, "isolate": isolate, "overwrite": overwrite, "threads": threads,
        "a": _options(**(options_a or {})), "b": _options(**(options_b or {}))})
    of = lambda fields: fields and Compared(**fields)
    found.update(outputs=[of(c) for c in found["outputs"]], layers=[of(c) for c in found["layers"]], first=of(found["first"]))
    return Comparison(**found)


def quantize(source: _Source, samples: _Any = None, *, to: str = "onnx", weights: str = "int8", method: str = "mse", percentile: _Optional[float] = None,
             block: _Optional[int] = None, keep_float: _Union[str, _Iterable[str]] = (), per_tensor: bool = False, bias_correction: bool = True,
             equalize: bool = False, smooth: bool = False, measured: bool = False, fastest: bool = False, judge: bool = True, judge_count: _Optional[int] = None,
             min_sqnr_db: _Optional[float] = None, recipe: _Optional[str] = None, threads: int = 0, **options: _Unpack[_LoadOptions]) -> Quantized:
    """A float network as one of 8-bit codes, or with weights of 4 bits.

    samples: inputs that the network meets, as a sequence: of arrays (networks of one input), of tuples in the order of
    the inputs, or of dicts by their names. It is read again and again. to: 'onnx' (codes around float operators), 'nnef'
    or 'cvm' (whole numbers alone). weights: 'int8', or 'int4', which needs no samples. recipe: a Quantized.recipe, which
    needs none either. keep_float: layers that stay float. What the others mean stands in docs/quantize.md of the sources.
    """
    read = _options(_own=_QUANTIZE, **options)
    graph = _nnex.graph_with(source, read) if isinstance(source, Graph) else _nnex.graph_load(source, read)
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


_QUANTIZE = tuple(quantize.__kwdefaults__)


def read_value(path: _Path, dtype: _Any = None) -> _Any:
    """The tensor of a file, by its ending: .npy, .npz (its only array), .pb (ONNX), .dat (NNEF), .json, .csv ([rows, columns]).

    Numbers of .json and .csv, whose files tell no type, become elements of `dtype`; without one float32, and a whole
    number that float32 does not hold is refused. Of the other formats elements of another type are refused.
    """
    return _nnex.read_value(path, dtype)


def write_value(value: _Array, path: _Path, *, name: _Optional[str] = None, overwrite: bool = False) -> None:
    """Writes a tensor, by the ending of the path; .json and .csv have numbers alone, whose type `read_value` is told."""
    _nnex.write_value(value, path, name, overwrite)
