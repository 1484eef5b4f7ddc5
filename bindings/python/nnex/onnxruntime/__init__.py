"""The shape of what programs use of ONNX Runtime's Python API, over nnex: they change one line.

    import nnex.onnxruntime as onnxruntime

Models of every standard that nnex reads may be given, not ONNX alone. What is not here raises AttributeError; what has no
meaning here (graph optimisation levels, arenas, other devices) is taken and does nothing.
"""

import ctypes as _ctypes
import enum as _enum
import json as _json
import os as _os
import random as _random
import tempfile as _tempfile
import threading as _threading
import time as _time
import warnings as _warnings
import weakref as _weakref

from .. import Cancel as _Cancel, __version__ as _nnex_version, _nnex, inspect as _inspect, load as _load

__version__ = "1.30.0"  # of the API that is followed; nnex's own is nnex.__version__

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "ModelMetadata", "NodeArg", "OrtValue", "RunOptions",
    "SessionOptions", "disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info", "get_device",
    "get_version_string", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
]

_TYPES = {"float32": "float", "float64": "double", "str": "string"}
_CPU = "CPUExecutionProvider"


class GraphOptimizationLevel(_enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class SessionOptions:
    """Of these have a meaning: intra_op_num_threads, enable_profiling, profile_file_prefix, overrides of free dimensions.

    Others that ONNX Runtime has are taken and do nothing; a name that it does not have is an AttributeError.
    """

    __slots__ = ("intra_op_num_threads", "inter_op_num_threads", "graph_optimization_level", "execution_mode", "execution_order", "enable_profiling",
                 "profile_file_prefix", "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "use_deterministic_compute",
                 "use_per_session_threads", "log_severity_level", "log_verbosity_level", "logid", "optimized_model_filepath", "_symbols", "_entries", "__weakref__")

    def __init__(self):
        self.use_per_session_threads = True
        self.intra_op_num_threads = self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode, self.execution_order = ExecutionMode.ORT_SEQUENTIAL, ExecutionOrder.DEFAULT
        self.enable_profiling, self.profile_file_prefix = False, "onnxruntime_profile_"
        self.enable_cpu_mem_arena = self.enable_mem_pattern = self.enable_mem_reuse = self.use_deterministic_compute = True
        self.log_severity_level, self.log_verbosity_level, self.logid, self.optimized_model_filepath = -1, 0, "", ""
        self._symbols, self._entries = {}, {}

    def add_free_dimension_override_by_name(self, name, extent):
        self._symbols[name] = extent

    def add_session_config_entry(self, key, value):
        self._entries[key] = value

    def get_session_config_entry(self, key):
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions has no configuration with the key {key!r}")
        return self._entries[key]

    def add_provider(self, name, options=None):
        """There is one, and it stays."""

    def register_custom_ops_library(self, path):
        raise NotImplementedError(f"custom operators of a library ({path}) are not taken; nnex.load(custom_ops=[...]) takes Python's")


class RunOptions:
    """Of these `terminate` has a meaning: True, from any thread, ends the runs that were given these options (nnex.Cancelled)."""

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches", "_entries", "_cancel", "__weakref__")

    def __init__(self):
        self.log_severity_level, self.log_verbosity_level, self.logid = -1, 0, ""
        self.only_execute_path_to_fetches = False
        self._entries, self._cancel = {}, _Cancel()

    @property
    def terminate(self):
        return self._cancel.is_set()

    @terminate.setter
    def terminate(self, ends):
        self._cancel.set() if ends else self._cancel.clear()

    def add_run_config_entry(self, key, value):
        self._entries[key] = value

    def get_run_config_entry(self, key):
        if key not in self._entries:
            raise RuntimeError(f"RunOptions has no configuration with the key {key!r}")
        return self._entries[key]


# In the order of ONNX's TensorProto.DataType.
_ELEMENTS = ("undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "str", "bool", "float16", "float64", "uint32", "uint64", "complex64",
             "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4")


class NodeArg:
    """An input or output: name, type ('tensor(float)') and shape (numbers, symbols, or None)."""

    def __init__(self, port):
        self.name, self.type = port.name, _type_of(port.type, port.dtype)
        self.shape = list(port.shape or ())

    def __str__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"

    __repr__ = __str__


def _type_of(text, dtype):
    for word, name in (("sequence", "seq"), ("optional", "optional")):
        if text.startswith(word):
            inner = text[len(word):].strip()
            inner = inner[1:-1] if inner.startswith("(") else inner.removeprefix("of ").strip()
            return f"{name}({_type_of(inner, None)})"
    if text.startswith("map"):
        key, value = text[4:-1].split(",", 1)
        return f"map({_element(key.strip())},{_type_of(value.strip(), None)})"
    return f"tensor({_element(dtype or text.split('[')[0])})"


def _element(dtype):
    name = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}.get(dtype, dtype)
    if name[:1] in "iu" and name[1:].isdigit():
        name = ("int" if name[0] == "i" else "uint") + name[1:]
    return _TYPES.get(name, name)


