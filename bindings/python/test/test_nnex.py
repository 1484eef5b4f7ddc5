"""The module of Python: values, runs, errors, the tools, graphs, operators of the host's, WebNN, ONNX Runtime's shape."""

import contextlib
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402
import nnex.onnxruntime as ort  # noqa: E402
import nnex.webnn as webnn  # noqa: E402

SHAPES = ROOT / "models/shapes"
SHARED = pathlib.Path(os.environ.get("NNEX_SHARED", ROOT.parent / "shared"))


def graph(text):
    return nnex.load(nnex.parse_graph(text))


RELU = "graph main(x: f32[N,2]) -> (y) { y = relu(x); }"


class Values(unittest.TestCase):
    def test_every_type_goes_in_and_comes_back(self):
        for name in "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex64 complex128".split():
            array = np.array([[0, 1, 2], [1, 0, 1]]).astype(name)
            value = nnex.Value(array)
            self.assertEqual((value.dtype, value.shape, value.kind), (name, (2, 3), "tensor"))
            np.testing.assert_array_equal(value.python(), array)
            self.assertEqual(value.python().dtype, array.dtype)
            np.testing.assert_array_equal(np.asarray(value), array)
            self.assertEqual(value.tobytes(), array.tobytes())

    def test_a_value_shares_what_an_array_has(self):
        array = np.arange(6, dtype="float32")
        value = nnex.Value(array)
        array[2] = 77
        self.assertEqual(memoryview(value)[2], 77)
        with self.assertRaises(TypeError):
            memoryview(value)[2] = 1
        with self.assertRaises(ValueError):
            np.asarray(value).setflags(write=True)

    def test_the_array_lives_as_long_as_its_value(self):
        array = np.arange(4, dtype="float32")
        gone = weakref.ref(array)
        value = nnex.Value(array)
        del array
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(value.tolist(), [0, 1, 2, 3])
        del value
        gc.collect()
        self.assertIsNone(gone())

    def test_weak_references_keep_nothing(self):
        model = graph(RELU)
        things = [nnex.Value([1.0]), model.session(), nnex.parse_graph(RELU), model]
        told = []
        weak = [weakref.ref(thing, lambda _: told.append(1)) for thing in things]
        cache = weakref.WeakValueDictionary(enumerate(things))
        self.assertEqual([w() for w in weak], things)
        del things, model
        gc.collect()
        self.assertEqual(([w() for w in weak], len(told), len(cache)), ([None] * 4, 4, 0))

    def test_rows_apart_and_other_orders_are_copied(self):
        array = np.arange(24, dtype="int32").reshape(4, 6)
        for view in (array[:, ::2], array.T, array[::-1], np.asfortranarray(array)):
            np.testing.assert_array_equal(nnex.Value(view).python(), view)

    def test_the_other_order_of_bytes(self):
        for name in (">f4", ">f8", ">f2", ">i4", ">i8", ">u2", ">c8"):
            array = np.arange(6).reshape(2, 3).astype(name)
            value = nnex.Value(array)
            self.assertEqual((value.shape, value.dtype), ((2, 3), array.dtype.newbyteorder("=").name))
            np.testing.assert_array_equal(value.python(), array)
        self.assertEqual(nnex.Value(np.zeros((0, 3), object)).shape, (0, 3))
        self.assertEqual(nnex.Value(np.zeros((2, 0), "U3")).shape, (2, 0))

    def test_lists_of_arrays_are_stacked(self):
        rows = [np.float32([1, 2]), np.float32([3, 4])]
        np.testing.assert_array_equal(nnex.Value(rows).python(), rows)
        with self.assertRaises(ValueError):
            nnex.Value([np.zeros(2), np.zeros(3)])

    def test_copies(self):
        import copy

        for thing in (nnex.Value([1.0]), nnex.load(SHAPES / "model.onnx"), nnex.load_graph(SHAPES / "model.onnx")):
            self.assertIs(copy.copy(thing), thing)
            self.assertIs(copy.deepcopy(thing), thing)

    def test_scalars_and_nothing(self):
        self.assertEqual(nnex.Value(3.5, "float32").shape, ())
        self.assertEqual(nnex.Value(np.float16(2)).dtype, "float16")
        self.assertEqual(nnex.Value(np.zeros((0, 3), "float32")).python().shape, (0, 3))
        self.assertEqual(nnex.Value([], "int64").shape, (0,))
        self.assertEqual(nnex.Value(True).dtype, "bool")
        self.assertEqual(nnex.Value(1 << 62).tolist(), 1 << 62)

    def test_lists_become_what_they_hold(self):
        self.assertEqual(nnex.Value([[1, 2], [3, 4]]).dtype, "int64")
        self.assertEqual(nnex.Value([1, 2.5]).dtype, "float32")
        self.assertEqual(nnex.Value([[True], [False]]).dtype, "bool")
        self.assertEqual(nnex.Value(["a", "b"]).dtype, "str")
        self.assertEqual(nnex.Value([1.5, -2.25, 65504.0], "float16").python().tolist(), [1.5, -2.25, 65504.0])
        self.assertEqual(nnex.Value([1.0, 1.00390625, 3.0e38], "bfloat16").tolist(), [1.0, 1.0, 226 * 2.0**120])
        for bad, kind in (([[1], [2, 3]], ValueError), ([1, [2]], ValueError), ([[1], 2], ValueError), ([1, "a"], (TypeError, ValueError)), (object(), TypeError)):
            with self.assertRaises(kind):
                nnex.Value(bad)
        for number, dtype in ((256, "uint8"), (-1, "uint64"), (8, "int4"), (-9, "int4"), (1 << 63, "int64")):
            with self.assertRaises(OverflowError):
                nnex.Value([number], dtype)
        with self.assertRaises(TypeError):
            nnex.Value([1.5], "int32")
        with self.assertRaises(ValueError):
            nnex.Value([1], "int5")

    def test_narrow_elements_lie_dense(self):
        value = nnex.Value([1, -2, 7, -8, 3], "int4")
        self.assertEqual((value.dtype, value.tolist(), value.tobytes()), ("int4", [1, -2, 7, -8, 3], bytes([0xE1, 0x87, 0x03])))
        self.assertEqual(nnex.Value([0, 1, 2, 3], "uint2").tobytes(), bytes([0b11100100]))
        self.assertIsInstance(value.python(), nnex.Value)
        with self.assertRaises(TypeError):
            np.asarray(value)

    def test_bits_of_another_type(self):
        value = nnex.Value(np.array([0x3F80, 0xC000], "uint16"), "bfloat16")
        self.assertEqual(value.tolist(), [1.0, -2.0])
        with self.assertRaises(TypeError):
            nnex.Value(np.array([1.0]), "float32")

    def test_texts(self):
        for array in (np.array([["a", "öß"], ["", "日本"]]), np.array([["a", "öß"], ["", "日本"]], object), [["a", "öß"], ["", "日本"]]):
            value = nnex.Value(array)
            self.assertEqual((value.dtype, value.tolist()), ("str", [["a", "öß"], ["", "日本"]]))
        self.assertEqual(nnex.Value(["\1nnex:1\1", "a\1b\1c"]).tolist(), ["\1nnex:1\1", "a\1b\1c"])
        self.assertEqual(value.python().dtype, object)
        self.assertEqual(value.python().tolist(), value.tolist())
        with self.assertRaises(BufferError):
            memoryview(value)

    def test_dlpack_both_ways(self):
        array = np.arange(6, dtype="float32").reshape(2, 3)

        class Other:  # which has nothing but DLPack
            def __dlpack__(self, **_):
                return array.__dlpack__()

            def __dlpack_device__(self):
                return array.__dlpack_device__()

        value = nnex.Value(Other())
        self.assertEqual(value.tolist(), array.tolist())
        np.testing.assert_array_equal(np.from_dlpack(value), array)
        class Torn(Other):  # as a turned tensor of PyTorch's is
            def __dlpack__(self, **_):
                return array.T.__dlpack__()

        np.testing.assert_array_equal(nnex.Value(Torn()).python(), array.T)
        Torn.__array__ = lambda self: array.T
        np.testing.assert_array_equal(nnex.Value(Torn()).python(), array.T)
        unread = value.__dlpack__()
        del unread, value
        gc.collect()
        with self.assertRaises(nnex.Unsupported):
            nnex.Value(["a"]).__dlpack__()

    def test_who_reads_dlpack_cannot_write_into_a_model(self):
        import ctypes

        for memory in (np.frombuffer(b"abcdefgh", "uint8"), np.broadcast_to(np.float32(1), (2, 2))):
            before = memory.copy()
            taken = np.from_dlpack(nnex.Value(memory))
            ctypes.memset(taken.ctypes.data, 0x41, memory.nbytes)
            np.testing.assert_array_equal(memory, before)
        model = nnex.load(nnex.parse_graph("graph main(x: f32[2]) -> (y, z) { c = f32[3](1, 2, 3); y = copy(c); z = relu(x); }"))
        value = model.run([1, 2], values=True)["y"]
        taken = np.from_dlpack(value)
        ctypes.memset(taken.ctypes.data, 0x55, 12)
        self.assertEqual(model([1, 2])[0].tolist(), [1, 2, 3])

    def test_maps_and_what_is_none(self):
        value = nnex.Value({"b": np.float32([1]), "a": np.float32([2])})
        self.assertEqual(value.kind, "map")
        self.assertEqual({k: v.tolist() for k, v in value.python().items()}, {"a": [2.0], "b": [1.0]})
        self.assertEqual([v.kind for v in value.items()], ["tensor"] * 3)
        self.assertIsNone(nnex.Value(None).python())
        self.assertIsNone(nnex.Value(None).dtype)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.npy")
            nnex.write_value(np.float32([[1, 2]]), path)
            np.testing.assert_array_equal(nnex.read_value(path), np.load(path))
            with self.assertRaisesRegex(nnex.Error, "x.npy"):
                nnex.write_value([1.0], path)
            nnex.write_value([1.0], path, overwrite=True)


