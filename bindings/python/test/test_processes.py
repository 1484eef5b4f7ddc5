"""What a process does first, and what it leaves to those that it forks: each test is a program of its own."""

import os
import pathlib
import subprocess
import sys
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECONDS = 60


def run(program):
    """What a fresh process prints; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python"), "PYTHONMALLOC": "debug"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=SECONDS, env=environment)
    if done.returncode != 0:
        raise AssertionError(f"ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Subinterpreters(unittest.TestCase):
    """One that is left to the end of the program lets its objects go while the interpreter ends."""

    HELD = {
        "value": "v = nnex.Value([1.0])",
        "borrowed": "v = nnex.Value(memoryview(bytearray(64)))",
        "graph": "g = nnex.parse_graph('graph m(x: f32[N]) -> (y) { y = neg(x); }')",
        "model": "m = nnex.load(nnex.parse_graph('graph m(x: f32[N]) -> (y) { y = neg(x); }')); y = m.session(); y([1.0])",
        "custom": "op = nnex.CustomOp('T', lambda i, a: i[0]); m = nnex.load(nnex.parse_graph(\"graph m(x: f32[N]) -> (y) { [y] = custom ':T:'([x]); }\"), custom_ops=[op])",
        "context": "import nnex.webnn as w; c = w.create_context(); t = c.createTensor({'dataType': 'float32', 'shape': [2], 'writable': True}); c.writeTensor(t, [1, 2])",
    }

    def test_their_objects_do_not_keep_the_process(self):
        for name, held in self.HELD.items():
            with self.subTest(name):
                said = run(f"""
                    import _xxsubinterpreters as interpreters
                    i = interpreters.create()
                    interpreters.run_string(i, "import warnings; warnings.simplefilter('ignore')\\nimport nnex\\n" + {held!r})  # NumPy warns of them
                    print("well", flush=True)
                """)
                self.assertEqual(said, "well\n")


class FirstArrays(unittest.TestCase):
    """NumPy is looked for when it is needed first, which may be when a buffer was just refused."""

    WAYS = {
        "transposed": "nnex.Value(np.arange(6, dtype='f4').reshape(2, 3).T)",
        "backwards": "nnex.Value(np.arange(6)[::-1])",
        "column by column": "nnex.Value(np.asfortranarray(np.ones((2, 3))))",
        "broadcast": "nnex.Value(np.broadcast_to(np.float32(1), (2, 2)))",
        "a view's memory": "nnex.Value(memoryview(np.arange(6)[::2]))",
        "run": "nnex.load(GRAPH)(np.ones((2, 3), 'f4').T)",
        "write": "nnex.write_value(np.ones((2, 3)).T, os.path.join(folder, 'a.npy'))",
        "runtime": "ort.InferenceSession(nnex.convert_to_bytes(GRAPH, 'onnx')['model.onnx']).run(None, {'x': np.ones((2, 3), 'f4').T})",
    }

    def test_one_that_does_not_lie_together(self):
        for name, call in self.WAYS.items():
            with self.subTest(name):
                said = run(f"""
                    import os, tempfile
                    import numpy as np
                    import nnex, nnex.onnxruntime as ort
                    GRAPH = nnex.parse_graph("graph m(x: f32[N,M]) -> (y) {{ y = neg(x); }}")
                    with tempfile.TemporaryDirectory() as folder:
                        {call}
                    print("well")
                """)
                self.assertEqual(said, "well\n")

    def test_one_without_elements_that_nnex_has(self):
        said = run("""
            import numpy as np
            import nnex
            try:
                nnex.Value(np.zeros(2, "datetime64[s]"))
            except ValueError:
                print("refused")
        """)
        self.assertEqual(said, "refused\n")


class WithoutNumPy(unittest.TestCase):
    def test_answers_are_values(self):
        said = run("""
            import sys
            sys.modules["numpy"] = None
            import array
            import nnex, nnex.onnxruntime as ort, nnex.webnn as webnn
            D = {"dataType": "float32", "shape": [2, 2]}
            context = webnn.create_context()
            builder = webnn.MLGraphBuilder(context)
            half = {"dataType": "float16", "shape": [2]}
            graph = builder.build({"y": builder.relu(builder.input("x", D)), "h": builder.neg(builder.constant(half, [1, 2]))})
            made = context.compute(graph, {"x": [[1, -1], [2, 3]]})
            print(made["y"], made["y"].tolist(), made["h"].tolist())
            tensor = context.createTensor({**D, "readable": True})
            print(context.readTensor(tensor).tolist())
            given = array.array("f", [1, 2])
            value = ort.OrtValue.ortvalue_from_numpy(given)
            given[0] = 5
            print(value.numpy().tolist(), value.shape(), ort.OrtValue.ortvalue_from_shape_and_type([2], "float32").numpy().tolist())
            print(nnex.load(nnex.parse_graph("graph m(x: str[N]) -> (y) { y = copy(x); }"))(["a", "b"]))
            print(nnex.Value(memoryview(array.array("i", range(6)))[::-2]).tolist())
        """)
        self.assertEqual(said.splitlines(), ["<nnex.Value f32[2,2]> [[1.0, 0.0], [2.0, 3.0]] [-1.0, -2.0]", "[[0.0, 0.0], [0.0, 0.0]]",
                                             "[1.0, 2.0] [2] [0.0, 0.0]", "['a', 'b']", "[5, 3, 1]"])


class Forked(unittest.TestCase):
    PARENT = """
        import os, signal
        import nnex.webnn as webnn
        D = {"dataType": "float32", "shape": [2]}
        def make():
            context = webnn.create_context()
            builder = webnn.MLGraphBuilder(context)
            return context, builder.build({"y": builder.relu(builder.input("x", D))})
        context, graph = make()
        tensor = context.createTensor({**D, "readable": True})
        child = os.fork()
        if child == 0:
            signal.alarm(30)
    """
    AFTER = """
        _, status = os.waitpid(child, 0)
        print(status, memoryview(context.compute(graph, {"x": [-1, 1]})["y"]).tolist())
    """

    def test_a_child_makes_its_own(self):
        ways = {
            "in its place": "context, graph = make(); del tensor; good = memoryview(context.compute(graph, {'x': [2, -2]})['y']).tolist() == [2, 0]; os._exit(not good)",
            "beside it": "own, of = make(); good = memoryview(own.compute(of, {'x': [2, -2]})['y']).tolist() == [2, 0]; del context, graph; good &= memoryview(own.compute(of, {'x': [2, -2]})['y']).tolist() == [2, 0]; os._exit(not good)",
            "after it": "context.destroy(); graph.destroy(); tensor.destroy(); del context, graph, tensor; own, of = make(); os._exit(0)",
            "and ends": "own, of = make(); raise SystemExit(0)",
            "none": "raise SystemExit(0)",
        }
        for name, way in ways.items():
            with self.subTest(name):
                said = run(textwrap.dedent(self.PARENT) + "    " + way + "\n" + textwrap.dedent(self.AFTER))
                self.assertEqual(said, "0 [0.0, 1.0]\n")

    def test_what_is_the_parents_says_so(self):
        way = """
            try:
                context.readTensor(tensor)
            except RuntimeError as error:
                os._exit("belongs to the process" not in str(error))
            os._exit(1)
        """
        said = run(textwrap.dedent(self.PARENT) + textwrap.indent(textwrap.dedent(way), "    ") + textwrap.dedent(self.AFTER))
        self.assertEqual(said, "0 [0.0, 1.0]\n")

    def test_workers_of_multiprocessing(self):
        said = run("""
            import multiprocessing, nnex.webnn as webnn
            context = webnn.create_context()
            def work(queue):
                global context
                context = webnn.create_context()
                queue.put("well")
            forks = multiprocessing.get_context("fork")
            queue = forks.Queue()
            worker = forks.Process(target=work, args=(queue,))
            worker.start()
            print(queue.get(timeout=30))
            worker.join(30)
            print(worker.exitcode)
        """)
        self.assertEqual(said, "well\n0\n")


if __name__ == "__main__":
    unittest.main()