class ModelMetadata:
    """Of a model's file."""

    def __init__(self, seen):
        self.producer_name, self.graph_name = seen.producer, seen.graph_name
        self.domain, self.description, self.graph_description, self.version = seen.domain, seen.doc, seen.graph_doc, seen.model_version
        self.custom_metadata_map = dict(seen.metadata)


class OrtValue:
    """A tensor in memory of nnex's; of ortvalue_from_numpy()."""

    def __init__(self, value, own=False):
        self._value, self._own = value, own  # own: nobody else has its memory, so that it may be filled again

    def __repr__(self):
        return f"<OrtValue {self._value!r}>"

    def _take(self, value):
        """What another value holds: in this one's memory where it fits."""
        fits = self._own and value.dtype != "str" and (value.dtype, value.shape) == (self._value.dtype, self._value.shape)
        if not fits:
            self._value, self._own = value, False
            return
        (to, size), (address, _) = _nnex.address(self._value), _nnex.address(value)
        if size:
            _ctypes.memmove(to, address, size)

    @staticmethod
    def ortvalue_from_numpy(array, device_type="cpu", device_id=0):
        if device_type != "cpu":
            raise ValueError(f"found the device {device_type!r}; needed 'cpu'")
        return OrtValue(_nnex.copy_of(array), own=True)  # a copy, as there

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        if device_type != "cpu":
            raise ValueError(f"found the device {device_type!r}; needed 'cpu'")
        return OrtValue(_nnex.zeros(shape, element_type), own=True)

    def numpy(self):
        return self._value.python()

    def shape(self):
        return list(self._value.shape)

    def data_type(self):
        return f"tensor({_element(self._value.dtype)})"

    def element_type(self):
        return _ELEMENTS.index(self._value.dtype)

    def data_ptr(self):
        return _nnex.address(self._value)[0]

    def tensor_size_in_bytes(self):
        return _nnex.address(self._value)[1]

    def update_inplace(self, array):
        import numpy

        array = numpy.asarray(array)
        if (numpy.shape(array), array.dtype) != (self._value.shape, numpy.dtype(self._value.dtype).newbyteorder(array.dtype.byteorder)):
            raise ValueError(f"found {array.dtype}{list(array.shape)}; needed {self._value.dtype}{list(self._value.shape)}")
        self._take(_nnex.copy_of(array))

    def device_name(self):
        return "cpu"

    def has_value(self):
        return self._value.kind != "empty"

    def is_tensor(self):
        return self._value.kind == "tensor"

    def is_tensor_sequence(self):
        return self._value.kind == "sequence"

    def is_sparse_tensor(self):
        return self._value.kind == "sparse"


