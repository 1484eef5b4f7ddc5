"""The module of Python: the tools, graphs, operators of the host's, WebNN, ONNX Runtime's shape, what is declared, what is freed."""

import contextlib
import gc
import inspect
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import weakref

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402
import nnex.onnxruntime as ort  # noqa: E402
import nnex.webnn as webnn  # noqa: E402

SHAPES = ROOT / "models/shapes"


def graph(text):
    return nnex.load(nnex.parse_graph(text))


RELU = "graph main(x: f32[N,2]) -> (y) { y = relu(x); }"


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
        self.assertEqual((seen.format, seen.symbols, seen.operators["conv"], seen.parameters), ("onnx", ["N"], 5, 64408))
        self.assertEqual(seen.multiply_adds, "2657024*N")
        self.assertIn("labels", seen.metadata)
        self.assertIsNone(seen.activation_bytes)
        one = nnex.inspect("<ir_version: 8, opset_import: [\"\": 17]> g (float[2,3] x) => (float[3] y) { a = Relu(x)  y = ReduceSum(a) }"
                           .replace("ReduceSum(a)", "ReduceMax<axes = [0], keepdims = 0>(a)").encode())
        self.assertEqual(one.activation_bytes, 48)  # x and a; a and y are 36

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
            self.assertEqual((nnex.inspect(g).parameters, nnex.check(g).sound), (64408, True))
            self.assertTrue(nnex.view(g).startswith(b"<!"))
        other = nnex.compare(SHAPES / "model.onnx", {"probabilities": np.zeros((1, 8), "float32")}, {"picture": x})
        self.assertFalse(other)
        self.assertGreater(other.outputs[0].differing, 0)
        with self.assertRaisesRegex(ValueError, "needed"):
            nnex.compare(SHAPES / "model.onnx", SHAPES / "model.onnx", {"picure": x})

    def test_where_nothing_was_compared_no_gate_is_passed(self):
        x = np.zeros((2, 2), "float32")
        relu = nnex.parse_graph(RELU)
        found = nnex.compare(relu, {"y": np.zeros((1, 2), "float32")}, [x])
        self.assertFalse(found)
        far = found.outputs[0]
        self.assertTrue(all(number != number for number in (far.max_absolute, far.max_relative, far.cosine, far.sqnr_db)))
        self.assertTrue(nnex.compare(relu, {"y": [[0, 0], [0, 0]]}, [x]))
        with self.assertRaisesRegex(nnex.InvalidArgument, "found a tensor 'yy', which a does not have; did you mean 'y'?"):
            nnex.compare(relu, {"yy": x}, [x])
        for tolerance in ("atol", "rtol", "ulp"):
            with self.assertRaisesRegex(ValueError, f"{tolerance}: found -1; needed 0 or more"):
                nnex.compare(relu, relu, [x], **{tolerance: -1})

    def test_convert_takes_an_opset_and_proves(self):
        made = nnex.convert_to_bytes(nnex.parse_graph(RELU), "onnx", opset=20)
        self.assertIn(b"\x10\x14", made["model.onnx"])  # opset_import: version 20
        with tempfile.TemporaryDirectory() as folder:
            nnex.convert(made, pathlib.Path(folder, "m.onnx"), opset=18, prove=True)
            self.assertTrue(nnex.compare(made, pathlib.Path(folder, "m.onnx"), np.ones((1, 2), "float32")))

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
        self.assertTrue(any(event["args"].get("op_name") == "softmax" for event in events))


class Stubs(unittest.TestCase):
    def test_they_name_what_there_is(self):
        import ast

        stubs = ast.parse((ROOT / "bindings/python/nnex/_nnex.pyi").read_text("utf-8"))
        for of in (node for node in stubs.body if isinstance(node, ast.ClassDef)):
            told = {getattr(node, "name", None) or node.target.id for node in of.body}
            there = {name for name in vars(getattr(nnex._nnex, of.name)) if not name.startswith("__")}
            self.assertEqual({name for name in told if not name.startswith("__")}, there, of.name)
            for name in told - {"__buffer__"}:  # which Python sees from 3.12 on
                self.assertTrue(hasattr(getattr(nnex._nnex, of.name), name), f"{of.name}.{name}")

    def test_both_faces_have_theirs(self):
        import ast

        for path, module in (("onnxruntime/__init__.pyi", ort), ("webnn.pyi", webnn)):
            stubs = ast.parse((ROOT / "bindings/python/nnex" / path).read_text("utf-8"))
            told = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
            there = {name for name, thing in vars(module).items() if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__}
            self.assertEqual(set(told), there)
            for name, node in told.items():
                for method in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(method, ast.FunctionDef):
                        self.assertTrue(hasattr(getattr(module, name), method.name), f"{name}.{method.name}")
                        found = set(inspect.signature(getattr(getattr(module, name), method.name)).parameters)
                        self.assertLessEqual({a.arg for a in method.args.args}, found | {"self"}, f"{name}.{method.name}")

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
