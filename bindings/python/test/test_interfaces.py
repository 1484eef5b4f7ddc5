"""What other libraries and programs expect of objects: DLPack, ends of runs, the collector of cycles, errors, ONNX Runtime's and WebNN's shapes."""

import errno
import gc
import inspect
import json
import os
import pathlib
import pickle
import sys
import tempfile
import threading
import time
import typing
import unittest
import weakref

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402
import nnex.onnxruntime as ort  # noqa: E402
import nnex.webnn as webnn  # noqa: E402

# Minutes, were it not ended.
LONG = "graph m(x: f32[N,N], n: i64[]) -> (y) { [y] = loop(n, none, [x], body = graph (i, go, v) -> (go, w) { w = tanh(matmul(v, v)); }); }"
LONG_INPUTS = {"x": np.zeros((256, 256), "f4"), "n": np.array(10**7)}
CUSTOM = "graph m(x: f32[N]) -> (y) { [y] = custom ':T:'([x]); }"


class Foreign:
    """As a tensor of torch: __dlpack__, and no buffer."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class DLPack(unittest.TestCase):
    def test_any_strides(self):
        model = nnex.load(nnex.parse_graph("graph m(x: f32[N,M]) -> (y) { y = neg(x); }"))
        a = np.arange(12, dtype="f4").reshape(3, 4)
        for view in (a, a.T, a[::-1], a[:, ::-1], a[1:, 1::2], np.lib.stride_tricks.as_strided(a, (3, 4), (0, 4)), a[:0], a[1:2, :1].T):
            np.testing.assert_array_equal(model(Foreign(view)), -view)
        for dtype in ("f8", "i2", "u1", "c16"):
            b = np.arange(24).reshape(2, 3, 4).astype(dtype).transpose(2, 0, 1)
            np.testing.assert_array_equal(nnex.Value(Foreign(b)).python(), b)

    def test_what_is_copied_is_let_go(self):
        array = np.ones((64, 64), "f4")
        gone = weakref.ref(array)
        value = nnex.Value(Foreign(array.T))
        del array
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(value.shape, (64, 64))

    def test_what_is_asked_for_holds(self):
        value = nnex.Value(np.float32([1, 2, 3]))
        for options in ({}, {"copy": None}, {"copy": True}, {"dl_device": (1, 0)}, {"max_version": (1, 0)}, {"stream": None}):
            value.__dlpack__(**options)
        for options in ({"copy": False}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}, {"stream": 5}):
            with self.assertRaises(BufferError):
                value.__dlpack__(**options)
        for call in (lambda: value.__dlpack__(None), lambda: value.__dlpack__(bogus=4), lambda: value.__dlpack__(dl_device=3)):
            with self.assertRaises(TypeError):
                call()
        np.testing.assert_array_equal(np.from_dlpack(value), [1, 2, 3])

    def test_arrays_without_a_copy(self):
        value = nnex.Value(np.float32([1, 2, 3]))
        self.assertTrue(np.shares_memory(value.__array__(copy=False), np.asarray(memoryview(value))))
        self.assertFalse(value.__array__(copy=False).flags.writeable)
        self.assertFalse(np.shares_memory(value.__array__(), np.asarray(memoryview(value))))
        self.assertEqual(value.__array__("f8").dtype, np.float64)
        for call in (lambda: value.__array__("f8", copy=False), lambda: nnex.Value(["a"]).__array__(copy=False)):
            with self.assertRaises(ValueError):
                call()


class Ends(unittest.TestCase):
    def ended(self, run, end, kind=nnex.Cancelled):
        threading.Timer(0.1, end).start()
        began = time.monotonic()
        with self.assertRaises(kind) as caught:
            run()
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(type(caught.exception), kind)

    def test_from_another_thread(self):
        model = nnex.load(nnex.parse_graph(LONG))
        for run in (model.run, model, model.session().run):
            cancel = nnex.Cancel()
            self.ended(lambda: run(LONG_INPUTS, cancel=cancel), cancel.set)
            self.assertTrue(cancel.is_set())
            with self.assertRaises(nnex.Cancelled):
                run({**LONG_INPUTS, "n": np.array(1)}, cancel=cancel)
            cancel.clear()
            run({**LONG_INPUTS, "n": np.array(1)}, cancel=cancel)
        cancel = nnex.Cancel()
        self.ended(lambda: model.run(LONG_INPUTS, cancel=cancel, timeout=300), cancel.set)
        with self.assertRaises(nnex.TimedOut):
            model.run(LONG_INPUTS, cancel=nnex.Cancel(), timeout=0.1)
        with self.assertRaisesRegex(TypeError, "needed nnex.Cancel"):
            model.run(LONG_INPUTS, cancel=threading.Event())

    def test_of_another_thread(self):
        model, cancel, caught = nnex.load(nnex.parse_graph(LONG)), nnex.Cancel(), []

        def work():
            try:
                model.run(LONG_INPUTS, cancel=cancel)
            except nnex.Cancelled as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)
        cancel.set()
        thread.join(20)
        self.assertEqual(len(caught), 1)

    def test_of_onnx_runtimes(self):
        session = ort.InferenceSession(nnex.convert_to_bytes(nnex.parse_graph(LONG), "onnx")["model.onnx"])
        options = ort.RunOptions()
        self.ended(lambda: session.run(None, LONG_INPUTS, options), lambda: setattr(options, "terminate", True))
        self.assertTrue(options.terminate)
        options.terminate = False
        session.run(None, {**LONG_INPUTS, "n": np.array(1)}, options)


class Cycles(unittest.TestCase):
    def gone(self, make):
        made = make()
        weak = weakref.ref(made)
        del made
        gc.collect()
        return weak() is None

    def test_operators_that_reach_their_model(self):
        graph = nnex.parse_graph(CUSTOM)

        class Detector:
            def __init__(self, how):
                op = nnex.CustomOp("T", lambda inputs, attribute, me=self: inputs[0] * 2)
                self.model = how(op)
                assert nnex.load(self.model)([1.0]).tolist() == [2] if isinstance(self.model, nnex.Graph) else self.model([1.0]).tolist() == [2]

        onnx = nnex.convert_to_bytes(graph, "onnx", custom=True)
        ways = {
            "model": lambda op: nnex.load(graph, custom_ops=[op]),
            "session": lambda op: nnex.load(onnx, custom_ops=[op]).session(),
            "graph": lambda op: nnex.load_graph(onnx, custom_ops=op),
            "edited": lambda op: nnex.load_graph(onnx, custom_ops=op).rename({"x": "z"}).strip().extract(),
            "model of a graph": lambda op: nnex.load(nnex.load_graph(onnx, custom_ops=op)),
            "graph of a model": lambda op: nnex.load(onnx, custom_ops=op).graph(),
        }
        for name, way in ways.items():
            with self.subTest(name):
                if name == "graph of a model":
                    self.assertTrue(self.gone(lambda: way(nnex.CustomOp("T", lambda inputs, attribute: inputs[0]))))
                    continue
                self.assertTrue(self.gone(lambda: Detector(way)))

    def test_what_is_used_stays(self):
        calls = []
        model = nnex.load(nnex.parse_graph(CUSTOM), custom_ops=[nnex.CustomOp("T", lambda inputs, attribute: calls.append(1) or inputs[0])])
        session = model.session()
        del model
        gc.collect()
        self.assertEqual(session([3.0]).tolist(), [3])
        self.assertEqual(calls, [1])

    def test_an_operator_that_returns_nothing(self):
        model = nnex.load(nnex.parse_graph(CUSTOM), custom_ops=[nnex.CustomOp("T", lambda inputs, attribute: None)])
        with self.assertRaisesRegex(nnex.Fault, "returned None"):
            model([1.0])
        for wrong in ((3, print), ("T", 5)):
            with self.assertRaises(TypeError):
                nnex.CustomOp(*wrong)
        with self.assertRaises(TypeError):
            nnex.CustomOp("T", print, domain=None)


class WebNN(unittest.TestCase):
    D = {"dataType": "float32", "shape": [2, 3]}

    def setUp(self):
        self.context = webnn.create_context()
        self.builder = webnn.MLGraphBuilder(self.context)

    def test_arrays_have_the_shape(self):
        tensor = self.context.createTensor({**self.D, "writable": True, "readable": True})
        for good in (np.zeros((2, 3), "f4"), np.zeros(6, "f4"), bytes(24), [1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]]):
            self.builder.constant(self.D, good)
            self.context.writeTensor(tensor, good)
            self.context.createConstantTensor(self.D, good)
        self.assertEqual(self.context.readTensor(tensor).tolist(), [[1, 2, 3], [4, 5, 6]])
        for wrong in (np.zeros((3, 2), "f4"), np.zeros((1, 6), "f4"), [[1, 2], [3, 4], [5, 6]], np.zeros((2, 3)), ["a"] * 6, np.zeros(5, "f4")):
            for call in (lambda: self.builder.constant(self.D, wrong), lambda: self.context.writeTensor(tensor, wrong),
                         lambda: self.context.createConstantTensor(self.D, wrong)):
                with self.subTest(wrong=wrong), self.assertRaises(nnex.InvalidType):
                    call()

    def test_compute_takes_what_tensors_take(self):
        x = self.builder.input("x", self.D)
        graph = self.builder.build({"y": self.builder.identity(x)})
        rows = [[1, 2, 3], [4, 5, 6]]
        for good in (np.float32(rows), np.arange(1, 7, dtype="f4"), np.float32(rows).astype(">f4"), np.asfortranarray(np.float32(rows)), rows, [1, 2, 3, 4, 5, 6], nnex.Value(rows, "float32")):
            self.assertEqual(self.context.compute(graph, {"x": good})["y"].tolist(), rows)
        for wrong in (np.zeros((3, 2), "f4"), np.zeros(5, "f4"), np.zeros((2, 3))):
            with self.subTest(wrong=wrong), self.assertRaises(nnex.InvalidType):
                self.context.compute(graph, {"x": wrong})

    def test_errors_are_of_both_kinds(self):
        calls = (lambda: self.builder.input("x", {"dataType": "f", "shape": [1]}), lambda: self.builder.constant(self.D, np.zeros((2, 3))),
                 lambda: self.builder.relu("x"))
        for call in calls:
            with self.assertRaises(TypeError) as caught:
                call()
            error = caught.exception
            self.assertIsInstance(error, nnex.InvalidArgument)
            self.assertEqual((error.name, error.code), ("TypeError", "invalid argument"))
            self.assertFalse(str(error).startswith("TypeError"))
            self.assertEqual(type(pickle.loads(pickle.dumps(error))), nnex.InvalidType)

    def test_operations_can_be_looked_up(self):
        self.assertFalse(hasattr(self.builder, "noSuchOperation"))
        self.assertFalse(hasattr(self.builder, "maxTensorByteLength"))
        self.assertTrue(hasattr(self.builder, "conv2d"))
        self.assertLessEqual({"conv2d", "lstm", "triangular", "build", "constant", "input"}, set(dir(self.builder)))
        self.assertTrue(self.builder.conv2d.__doc__)


class OnnxRuntime(unittest.TestCase):
    def setUp(self):
        graph = nnex.parse_graph("graph m(x: f32[N,3]) -> (y) { y = add(x, x); }")
        self.session = ort.InferenceSession(nnex.convert_to_bytes(graph, "onnx")["model.onnx"])
        self.binding = self.session.io_binding()
        self.binding.bind_cpu_input("x", np.float32([[1, 2, 3]]))

    def test_outputs_in_memory_of_the_callers(self):
        out = np.zeros((1, 3), "f4")
        self.binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
        self.session.run_with_iobinding(self.binding)
        self.assertEqual(out.tolist(), [[2, 4, 6]])
        for dtype, shape in ((np.float32, (3, 1)), (np.int32, (1, 3))):
            other, guard = self.session.io_binding(), np.full(3, 7, dtype)
            other.bind_cpu_input("x", np.float32([[1, 2, 3]]))
            other.bind_output("y", "cpu", 0, dtype, shape, guard.ctypes.data)
            with self.assertRaisesRegex(ValueError, r"output 'y': .* needed float32\[1, 3\]"):
                self.session.run_with_iobinding(other)
            self.assertEqual(guard.tolist(), [7, 7, 7])

    def test_values_are_filled(self):
        value = ort.OrtValue.ortvalue_from_shape_and_type((1, 3), np.float32)
        pointer = value.data_ptr()
        self.binding.bind_ortvalue_output("y", value)
        self.session.run_with_iobinding(self.binding)
        self.assertEqual((value.data_ptr(), value.numpy().tolist(), value.tensor_size_in_bytes()), (pointer, [[2, 4, 6]], 12))
        value.update_inplace(np.float32([[7, 8, 9]]))
        self.assertEqual((value.data_ptr(), value.numpy().tolist()), (pointer, [[7, 8, 9]]))
        given = np.float32([[1, 1, 1]])
        copied = ort.OrtValue.ortvalue_from_numpy(given)
        given[:] = 5
        self.assertEqual(copied.numpy().tolist(), [[1, 1, 1]])
        other = ort.OrtValue.ortvalue_from_shape_and_type((2, 3), np.float32)  # of another shape: it becomes the output
        self.binding.clear_binding_outputs()
        self.binding.bind_ortvalue_output("y", other)
        self.session.run_with_iobinding(self.binding)
        self.assertEqual(other.numpy().tolist(), [[2, 4, 6]])

    def test_a_result_is_not_written_over(self):
        made = self.session.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(np.float32([[1, 1, 1]]))})[0]
        kept = made._value
        self.binding.bind_ortvalue_output("y", made)
        self.session.run_with_iobinding(self.binding)
        self.assertEqual((kept.tolist(), made.numpy().tolist()), ([[2, 2, 2]], [[2, 4, 6]]))

    def test_metadata(self):
        text = '''<ir_version: 8, opset_import: ["": 17], domain: "dom", model_version: 7, doc_string: "desc">
            g (float[2] x) => (float[2] y) { y = Relu(x) }'''
        meta = ort.InferenceSession(text.encode()).get_modelmeta()
        self.assertEqual((meta.domain, meta.version, meta.description, meta.graph_name), ("dom", 7, "desc", "g"))
        seen = nnex.inspect(text.encode())
        self.assertEqual((seen.domain, seen.model_version, seen.doc, seen.graph_doc), ("dom", 7, "desc", ""))

    def test_seeds(self):
        text = b'<ir_version: 8, opset_import: ["": 17]> g () => (float[4] y) { y = RandomNormal<shape = [4]>() }'
        draw = lambda: ort.InferenceSession(text).run(None, {})[0].tolist()
        self.assertNotEqual(draw(), draw())
        try:
            drawn = []
            for seed in (3, 4, 3):
                ort.set_seed(seed)
                drawn.append((draw(), draw()))
            self.assertEqual(drawn[0], drawn[2])
            self.assertEqual(*drawn[0])
            self.assertNotEqual(drawn[0], drawn[1])
        finally:
            ort._seed = None
        for wrong in (2**64, -1):
            with self.assertRaisesRegex(OverflowError, "seed"):
                nnex.load(text, seed=wrong)
        with self.assertRaisesRegex(TypeError, "threads: 'str'"):
            nnex.load(text, threads="2")

    def test_a_profile_is_written_when_its_session_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ort.SessionOptions()
            options.enable_profiling, options.profile_file_prefix = True, folder + "/p_"
            session = ort.InferenceSession(nnex.convert_to_bytes(nnex.parse_graph("graph m(x: f32[N]) -> (y) { y = neg(x); }"), "onnx")["model.onnx"], options)
            session.run(None, {"x": [1.0]})
            del session
            gc.collect()
            (written,) = pathlib.Path(folder).iterdir()
            events = json.loads(written.read_text())
            self.assertEqual({event["name"] for event in events if event["cat"] == "Session"}, {"session_initialization", "model_run"})
            self.assertTrue(any(event["cat"] == "Node" for event in events))

    def test_kinds_of_errors_have_its_names(self):
        from nnex.onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, InvalidGraph, NoSuchFile

        with self.assertRaises(NoSuchFile):
            ort.InferenceSession("nope.onnx")
        with self.assertRaises(InvalidArgument):
            self.session.run(["q"], {"x": [[1, 2, 3]]})
        self.assertIs(InvalidGraph, nnex.InvalidModel)
        self.assertFalse({name for name in dir(ort) if not name.startswith("_")} - {*ort.__all__, "capi"})

    def test_names_that_are_misspelt(self):
        for options in (ort.SessionOptions(), ort.RunOptions()):
            with self.assertRaises(AttributeError):
                options.intra_op_num_thread = 3
        self.assertEqual(ort.get_version_string(), ort.__version__)


class Others(unittest.TestCase):
    def test_errors_of_files_go_through_pickle(self):
        with self.assertRaises(FileNotFoundError) as caught:
            nnex.load("nope.onnx")
        again = pickle.loads(pickle.dumps(caught.exception))
        for error in (caught.exception, again):
            self.assertEqual((type(error), error.filename, error.errno, error.code), (nnex.NotFound, "nope.onnx", 2, "unreadable"))
            self.assertIn("cannot open 'nope.onnx'", str(error))

    def test_errors_of_files_are_those_of_the_system(self):
        graph = nnex.parse_graph("graph m(x: f32[N]) -> (y) { y = copy(x); }")
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            nnex.convert(graph, here / "m.onnx")
            for call, kind, number, name in (
                (lambda: nnex.convert(graph, here / "m.onnx"), FileExistsError, errno.EEXIST, here / "m.onnx"),
                (lambda: nnex.convert(graph, here / "no/m.onnx"), FileNotFoundError, errno.ENOENT, here / "no"),
                (lambda: nnex.load(here / "m.onnx/x"), nnex.Unreadable, errno.ENOTDIR, here / "m.onnx/x"),
                (lambda: nnex.load(os.fsdecode(b"\xff.onnx")), FileNotFoundError, errno.ENOENT, "\udcff.onnx"),
            ):
                with self.subTest(name=name), self.assertRaises(kind) as caught:
                    call()
                again = pickle.loads(pickle.dumps(caught.exception))
                for error in (caught.exception, again):
                    self.assertEqual((error.errno, error.filename), (number, str(name)))
            for system, kind in ((errno.EACCES, PermissionError), (errno.ENOSPC, nnex.Unreadable)):  # for root nothing is forbidden
                message = f"cannot write 'x': {os.strerror(system)}"
                error = nnex._errors.error_of(2, 0, "unreadable", message, "", message, "", message)
                self.assertIsInstance(error, kind)
                self.assertEqual((error.errno, error.filename), (system, "x"))
            with self.assertRaisesRegex(nnex.Exists, "overwrite=True replaces it"):
                nnex.convert(graph, here / "m.onnx")

    def test_hints_are_pythons(self):
        batch = nnex.parse_graph("graph m(x: f32[batch_size,3]) -> (y) { y = copy(x); }")
        with self.assertRaisesRegex(nnex.InvalidArgument, 'symbols={"batch_size": 1} fixes them'):
            nnex.convert_to_bytes(batch, "webnn")
        nnex.convert_to_bytes(batch, "webnn", symbols={"batch_size": 1})
        with self.assertRaisesRegex(nnex.InvalidArgument, "^recipe: found"):
            nnex.quantize(batch, recipe="{}")
        with self.assertRaises(nnex.InvalidArgument) as caught:
            nnex.load(batch)(np.zeros(4, "f4"))
        self.assertEqual((caught.exception.where, caught.exception.message), ("input 'x'", "found f32[4]; needed f32[batch_size,3]"))
        with self.assertRaises(nnex.TimedOut):
            nnex.load_graph(nnex.convert_to_bytes(batch, "onnx"), timeout=1e-9)

    def test_arguments_are_told_by_name(self):
        graph = nnex.parse_graph("graph m(x: f32[N,3]) -> (y) { y = copy(x); }")
        for options, said in (({"symbols": {"N": "a"}}, "symbols: 'N': 'str'"), ({"shapes": {"x": ("N", 3)}}, "shapes: 'x': 'str'"), ({"shapes": {"x": 3}}, "shapes: 'x': 'int'"),
                              ({"custom_ops": 3}, "custom_ops: found int"), ({"memory_limit": 1e9}, "memory_limit: found float"), ({"memory_limt": 1}, "did you mean 'memory_limit'?")):
            with self.subTest(options), self.assertRaisesRegex(TypeError, said):
                nnex.load(graph, **options)
        nnex.load(graph, memory_limit=np.int64(10**9), optimize=np.False_, symbols={"N": np.int32(2)})
        with self.assertRaisesRegex(TypeError, "did you mean 'weights'?"):
            nnex.quantize(graph, wieghts="int4")

    def test_a_list_of_arrays_is_outputs(self):
        for outputs in (1, 2):
            names = ["y", "z"][:outputs]
            model = nnex.load(nnex.parse_graph(f"graph m(x: f32[N]) -> ({', '.join(names)}) {{ [{', '.join(names)}] = custom ':T:'([x]); }}"),
                              custom_ops=[nnex.CustomOp("T", lambda inputs, attribute: [inputs[0]] * outputs)])
            made = model.run([1.0, 2.0])
            self.assertEqual([made[name].tolist() for name in names], [[1, 2]] * outputs)

    def test_a_folder_can_be_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.onnx"
            graph = nnex.parse_graph("graph m(x: f32[64]) -> (y) { w = f32[64,64](%s); y = add(x, w); }" % ", ".join(["1.5"] * 4096))
            nnex.convert(graph, path, external_data=True)
            with self.assertRaisesRegex(nnex.Error, "external_folder="):
                nnex.load(path.read_bytes())
            nnex.load(path.read_bytes(), external_folder=folder)

    def test_what_objects_say_of_themselves(self):
        model = nnex.load(nnex.parse_graph("graph m(x: f32[N]) -> (y) { y = copy(x); }"))
        self.assertEqual(repr(model.session()), f"<nnex.Session of {model!r}>")
        self.assertEqual(repr(nnex.CustomOp("T", print, domain="d")), "<nnex.CustomOp d:T>")
        self.assertEqual(repr(ort.OrtValue.ortvalue_from_numpy(np.zeros(2, "f4"))), "<OrtValue <nnex.Value f32[2]>>")
        self.assertEqual(typing.get_type_hints(nnex.Quantized)["graph"], nnex.Graph)
        self.assertFalse(hasattr(nnex, "Dict") or hasattr(nnex, "List"))
        for name in ("items", "python", "tobytes", "tolist", "__dlpack__", "__array__"):
            inspect.signature(getattr(nnex.Value, name))


if __name__ == "__main__":
    unittest.main()
