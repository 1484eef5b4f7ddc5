"""The module of Python: values, models, runs, what ends them."""

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
        self.assertEqual(nnex.Value(np.array([1.0]), "float32").dtype, "float32")

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


if __name__ == "__main__":
    unittest.main()
