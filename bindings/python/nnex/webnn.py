"""WebNN in Python, as the W3C specification has it: the same names, arguments, checks and errors.

    context = nnex.webnn.create_context()
    builder = nnex.webnn.MLGraphBuilder(context)
    x = builder.input("x", {"dataType": "float32", "shape": [2, 2]})
    graph = builder.build({"y": builder.relu(x)})
    y = context.compute(graph, {"x": numpy.array([[1, -1], [-1, 1]], "float32")})["y"]

Promises are waited for. Options are dicts, or keywords: builder.conv2d(x, w, padding=[1, 1, 1, 1]).
"""

import json
import os

from . import _nnex
from ._errors import refused
from ._nnex import MLOperand, Value

_NUMPY = {"float32": "float32", "float16": "float16", "int64": "int64", "uint64": "uint64", "int32": "int32", "uint32": "uint32", "int8": "int8", "uint8": "uint8"}


def create_context(options=None, *, threads=0, **members):
    """navigator.ml.createContext(options). threads: of one inference; 0: all this process may use."""
    return MLContext(_nnex.ml_create_context({**(options or {}), **members} or None, threads))


def _array(what, data, descriptor):
    """Numbers in lists as what they are wanted for; arrays of another type or shape are refused, as their bytes would be read as those of this one."""
    if isinstance(data, (list, tuple, int, float)):
        try:
            data = Value(data, descriptor["dataType"])
        except (TypeError, ValueError, OverflowError) as error:
            raise refused(f"{what}: {error}") from None
    _check(what, data, descriptor["dataType"])
    shape, wanted = getattr(data, "shape", None), tuple(descriptor["shape"])
    if isinstance(shape, tuple) and len(shape) > 1 and shape != wanted:  # one axis may be any bytes, in order
        raise refused(f"{what}: found an array of the shape {list(shape)}; needed {list(wanted)}, or one axis")
    return data


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _check(what, data, dtype):
    found = getattr(data, "dtype", None)  # a text, of a nnex.Value
    found = getattr(found, "name", found)
    if isinstance(found, str) and dtype in _NUMPY and found not in (dtype, "uint8", "uint16" if dtype == "float16" else None):
        raise refused(f"{what}: found an array of {found}; needed {dtype}")


class _Owned:
    """A handle that belongs to the process which made it."""

    def __init__(self, handle):
        self._raw, self._process = handle, os.getpid()

    @property
    def _handle(self):
        if os.getpid() != self._process:
            raise RuntimeError(f"{type(self).__name__}: an MLContext belongs to the process that made it: its timeline's thread is not in one that was forked")
        return self._raw

    def _destroy(self):
        if os.getpid() == self._process:  # else it is the parent's, who still has it
            _nnex.ml_destroy(self._raw)


class MLContext(_Owned):
    """Tensors, and graphs that are dispatched in order; of create_context()."""

    def opSupportLimits(self):
        """The types and ranks of every operation's operands."""
        return json.loads(_nnex.ml_limits(self._handle))

    def createTensor(self, descriptor):
        """descriptor: {"dataType": "float32", "shape": [2, 2], "readable": True, "writable": True}."""
        return MLTensor(_nnex.ml_create_tensor(self._handle, descriptor, None), descriptor)

    def createConstantTensor(self, descriptor, data):
        """A tensor for the builder's `constant`, which any number of graphs share."""
        if isinstance(descriptor, dict) and {"dataType", "shape"} <= descriptor.keys():
            data = _array("createConstantTensor()", data, descriptor)
        return MLTensor(_nnex.ml_create_tensor(self._handle, descriptor, data), descriptor)

    def writeTensor(self, tensor, data):
        """Copies the bytes of an array now and queues the write."""
        data = _array("writeTensor()", data, {"dataType": tensor.dataType, "shape": tensor.shape})
        _nnex.ml_write_tensor(self._handle, tensor._handle, data)

    def readTensor(self, tensor, into=None):
        """Waits for what was queued before; an array of NumPy's (without it a nnex.Value), or `into`, which is filled."""
        if into is None:
            numpy = _numpy()
            if not numpy:
                return _nnex.ml_read_value(self._handle, tensor._handle, tensor.dataType, tensor.shape)
            into = numpy.empty(tensor.shape, _NUMPY.get(tensor.dataType, "uint8"))
        elif not getattr(getattr(into, "dtype", None), "isnative", True):
            raise refused("readTensor(): found an array of the other byte order; needed the machine's")
        _check("readTensor()", into, tensor.dataType)
        _nnex.ml_read_tensor(self._handle, tensor._handle, into)
        return into

    def dispatch(self, graph, inputs, outputs):
        """Queues one inference: tensors by the names of the graph's inputs and outputs."""
        handles = lambda tensors: {name: tensor._handle for name, tensor in tensors.items()}
        _nnex.ml_dispatch(self._handle, graph._handle, handles(inputs), handles(outputs))

    def compute(self, graph, inputs):
        """Beyond the specification: one inference on arrays; gives arrays by the names of the outputs."""
        tensors = {}
        for name, array in inputs.items():
            of = graph._inputs.get(name)
            if of is None:
                raise refused(f"compute(): found an input '{name}'; needed {', '.join(graph._inputs) or 'none'}")
            value = _array(f"input '{name}'", array, of)
            if not isinstance(value, Value):  # arrays whose elements lie apart, or in the other order of bytes
                try:
                    value = Value(value)
                except (TypeError, ValueError, OverflowError) as error:
                    raise refused(f"input '{name}': {error}") from None
            if value.dtype is None:
                raise refused(f"input '{name}': found {type(array).__name__}; needed an array")
            tensors[name] = self.createTensor({**of, "writable": True})
            _nnex.ml_write_tensor(self._handle, tensors[name]._handle, value)
        outputs = {name: self.createTensor({**of, "readable": True}) for name, of in graph._outputs.items()}
        self.dispatch(graph, tensors, outputs)
        try:
            return {name: self.readTensor(tensor) for name, tensor in outputs.items()}
        finally:
            for tensor in [*tensors.values(), *outputs.values()]:
                tensor.destroy()

    @property
    def lost(self):
        """Why the context is lost or destroyed; None: it is not."""
        return _nnex.ml_lost(self._handle)

    def destroy(self):
        """Graphs and tensors go with it. In a process that was forked it does nothing: the parent keeps its context."""
        self._destroy()