class Models(unittest.TestCase):
    def test_ports(self):
        model = nnex.load(SHAPES / "model.onnx")
        self.assertEqual(model.inputs, [nnex.Port("picture", "f32[N,3,32,32]", "float32", ("N", 3, 32, 32))])
        self.assertEqual(model.outputs[0].shape, ("N", 8))
        self.assertEqual(nnex.load(SHAPES / "model.onnx", symbols={"N": 2}).inputs[0].shape, (2, 3, 32, 32))
        self.assertEqual(nnex.load(SHAPES / "model.onnx", shapes={"picture": (1, 3, 32, 32)}).outputs[0].shape, (1, 8))

    def test_how_they_show_themselves(self):
        self.assertEqual(repr(nnex.load(SHAPES / "model.onnx")), "<nnex.Model (picture: f32[N,3,32,32]) -> (probabilities: f32[N,8])>")
        self.assertEqual(repr(nnex.load_graph(SHAPES / "model.onnx")), "<nnex.Graph of 21 nodes: (picture) -> (probabilities)>")
        self.assertEqual(repr(nnex.Value([[1.5]])), "<nnex.Value f32[1,1]>")

    def test_stored_answers(self):
        model = nnex.load(SHAPES / "model.onnx")
        for folder in sorted(SHAPES.glob("test_data_set_*")):
            x, y = nnex.read_value(folder / "input_0.pb"), nnex.read_value(folder / "output_0.pb")
            np.testing.assert_allclose(model(x), y, rtol=1e-4, atol=1e-6)
            np.testing.assert_array_equal(model(x), model.run({"picture": x})["probabilities"])
            np.testing.assert_array_equal(model(x), model.session(threads=1)(x))

    def test_real_networks(self):
        folders = sorted(p.parent for p in (SHARED / "models/onnx").glob("*/test_data_set_0"))
        if not folders:
            self.skipTest(f"{SHARED} is absent (set NNEX_SHARED)")
        for folder in folders:
            with self.subTest(folder.name):
                model = nnex.load(folder / "model.onnx")
                data = folder / "test_data_set_0"
                inputs = [nnex.read_value(data / f"input_{i}.pb") for i in range(len(model.inputs))]
                made = model.run(*inputs)
                bounds = {"rtol": 1e-3, "atol": 1e-7}  # as docs/conformance.md has it
                if (folder / "tolerance.json").exists():
                    bounds = json.loads((folder / "tolerance.json").read_text("utf-8"))
                for i, port in enumerate(model.outputs):
                    wanted = nnex.read_value(data / f"output_{i}.pb")
                    atol = bounds["relative_to_max"] * np.abs(wanted).max() if "relative_to_max" in bounds else bounds["atol"]
                    np.testing.assert_allclose(made[port.name], wanted, rtol=bounds.get("rtol", 0), atol=atol)

    def test_sources(self):
        path = SHAPES / "model.onnx"
        x = np.zeros((1, 3, 32, 32), "float32")
        answer = nnex.load(path)(x)
        for source in (str(path), path, path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes()), {"m.onnx": path.read_bytes()}, nnex.load_graph(path)):
            np.testing.assert_array_equal(nnex.load(source)(x), answer)
        with path.open("rb") as file:
            np.testing.assert_array_equal(nnex.load(file)(x), answer)
        with path.open("r", encoding="latin-1") as file, self.assertRaisesRegex(TypeError, "needed bytes"):
            nnex.load(file)

        class Proto:
            def SerializeToString(self):
                return path.read_bytes()

        np.testing.assert_array_equal(nnex.load(Proto())(x), answer)
        nnef = nnex.convert_to_bytes(path, "nnef", symbols={"N": 1})
        self.assertIn("graph.nnef", nnef)
        np.testing.assert_allclose(nnex.load(nnef)(x), answer, rtol=1e-5)

        class Files(dict):
            def __getitem__(self, name):
                if name.endswith(".dat"):
                    raise KeyError("locked " + name)
                return super().__getitem__(name)

        with self.assertRaisesRegex(nnex.Unreadable, "locked") as caught:
            nnex.load(Files(nnef))
        self.assertIsInstance(caught.exception.__cause__, KeyError)
        for bad in (3, None, [path], object()):
            with self.assertRaises(TypeError):
                nnex.load(bad)

    def test_outputs_are_the_callers(self):
        model = graph(RELU)
        a = model([[1, 2]])
        b = model([[3, 4]])
        a[0, 0] = 9
        self.assertEqual((a.tolist(), b.tolist(), model([[1, 2]]).tolist()), ([[9, 2]], [[3, 4]], [[1, 2]]))

    def test_wanted_outputs_and_values(self):
        model = graph("graph main(x: f32[2]) -> (a, b) { a = relu(x); b = neg(x); }")
        self.assertEqual(list(model.run([1, -1])), ["a", "b"])
        self.assertEqual(model.run([1, -1], outputs=["b"])["b"].tolist(), [-1, 1])
        self.assertEqual([y.tolist() for y in model([1, -1])], [[1, 0], [-1, 1]])
        value = model.run([1, -1], values=True)["a"]
        self.assertIsInstance(value, nnex.Value)
        self.assertEqual(model(value)[0].tolist(), [1, 0])
        self.assertEqual(model.run([5, 5], outputs="a")["a"].tolist(), [5, 5])
        again = model([1, -1], outputs=["b", "a", "b"])
        self.assertEqual([y.tolist() for y in again], [[-1, 1], [1, 0], [-1, 1]])
        self.assertEqual(list(model.run([1, -1], outputs=["b", "b"])), ["b"])
        self.assertEqual(value.tolist(), [1, 0])  # a later run leaves it

    def test_wrong_calls(self):
        model = graph(RELU)
        for call, kind, words in (
            (lambda: model(), nnex.InvalidArgument, "found 0 inputs; needed 1: x f32"),
            (lambda: model({"q": [[1, 2]]}), nnex.InvalidArgument, "input 'q'; needed x"),
            (lambda: model({}), nnex.InvalidArgument, "input 'x' is missing"),
            (lambda: model(np.zeros((1, 3), "float32")), nnex.InvalidArgument, r"found f32\[1,3\]; needed f32\[N,2\]"),
            (lambda: model(np.zeros((1, 2))), nnex.InvalidArgument, "found f64"),
            (lambda: model.run([[1, 2]], outputs=["z"]), nnex.InvalidArgument, "no output 'z'"),
            (lambda: model.run([[1, 2]], timeout=0), ValueError, "timeout"),
            (lambda: model.run([[1, 2]], timeout=float("nan")), ValueError, "timeout"),
            (lambda: model.run([[1, 2]], what=1), TypeError, "keyword 'what'"),
            (lambda: model.session(threads=-1), ValueError, "threads"),
            (lambda: nnex.load(SHAPES / "model.onnx", threads=-1), ValueError, "threads"),
            (lambda: nnex.load(SHAPES / "model.onnx", symbols={"N": 0.5}), TypeError, ""),
            (lambda: nnex.load(SHAPES / "model.onnx", colour="red"), nnex.InvalidArgument, "colour"),
            (lambda: nnex.load("no\0where"), ValueError, ""),
            (lambda: nnex.load(b"\x08\x07"), nnex.Error, ""),
            (lambda: nnex._nnex.Model(), TypeError, ""),
        ):
            with self.assertRaisesRegex(kind, words):
                call()

    def test_errors_say_where(self):
        with self.assertRaises(nnex.Unreadable) as caught:
            nnex.load("/nowhere/model.onnx")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual((caught.exception.code, caught.exception.errno), ("unreadable", 2))
        with self.assertRaisesRegex(nnex.InvalidArgument, r'symbols=\{"N": 1\}'):
            nnex.convert_to_bytes(SHAPES / "model.onnx", "nnef")
        with self.assertRaisesRegex(TypeError, "input 'picture': must be real number"):
            nnex.load(SHAPES / "model.onnx")([["a"]])
        for wrong in ({"symbols": [1]}, {"shapes": 3}, {"custom_ops": {"a": 1}}, {"custom_ops": [3]}):
            with self.assertRaisesRegex(TypeError, next(iter(wrong))):
                nnex.load(SHAPES / "model.onnx", **wrong)
        self.assertIn("while reading", str(caught.exception))
        with self.assertRaises(nnex.InvalidModel) as caught:
            nnex.parse_graph("graph main(x: f32[2]) -> (y) { y = rellu(x); }")
        self.assertIn("relu", str(caught.exception))
        self.assertEqual(type(caught.exception).__module__, "nnex")

    def test_many_threads_share_a_model(self):
        model, wrong = graph(RELU), []

        def work(number):
            for _ in range(300):
                if model([[number, -number]]).tolist() != [[number, 0]]:
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 9)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_states(self):
        model = graph("graph main(x: f32[2]) -> (y) { y = relu(x); }")
        self.assertEqual(model.states, [])
        carried = nnex.load(nnex.parse_graph("graph main(x: f32[2], c_in: f32[2]) -> (y, c_out) { c_out = add(x, c_in); y = neg(c_out); }"), carry={"c_out": "c_in"})
        self.assertEqual([port.name for port in carried.states], ["c_in"])
        session = carried.session()
        self.assertEqual([session([1, 2]).tolist() for _ in range(3)], [[-1, -2], [-2, -4], [-3, -6]])
        self.assertEqual(session.state("c_in").tolist(), [3, 6])
        session.set_state("c_in", np.float32([10, 20]))
        self.assertEqual(session([1, 2]).tolist(), [-11, -22])
        session.reset_states()
        self.assertEqual(session([1, 2]).tolist(), [-1, -2])
        with self.assertRaisesRegex(nnex.InvalidArgument, "nothing"):
            session.state("nothing")
        session.set_state("c_in", [5, 5])  # a list takes the state's type
        self.assertEqual(session([0, 0]).tolist(), [-5, -5])
        self.assertEqual([carried([1, 2]).tolist() for _ in range(3)], [[-1, -2]] * 3)  # a model never changes
        given = np.float32([1, 1])
        session.set_state("c_in", given)
        given[:] = 100
        self.assertEqual(session([0, 0]).tolist(), [-1, -1])

    def test_profiles_and_memory(self):
        session = nnex.load(SHAPES / "model.onnx", symbols={"N": 1}).session(threads=1)
        session.prepare()
        session.profile(True)
        session(np.zeros((1, 3, 32, 32), "float32"))
        self.assertTrue(any("conv" in node.kernel for node in session.nodes), session.nodes)
        self.assertGreater(session.memory, 0)
        timed = session.model.profile(np.zeros((1, 3, 32, 32), "float32"))
        self.assertEqual([node.kernel for node in timed], [node.kernel for node in session.nodes])

    def test_pictures_and_files_as_inputs(self):
        model = nnex.load(SHAPES / "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "red.ppm")
            path.write_bytes(b"P6 2 2 255\n" + b"\xff\0\0" * 4)
            x = model.read_input("picture", path, layout="nchw", mean=0.5, scale=[0.5, 0.5, 0.5])
            self.assertEqual(x.shape, (1, 3, 32, 32))
            np.testing.assert_allclose(x[0, :, 0, 0], [1, -1, -1])
            with self.assertRaisesRegex(nnex.InvalidArgument, "no input 'p'"):
                model.read_input("p", path)

    def test_a_run_ends_in_time(self):
        x = np.zeros((1, 64, 400, 400), "float32")
        model = graph("graph main(x: f32[1,64,400,400]) -> (y) { a = cos(x); " + " ".join(f"a{i} = cos({'a' if i == 0 else f'a{i - 1}'});" for i in range(60)) + " y = relu(a59); }")
        began = time.monotonic()
        with self.assertRaises(nnex.Error) as caught:
            model.run(x, timeout=0.05)
        self.assertLess(time.monotonic() - began, 2)
        self.assertIsInstance(caught.exception, nnex.TimedOut)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertIn("deadline", str(caught.exception))


class Interrupts(unittest.TestCase):
    def test_control_c_ends_a_long_run(self):
        program = f"""
import sys; sys.path.insert(0, {str(ROOT / 'bindings/python')!r})
import nnex, numpy as np
text = "graph main(x: f32[1,64,400,400]) -> (y) {{ a0 = cos(x); " + " ".join(f"a{{i}} = cos(a{{i - 1}});" for i in range(1, 1000)) + " y = relu(a999); }}"
model = nnex.load(nnex.parse_graph(text))
print("on", flush=True)
try:
    model(np.zeros((1, 64, 400, 400), "float32"))
    print("done")
except KeyboardInterrupt:
    print("interrupted")
"""
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        with contextlib.closing(process.stdout):
            self.assertEqual(process.stdout.readline(), "on\n")
            time.sleep(0.3)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline(), "interrupted\n")
            self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(process.wait(), 0)


    def test_what_a_program_does_with_the_signal(self):
        def run(handler, *more):
            program = f"""
import sys; sys.path.insert(0, {str(ROOT / 'bindings/python')!r})
import nnex, numpy as np, signal, threading, os, time
{handler}
text = "graph main(x: f32[1,64,400,400]) -> (y) {{ a0 = cos(x); " + " ".join(f"a{{i}} = cos(a{{i - 1}});" for i in range(1, 40)) + " y = relu(a39); }}"
model = nnex.load(nnex.parse_graph(text))
threading.Thread(target=lambda: (time.sleep(0.1), os.kill(os.getpid(), signal.SIGINT))).start()
y = model(np.zeros((1, 64, 400, 400), "float32"))
print("done", hits)
"""
            return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60).stdout

        self.assertEqual(run("hits = []; signal.signal(signal.SIGINT, lambda *_: hits.append(1))"), "done [1]\n")
        self.assertEqual(run("hits = []; signal.signal(signal.SIGINT, signal.SIG_IGN)"), "done []\n")

    def test_the_interpreter_ends_while_threads_run(self):
        program = f"""
import sys; sys.path.insert(0, {str(ROOT / 'bindings/python')!r})
import nnex, threading, time
sys.path.insert(0, {str(ROOT / 'bindings/python/test')!r})
model = nnex.load(nnex.parse_graph({RELU!r}))
def work():
    while True: model([[1, 2]])
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Tools(unittest.TestCase):
    def test_check(self):
        report = nnex.check(SHAPES / "model.onnx")
        self.assertTrue(report and report.sound)
        bad = nnex.check({"graph.nnef": b"version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1, 2]); y = rellu(x); }\n"})
        self.assertFalse(bad)
        self.assertEqual(bad.findings[0].severity, nnex.Severity.ERROR)
        self.assertIn("rellu", str(bad))
        self.assertEqual(bad.findings[0].code, "invalid model")

    def test_inspect(self):
        seen = nnex.inspect(SHAPES / "model.onnx")
        self.assertEqual((seen.format, seen.symbols, seen.operators["conv"], seen.parameters), ("onnx", ["N"], 5, 64409))
        self.assertEqual(seen.multiply_adds, "2657024*N")
        self.assertIn("labels", seen.metadata)

    def test_convert_and_compare(self):
        x = nnex.read_value(SHAPES / "test_data_set_0/input_0.pb")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "shapes.nnef.tgz")
            nnex.convert(SHAPES / "model.onnx", path, symbols={"N": 1})
            same = nnex.compare(SHAPES / "model.onnx", path, x)
            self.assertTrue(same)
            self.assertEqual((same.outputs[0].a, same.outputs[0].elements), ("probabilities", 8))
            with self.assertRaisesRegex(nnex.Error, "shapes.nnef.tgz"):
                nnex.convert(SHAPES / "model.onnx", path, symbols={"N": 1})
            nnex.convert(SHAPES / "model.onnx", path, symbols={"N": 1}, overwrite=True)
            g = nnex.load_graph(SHAPES / "model.onnx", symbols={"N": 1})
            self.assertTrue(nnex.compare(SHAPES / "model.onnx", g, x))
            self.assertEqual((nnex.inspect(g).parameters, nnex.check(g).sound), (64409, True))
            self.assertTrue(nnex.view(g).startswith(b"<!"))
        other = nnex.compare(SHAPES / "model.onnx", {"probabilities": np.zeros((1, 8), "float32")}, {"picture": x})
        self.assertFalse(other)
        self.assertGreater(other.outputs[0].differing, 0)
        with self.assertRaisesRegex(ValueError, "needed"):
            nnex.compare(SHAPES / "model.onnx", SHAPES / "model.onnx", {"picure": x})

    def test_view(self):
        self.assertTrue(nnex.view(SHAPES / "model.onnx").startswith(b"<!"))
        self.assertIn(b"digraph", nnex.view(SHAPES / "model.onnx", format="dot"))

    def test_quantize(self):
        pictures = [picture[None] for p in sorted(SHAPES.glob("test_data_set_*")) for picture in nnex.read_value(p / "input_0.pb")]
        made = nnex.quantize(SHAPES / "model.onnx", pictures, symbols={"N": 1}, judge_count=1)
        self.assertLess(made.bytes, made.float_bytes / 2)
        self.assertEqual(len(made.layers), 6)
        self.assertEqual(made.outputs[0].name, "probabilities")
        again = nnex.quantize(SHAPES / "model.onnx", recipe=made.recipe, symbols={"N": 1}, judge=False)
        np.testing.assert_array_equal(nnex.load(again.graph)(pictures[0]), nnex.load(made.graph)(pictures[0]))
        self.assertEqual(np.argmax(nnex.load(made.graph)(pictures[0])), np.argmax(nnex.load(SHAPES / "model.onnx")(pictures[0])))

        class Broken:
            def __len__(self):
                return 2

            def __getitem__(self, index):
                raise RuntimeError(f"no picture {index}")

        with self.assertRaisesRegex(nnex.Error, "no picture 0") as caught:
            nnex.quantize(SHAPES / "model.onnx", Broken(), symbols={"N": 1})
        self.assertIsInstance(caught.exception.__cause__, RuntimeError)


class Graphs(unittest.TestCase):
    def test_nodes(self):
        g = nnex.load_graph(SHAPES / "model.onnx")
        first = g.nodes[0]
        self.assertEqual((first.op, first.inputs[0].name, first.attributes["groups"]), ("conv", "picture", 1))
        self.assertEqual(g.constant(first.inputs[1].name).shape[1:], (3, 3, 3))
        self.assertIsNone(g.constant("picture"))
        self.assertEqual(g.find("picture"), g.inputs[0])
        self.assertIsNone(g.find("nothing"))
        self.assertEqual(g.symbols, ["N"])

    def test_edits(self):
        g = nnex.parse_graph("graph main(x: f32[1,2]) -> (y) { a = relu(x); b = neg(a); y = abs(b); }")
        part = g.extract(inputs=["a"], outputs=["b"])
        self.assertEqual([node.op for node in part.nodes], ["neg"])
        named = g.rename({"x": "in", "y": "out"})
        self.assertEqual((named.inputs[0].name, named.outputs[0].name), ("in", "out"))
        self.assertEqual(g.set_batch(3).inputs[0].shape, (3, 2))
        self.assertEqual(nnex.parse_graph(g.text(whole=True)).text(), g.text())
        with self.assertRaisesRegex(nnex.InvalidArgument, "nothing"):
            g.extract(outputs=["nothing"])
        simple = nnex.load_graph(SHAPES / "model.onnx", symbols={"N": 1}).simplify().narrow("float16").strip(names=True)
        self.assertLess(len(nnex.convert_to_bytes(simple, "onnx")["model.onnx"]), (SHAPES / "model.onnx").stat().st_size * 0.6)
        self.assertIsInstance(nnex.load(simple).graph(), nnex.Graph)


class CustomOps(unittest.TestCase):
    def onnx(self):
        """A model with a node of com.example: Rotate(x, times=2), written byte by byte."""
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data

        def port(name):
            extents = b"".join(field(1, b"\x08" + bytes([n])) for n in (2, 3))
            return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, extents)))

        times = field(1, b"times") + b"\x18\x02" + b"\xa0\x01\x02"
        node = field(1, b"x") + field(2, b"y") + field(3, b"n") + field(4, b"Rotate") + field(5, times) + field(7, b"com.example")
        g = field(1, node) + field(2, b"g") + field(11, port(b"x")) + field(12, port(b"y"))
        return b"\x08\x08" + field(7, g) + field(8, b"\x10\x11") + field(8, field(1, b"com.example") + b"\x10\x01")

    def test_python_computes(self):
        asked = []

        def run(inputs, attribute):
            asked.append((attribute("times"), attribute("nothing")))
            return np.roll(inputs[0], attribute("times"), axis=1)

        op = nnex.CustomOp("Rotate", run, domain="com.example", infer=lambda types, attribute: types[0])
        model = nnex.load(self.onnx(), custom_ops=[op])
        self.assertEqual(model([[1, 2, 3], [4, 5, 6]]).tolist(), [[2, 3, 1], [5, 6, 4]])
        self.assertEqual(asked, [(2, None)])
        with self.assertRaisesRegex(nnex.Unsupported, "Rotate"):
            nnex.load(self.onnx())

    def test_what_it_raises_is_the_cause(self):
        def broken(inputs, attribute):
            return 1 / 0

        model = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", broken, domain="com.example")])
        with self.assertRaisesRegex(nnex.Fault, "ZeroDivisionError: division by zero") as caught:
            model(np.zeros((2, 3), "float32"))
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        wrong = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", lambda i, a: (i[0], i[0]), domain="com.example")])
        with self.assertRaisesRegex(nnex.Fault, "found 2 outputs; needed 1"):
            wrong(np.zeros((2, 3), "float32"))

    def test_each_thread_gets_what_its_own_callback_raised(self):
        def run(inputs, attribute):
            number = int(inputs[0][0, 0])
            raise KeyboardInterrupt(number) if number % 2 else ValueError(number)

        model, wrong = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", run, domain="com.example")]), []

        class Files(dict):
            def __getitem__(self, name):
                raise ValueError(self.number)

        def work(number):
            files = Files({"m.onnx": b""})
            files.number = number
            for _ in range(200):
                try:
                    model(np.full((2, 3), number, "float32"))
                except nnex.Fault as error:
                    wrong.append(number % 2 == 1 or error.__cause__.args != (number,) or "\1" in str(error))
                except KeyboardInterrupt as error:
                    wrong.append(number % 2 == 0 or error.args != (number,))
                try:
                    nnex.load(files)
                except nnex.Unreadable as error:
                    wrong.append(error.__cause__ is None or error.__cause__.args != (number,))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual((len(wrong), any(wrong)), (1600, False))

    def test_what_ends_a_program_is_no_error_of_data(self):
        for kind in (KeyboardInterrupt, SystemExit):
            def run(inputs, attribute):
                raise kind("now")

            model = nnex.load(self.onnx(), custom_ops=nnex.CustomOp("Rotate", run, domain="com.example"))
            with self.assertRaises(kind):
                model(np.zeros((2, 3), "float32"))

    def test_what_it_returns_is_copied(self):
        kept = np.zeros((2, 3), "float32")

        def run(inputs, attribute):
            kept[:] = inputs[0] + 1
            return kept

        model = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", run, domain="com.example")])
        value = model.run(np.zeros((2, 3), "float32"), values=True)["y"]
        kept[:] = 7
        self.assertEqual(value.tolist(), [[1, 1, 1], [1, 1, 1]])

    def test_an_attribute_asked_for_too_late(self):
        kept = []
        model = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", lambda i, a: (kept.append(a), i[0])[1], domain="com.example")])
        model(np.zeros((2, 3), "float32"))
        with self.assertRaisesRegex(ValueError, "while its node is computed"):
            kept[0]("times")
        with self.assertRaisesRegex(TypeError, "needed functions"):
            nnex.CustomOp("Rotate", 3)

    def test_the_operator_goes_with_its_model(self):
        def run(inputs, attribute):
            return inputs[0]

        gone = weakref.ref(run)
        model = nnex.load(self.onnx(), custom_ops=[nnex.CustomOp("Rotate", run, domain="com.example")])
        del run
        gc.collect()
        self.assertIsNotNone(gone())
        del model
        gc.collect()
        self.assertIsNone(gone())


class WebNN(unittest.TestCase):
    def test_a_graph(self):
        context = webnn.create_context()
        builder = webnn.MLGraphBuilder(context)
        x = builder.input("x", {"dataType": "float32", "shape": [1, 1, 3, 3]})
        w = builder.constant({"dataType": "float32", "shape": [1, 1, 3, 3]}, np.ones((1, 1, 3, 3), "float32"))
        y = builder.conv2d(x, w, padding=[1, 1, 1, 1])
        self.assertEqual((y.dataType, y.shape), ("float32", (1, 1, 3, 3)))
        a, b, c = builder.split(y, 3, {"axis": 3})
        compiled = builder.build({"y": y, "b": builder.relu(b)})
        made = context.compute(compiled, {"x": np.ones((1, 1, 3, 3), "float32")})
        self.assertEqual(made["y"].reshape(3, 3).tolist(), [[4, 6, 4], [6, 9, 6], [4, 6, 4]])
        self.assertEqual(made["b"].ravel().tolist(), [6, 9, 6])
        self.assertIn("matmul", context.opSupportLimits())

    def test_tensors_and_errors(self):
        context = webnn.create_context({"powerPreference": "default"})
        builder = webnn.MLGraphBuilder(context)
        x = builder.input("x", {"dataType": "int64", "shape": [2]})
        compiled = builder.build({"y": builder.add(x, builder.constant("int64", 2**62))})
        tx = context.createTensor({"dataType": "int64", "shape": [2], "writable": True})
        ty = context.createTensor({"dataType": "int64", "shape": [2], "readable": True})
        context.writeTensor(tx, np.array([1, 2], "int64"))
        context.dispatch(compiled, {"x": tx}, {"y": ty})
        self.assertEqual(context.readTensor(ty).tolist(), [2**62 + 1, 2**62 + 2])
        with self.assertRaises(nnex.Error) as caught:
            context.readTensor(tx)
        self.assertEqual(caught.exception.name, "TypeError")
        with self.assertRaises(nnex.Error) as caught:
            webnn.MLGraphBuilder(context).relu("x")
        self.assertEqual(caught.exception.name, "TypeError")
        with self.assertRaisesRegex(AttributeError, "reluu"):
            webnn.MLGraphBuilder(context).reluu(x)
        self.assertIsNone(context.lost)
        self.assertEqual(repr(x), "<MLOperand int64 (2,)>")
        self.assertEqual(context.compute(compiled, {"x": [5, 6]})["y"].tolist(), [2**62 + 5, 2**62 + 6])
        for wrong in (lambda: context.compute(compiled, {"x": np.zeros(2)}), lambda: context.writeTensor(tx, np.zeros(2))):
            with self.assertRaisesRegex(TypeError, "found .* needed int64"):
                wrong()
        with self.assertRaisesRegex(TypeError, "byte order"):
            context.readTensor(ty, np.zeros(2, ">i8"))
        with self.assertRaisesRegex(TypeError, "found float64; needed int64|array of float64"):
            context.readTensor(ty, np.zeros(2))
        context.writeTensor(tx, [7, 8])  # a list takes the tensor's type
        context.dispatch(compiled, {"x": tx}, {"y": ty})
        self.assertEqual(context.readTensor(ty).tolist(), [2**62 + 7, 2**62 + 8])
        self.assertEqual(context.compute(compiled, {"x": [np.int64(5), np.int64(6)]})["y"].tolist(), [2**62 + 5, 2**62 + 6])
        with self.assertRaisesRegex(TypeError, "input 'x'"):
            context.compute(compiled, {"x": ["a", "b"]})
        child = os.fork()
        if child == 0:
            try:
                context.readTensor(ty)
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        context.destroy()
        self.assertIsNotNone(context.lost)
        with self.assertRaises(nnex.Error) as caught:
            context.createTensor({"dataType": "int64", "shape": [2]})
        self.assertEqual(caught.exception.name, "InvalidStateError")


class OnnxRuntime(unittest.TestCase):
    def test_a_session(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_free_dimension_override_by_name("N", 1)
        session = ort.InferenceSession(str(SHAPES / "model.onnx"), options, providers=["CPUExecutionProvider"])
        port = session.get_inputs()[0]
        self.assertEqual((port.name, port.type, port.shape), ("picture", "tensor(float)", [1, 3, 32, 32]))
        x = nnex.read_value(SHAPES / "test_data_set_0/input_0.pb")
        y = session.run(None, {"picture": x})
        np.testing.assert_allclose(y[0], nnex.read_value(SHAPES / "test_data_set_0/output_0.pb"), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(session.run(["probabilities", "probabilities"], {"picture": x})[1], y[0])
        binding = session.io_binding()
        binding.bind_cpu_input("picture", x)
        binding.bind_output("probabilities")
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], y[0])
        value = ort.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual((value.shape(), value.data_type()), ([1, 3, 32, 32], "tensor(float)"))
        np.testing.assert_array_equal(session.run_with_ort_values(None, {"picture": value})[0].numpy(), y[0])
        self.assertEqual((value.element_type(), nnex.Value(value.numpy()).tobytes()), (1, x.tobytes()))
        out, taken = ort.OrtValue.ortvalue_from_shape_and_type([1, 8], np.float32), np.ascontiguousarray(x)
        binding = session.io_binding()
        binding.bind_input("picture", "cpu", 0, np.float32, taken.shape, taken.ctypes.data)
        binding.bind_ortvalue_output("probabilities", out)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(out.numpy(), y[0])
        ended = threading.Event()
        told = []
        session.run_async(None, {"picture": x}, lambda *said: (told.append(said), ended.set()), "mine")
        self.assertTrue(ended.wait(30))
        np.testing.assert_array_equal(told[0][0][0], y[0])
        self.assertEqual(told[0][1:], ("mine", ""))
        for wrong in (lambda: session.run("probabilities", {"picture": x}), lambda: session.run(None, [x])):
            with self.assertRaisesRegex(TypeError, "needed a list of names"):
                wrong()
        with self.assertWarnsRegex(UserWarning, "CUDA"):
            ort.InferenceSession(str(SHAPES / "model.onnx"), providers=["CUDAExecutionProvider"])
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        self.assertIn("labels", session.get_modelmeta().custom_metadata_map)
        with self.assertRaisesRegex(ValueError, "picture"):
            session.run(None, {})

    def test_a_profile(self):
        options = ort.SessionOptions()
        options.enable_profiling = True
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                session = ort.InferenceSession((SHAPES / "model.onnx").read_bytes(), options)
                session.run(None, {"picture": np.zeros((1, 3, 32, 32), "float32")})
                events = json.loads(pathlib.Path(session.end_profiling()).read_text())
            finally:
                os.chdir(here)
        self.assertTrue(any(event["args"]["op_name"] == "softmax" for event in events))


class Stubs(unittest.TestCase):
    def test_they_name_what_there_is(self):
        import ast

        stubs = ast.parse((ROOT / "bindings/python/nnex/_nnex.pyi").read_text("utf-8"))
        for of in (node for node in stubs.body if isinstance(node, ast.ClassDef)):
            told = {getattr(node, "name", None) or node.target.id for node in of.body}
            there = {name for name in vars(getattr(nnex._nnex, of.name)) if not name.startswith("__")}
            self.assertEqual({name for name in told if not name.startswith("__")}, there, of.name)
            for name in told:
                self.assertTrue(hasattr(getattr(nnex._nnex, of.name), name), f"{of.name}.{name}")

    def test_everything_public_is_documented(self):
        for name in nnex.__all__:
            thing = getattr(nnex, name)
            if isinstance(thing, str):
                continue
            self.assertTrue(thing.__doc__, name)
            for method in vars(thing) if isinstance(thing, type) else ():
                if not method.startswith("_") and callable(getattr(thing, method)):
                    self.assertTrue(getattr(thing, method).__doc__, f"{name}.{method}")


class Lifetimes(unittest.TestCase):
    def test_memory_comes_back(self):
        def resident():
            gc.collect()
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

        def work():
            model = nnex.load(SHAPES / "model.onnx")
            model(np.zeros((4, 3, 32, 32), "float32"))
            value = nnex.Value(np.zeros(10000))
            value.__dlpack__(), value.tolist(), model.inputs, nnex.inspect(SHAPES / "model.onnx")
            with contextlib.suppress(nnex.Error):
                model([1])

        for _ in range(30):
            work()
        before = resident()
        for _ in range(150):
            work()
        self.assertLess(resident() - before, 8 << 20)

    def test_references_balance(self):
        model = graph(RELU)
        x = np.ones((1, 2), "float32")
        model(x)
        counts = [sys.getrefcount(o) for o in (x, model, None, nnex.Port)]
        for _ in range(200):
            model(x), model.run({"x": x}), model.inputs, nnex.Value(x).python()
            with contextlib.suppress(nnex.Error):
                model.run(x, outputs=["z"])
        gc.collect()
        after = [sys.getrefcount(o) for o in (x, model, None, nnex.Port)]
        for name, a, b in zip(("x", "model", "None", "Port"), counts, after):
            self.assertLess(abs(b - a), 20, name)


if __name__ == "__main__":
    unittest.main()
