"""Calls with everything everywhere: what is wrong is an exception of Python's or nnex's, never a crash or an exception that is lost
(SystemError). HOSTILE_CALLS and HOSTILE_SEED say how many, and which."""

import contextlib
import gc
import os
import pathlib
import random
import sys
import tempfile
import unittest
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402
import nnex.onnxruntime as ort  # noqa: E402
import nnex.webnn as webnn  # noqa: E402

MODEL = ROOT / "models/shapes/model.onnx"


class Evil:
    """Which raises whatever it is asked."""

    def fail(self, *_):
        raise RuntimeError("no")

    __iter__ = __index__ = __float__ = __bool__ = __int__ = fail
    dtype = property(fail)

    def __len__(self):
        return -1

    def __fspath__(self):
        return 5

    def __array__(self, *_, **__):
        return 7


class NoCapsule:
    def __dlpack__(self, **_):
        return 3


class OddMap(dict):
    def keys(self):
        return [1, 2]

    def items(self):
        return [(1,)]


class Hostile(unittest.TestCase):
    def test_random_calls(self):
        model, graph = nnex.load(MODEL), nnex.load_graph(MODEL)
        session, context = model.session(), webnn.create_context()
        builder = webnn.MLGraphBuilder(context)
        operand = builder.input("x", {"dataType": "float32", "shape": [2]})
        tensor = context.createTensor({"dataType": "float32", "shape": [2], "readable": True, "writable": True})
        values = [nnex.Value([1.0, 2.0]), nnex.Value(["a"]), nnex.Value(None), nnex.Value({"a": [1.0]})]
        things = [
            None, True, 0, -1, 2**70, 1.5, float("nan"), "", "x", "picture", "\udc80", "a\0b", b"", b"\x08\x07", bytearray(3), memoryview(b"abcd"),
            [], [1, 2], [[1], [2, 3]], ["a"], [None], [[[]]], (), (1,), {}, {"x": 1}, {1: 2}, {"picture": [1]}, {"a": b"x"}, np.zeros(3, "f"),
            np.zeros((1, 3, 32, 32), "f"), np.zeros((2, 2))[::-1], np.array(["a"]), np.array([None]), np.array(1.5), np.float16(3), np.zeros(3, ">i4"),
            np.zeros(2, [("a", "i4")]), np.array(["2020"], "M8[D]"), np.zeros(0), Evil(), NoCapsule(), OddMap(a=1), object(), int, len, lambda *a: 1, model,
            graph, session, *values, operand, tensor, tensor._handle, context._handle, builder._handle, range(3), iter([1]), Ellipsis,
            nnex.CustomOp("R", lambda *a: 3), {"dataType": "float32", "shape": [2]}, {"dataType": 5}]
        functions = [getattr(nnex._nnex, name) for name in dir(nnex._nnex) if not name.startswith("__") and name != "ml_destroy"]
        functions = [f for f in functions if callable(f) and not isinstance(f, type)]
        for of in (model, session, graph, values[0], context, builder):
            named = [name for name in dir(of) if not name.startswith("__") and name != "destroy"]
            functions += [f for f in (getattr(of, name) for name in named) if callable(f)]
        functions += [nnex.Value, nnex.load, nnex.load_graph, nnex.parse_graph, nnex.check, nnex.inspect, nnex.convert_to_bytes, nnex.view, nnex.compare,
                      nnex.quantize, nnex.read_value, ort.InferenceSession, builder.relu, builder.conv2d, builder.split, builder.lstm, lambda *given: builder._call("nothing", given), model, session]
        keywords = ("outputs", "timeout", "values", "symbols", "shapes", "carry", "custom_ops", "threads", "seed", "dtype", "whole", "names", "inputs", "layout",
                    "format", "memory_limit", "isa", "data", "options")
        chosen = random.Random(int(os.environ.get("HOSTILE_SEED", 1)))
        here, calls = os.getcwd(), int(os.environ.get("HOSTILE_CALLS", 6000))
        refused = 0
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.chdir(folder)
            try:
                for number in range(calls):
                    call = chosen.choice(functions)
                    given = [chosen.choice(things) for _ in range(chosen.randrange(6))]
                    named = {chosen.choice(keywords): chosen.choice(things) for _ in range(chosen.choice([0, 0, 0, 1, 2]))}
                    try:
                        with contextlib.suppress(nnex.Error):
                            call(*given, **named)
                            continue
                    except SystemError as error:
                        self.fail(f"call {number}: {call}: {error!r}")
                    except Exception:  # of Python's: which, depends on the argument
                        pass
                    refused += 1
            finally:
                os.chdir(here)
        gc.collect()
        print(f"  {calls} calls, {refused} of them refused")
        self.assertEqual(model(np.zeros((1, 3, 32, 32), "float32")).shape, (1, 8))


if __name__ == "__main__":
    unittest.main()