class MLGraphBuilder(_Owned):
    """Operations by their names in the specification: conv2d, matmul, lstm, ..."""

    def __init__(self, context):
        super().__init__(_nnex.ml_builder(context._handle))
        self._context, self._inputs = context._handle, {}

    def input(self, name, descriptor):
        """An input of the graph: {"dataType": "float32", "shape": [2, 2]}."""
        made = self._call("input", [name, descriptor])
        self._inputs[name] = {"dataType": made.dataType, "shape": list(made.shape)}
        return made

    def constant(self, descriptor, data=None):
        """Of a descriptor and an array of its type and shape (or lists, or bytes), of a type and a number, or of a constant tensor."""
        if isinstance(descriptor, dict) and {"dataType", "shape"} <= descriptor.keys() and data is not None:
            data = _array("constant()", data, descriptor)
        return self._call("constant", [descriptor] if data is None else [descriptor, data])

    def build(self, outputs):
        """Compiles the graph of these operands, by names."""
        descriptors = {name: {"dataType": operand.dataType, "shape": list(operand.shape)} for name, operand in outputs.items()}
        return MLGraph(_nnex.ml_build(self._handle, outputs), self._inputs, descriptors)

    def __dir__(self):
        return sorted({*super().__dir__(), *_operations(self._context)})

    def __getattr__(self, method):
        if method.startswith("_") or method not in _operations(self._context):
            raise AttributeError(f"MLGraphBuilder has no operation {method!r}")

        def call(*arguments, **options):
            return self._call(method, [*arguments, options] if options else arguments)

        call.__name__, call.__doc__ = method, f"The specification's {method}(): operands and numbers in its order, options as keywords or as a dict."
        return call

    def _call(self, method, arguments):
        made = _nnex.ml_call(self._handle, method, [getattr(a, "_handle", a) for a in arguments])
        return made[0] if method not in _LISTS and len(made) == 1 else list(made)


_known = []


def _operations(context):
    """The names of the builder's operations, which are the same for all contexts."""
    if not _known:
        _known.append({name for name, limit in json.loads(_nnex.ml_limits(context)).items() if isinstance(limit, dict)} - {"input", "constant", "output"})
    return _known[0]


_LISTS = {"gru", "lstm", "split"}  # which give sequences, of one operand too


class MLTensor(_Owned):
    """Memory of a context's; of MLContext.createTensor()."""

    def __repr__(self):
        return f"<MLTensor {self.dataType} {self.shape}>"

    def __init__(self, handle, descriptor):
        super().__init__(handle)
        self.dataType, self.shape = descriptor["dataType"], tuple(descriptor["shape"])

    def destroy(self):
        """Its memory goes once what was queued before is done."""
        self._destroy()


class MLGraph(_Owned):
    """A compiled graph; of MLGraphBuilder.build()."""

    def __repr__(self):
        return f"<MLGraph ({', '.join(self._inputs)}) -> ({', '.join(self._outputs)})>"

    def __init__(self, handle, inputs, outputs):
        super().__init__(handle)
        self._inputs, self._outputs = inputs, outputs

    def destroy(self):
        """What was queued still runs; later dispatches are refused."""
        self._destroy()