class IOBinding:
    """Inputs and outputs by name for run_with_iobinding()."""

    def __init__(self, session):
        self._session, self._inputs, self._names, self._outputs, self._into, self._memory = session, {}, [], [], {}, {}

    def bind_cpu_input(self, name, array):
        self._inputs[name] = array

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """Memory of the caller's, which stays there until the run has ended."""
        import numpy

        if device_type != "cpu":
            raise ValueError(f"found the device {device_type!r}; needed 'cpu'")
        dtype = numpy.dtype(element_type)
        size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
        if size and not buffer_ptr:
            raise ValueError(f"input {name!r}: found no memory; needed {size} bytes")
        memory = (_ctypes.c_ubyte * size).from_address(buffer_ptr) if size else b""
        self._inputs[name] = numpy.frombuffer(memory, dtype).reshape(shape)

    def bind_ortvalue_output(self, name, value):
        """The run's output is written over what the value held; one of another shape or type takes its place."""
        self._names.append(name)
        self._into[name] = value

    def bind_ortvalue_input(self, name, value):
        self._inputs[name] = value

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Into memory of the caller's, with all of element_type, shape and buffer_ptr; else into memory of nnex's."""
        if device_type != "cpu":
            raise ValueError(f"found the device {device_type!r}; needed 'cpu'")
        self._names.append(name)
        if buffer_ptr is not None:
            self._memory[name] = (_nnex.zeros((0,), element_type).dtype, tuple(shape), buffer_ptr)

    def get_outputs(self):
        return self._outputs

    get_outputs_as_ortvaluevector = get_outputs

    def copy_outputs_to_cpu(self):
        return [value.numpy() for value in self._outputs]

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._names.clear()
        self._into.clear()
        self._memory.clear()

    def synchronize_inputs(self):
        pass

    synchronize_outputs = synchronize_inputs


class InferenceSession:
    """A model that may be run from any number of threads at once."""

    def __repr__(self):
        return f"<InferenceSession of {self._model!r}>"

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        self._options = sess_options or SessionOptions()
        self._source = path_or_bytes
        providers = [providers] if isinstance(providers, str) else providers or [_CPU]
        names = [provider[0] if isinstance(provider, tuple) else provider for provider in providers]
        if _CPU not in names:
            _warnings.warn(f"found the providers {names}; nnex computes as {_CPU}", UserWarning, stacklevel=2)
        threads = self._options.intra_op_num_threads
        if not isinstance(threads, int):
            raise TypeError(f"intra_op_num_threads: found {type(threads).__name__}; needed a whole number")
        self._start, began = _time.time_ns(), _time.perf_counter_ns()
        seed = _random.getrandbits(64) if _seed is None else _seed
        self._model = _load(path_or_bytes, threads=max(0, threads), symbols=self._options._symbols, seed=seed)
        self._inputs, self._outputs = self._model.inputs, self._model.outputs
        self._names = [port.name for port in self._outputs]
        self._profiled, self._trace = None, None
        if self._options.enable_profiling:
            self._profiled = self._model.session()
            self._profiled.profile(True)
            took = (_time.perf_counter_ns() - began) // 1000
            self._events = [_event("Session", "session_initialization", 0, took)]
            # Written when the session goes, or the program ends, as there.
            self._trace = _weakref.finalize(self, _write_trace, self._events, self._options.profile_file_prefix)

    def run(self, output_names, input_feed, run_options=None):
        if isinstance(output_names, str) or not hasattr(input_feed, "items"):
            raise TypeError(f"run(): found {type(output_names).__name__} and {type(input_feed).__name__}; needed a list of names (or None) and a dict of inputs")
        names = list(output_names) if output_names else None
        feed = {name: value._value if isinstance(value, OrtValue) else value for name, value in input_feed.items()}
        if self._profiled is None:
            made = self._model.run(feed, outputs=names, cancel=_cancel_of(run_options))
            return [made[name] for name in names or self._names]
        began = (_time.time_ns() - self._start) // 1000
        made = self._profiled.run(feed, outputs=names, cancel=_cancel_of(run_options))
        self._events.append(_event("Session", "model_run", began, (_time.time_ns() - self._start) // 1000 - began))
        for place, op, kernel, start, took in self._profiled.nodes:
            self._events.append(_event("Node", place, began + int(start), int(took), {"op_name": op, "kernel": kernel, "provider": _CPU}))
        return [made[name] for name in names or self._names]

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Calls callback(outputs, user_data, error) on a thread of its own: error is '' or a text."""

        def work():
            try:
                outputs, error = self.run(output_names, input_feed, run_options), ""
            except Exception as caught:
                outputs, error = [], str(caught) or type(caught).__name__
            callback(outputs, user_data, error)

        _threading.Thread(target=work).start()

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        names = list(output_names) if output_names else None
        made = self._model.run({name: value._value for name, value in input_dict_ort_values.items()}, outputs=names, values=True, cancel=_cancel_of(run_options))
        return [OrtValue(value) for value in made.values()]

    def io_binding(self):
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        feed = {name: value._value if isinstance(value, OrtValue) else value for name, value in iobinding._inputs.items()}
        made = self._model.run(feed, outputs=iobinding._names or None, values=True, cancel=_cancel_of(run_options))
        for name, (dtype, shape, pointer) in iobinding._memory.items():
            if (made[name].dtype, made[name].shape) != (dtype, shape):
                raise ValueError(f"output {name!r}: found memory of {dtype}{list(shape)}; needed {made[name].dtype}{list(made[name].shape)}")
            address, size = _nnex.address(made[name])
            if size:
                _ctypes.memmove(pointer, address, size)
        for name, value in iobinding._into.items():
            value._take(made[name])
        iobinding._outputs = [iobinding._into.get(name) or OrtValue(value) for name, value in made.items()]

    def get_inputs(self):
        return [NodeArg(port) for port in self._inputs]

    def get_outputs(self):
        return [NodeArg(port) for port in self._outputs]

    def get_overridable_initializers(self):
        return []

    def get_modelmeta(self):
        return ModelMetadata(_inspect(self._source))

    def get_session_options(self):
        return self._options

    def get_providers(self):
        return [_CPU]

    def get_provider_options(self):
        return {_CPU: {}}

    def set_providers(self, providers=None, provider_options=None):
        """There is one, and it stays."""

    def disable_fallback(self):
        """There is none."""

    enable_fallback = disable_fallback

    def end_profiling(self):
        """Writes what was timed as a trace (chrome://tracing, Perfetto) and gives the path."""
        path = self._trace() if self._trace else None
        self._profiled = None
        return path or ""

    def get_profiling_start_time_ns(self):
        return self._start


def _event(category, name, start, took, arguments=None):
    return {"cat": category, "ph": "X", "pid": _os.getpid(), "tid": 0, "name": name, "ts": start, "dur": took, "args": arguments or {}}


def _write_trace(events, prefix):
    handle, path = _tempfile.mkstemp(suffix=".json", prefix=prefix, dir=".")
    with _os.fdopen(handle, "w") as file:
        _json.dump(events, file)
    return _os.path.normpath(path)


def _cancel_of(run_options):
    return None if run_options is None else run_options._cancel


def get_version_string():
    return __version__


def get_available_providers():
    return [_CPU]


get_all_providers = get_available_providers


def get_device():
    return "CPU"


def get_build_info():
    return f"nnex {_nnex_version}"


def set_default_logger_severity(severity):
    """There is no logger."""


def set_default_logger_verbosity(verbosity):
    """There is no logger."""


_seed = None


def set_seed(seed):
    """What random operators without a seed of their own begin with in later sessions; before it each session has another."""
    global _seed
    if not isinstance(seed, int):
        raise TypeError(f"set_seed(): found {type(seed).__name__}; needed a whole number")
    _seed = seed % 2**64


def disable_telemetry_events():
    """There are none."""


enable_telemetry_events = disable_telemetry_events
