"""A graph is a source wherever a path is: options mean of it what they mean of a file."""

import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402

TEXT = "graph m(x: f32[N,3]) -> (y) { y = add(x, x); }"
SUM = "graph g(x: f32[2], sum_in: f32[2]) -> (y, sum_out) { sum_out = add(x, sum_in); y = copy(sum_out); }"
PRODUCT = "graph m(x: f32[N,4]) -> (y) { w = f32[4,2](%s); y = matmul(x, w); }" % ", ".join(map(str, range(8)))


class Archives(unittest.TestCase):
    def test_any_model_lies_in_one(self):
        import io
        import tarfile

        onnx = nnex.convert_to_bytes(nnex.parse_graph(PRODUCT), "onnx", symbols={"N": 1})
        webnn = nnex.convert_to_bytes(onnx, "webnn")
        for files in (onnx, webnn, {f"folder/{name}": content for name, content in onnx.items()}):
            for mode in ("w", "w:gz"):
                packed = io.BytesIO()
                with tarfile.open(fileobj=packed, mode=mode) as archive:
                    for name, content in files.items():
                        entry = tarfile.TarInfo(name)
                        entry.size = len(content)
                        archive.addfile(entry, io.BytesIO(content))
                self.assertEqual(nnex.load(packed.getvalue())([[1, 0, 0, 0]]).tolist(), [[0, 1]])


class Options(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sources(self, text):
        """The network as a path, as a graph that was read, and as one that was written down."""
        path = self.folder / "model.onnx"
        nnex.convert(nnex.parse_graph(text), path, overwrite=True)
        return path, nnex.load_graph(path), nnex.parse_graph(text)

    def type_of(self, source, **options):
        return nnex.inspect(nnex.convert_to_bytes(source, "onnx", **options)).inputs[0].type

    def test_converting_takes_symbols_and_shapes(self):
        for source in self.sources(TEXT):
            self.assertEqual(self.type_of(source), "f32[N,3]")
            self.assertEqual(self.type_of(source, symbols={"N": 2}), "f32[2,3]")
            self.assertEqual(self.type_of(source, symbols={"x.0": 4}), "f32[4,3]")
            self.assertEqual(self.type_of(source, shapes={"x": (5, 3)}), "f32[5,3]")
            for format in ("nnef", "webnn", "c"):
                self.assertTrue(nnex.convert_to_bytes(source, format, symbols={"N": 1}))
            nnex.convert(source, self.folder / "fixed.onnx", overwrite=True, symbols={"N": 3})
            self.assertEqual(nnex.inspect(self.folder / "fixed.onnx").inputs[0].type, "f32[3,3]")

    def test_converting_leaves_the_graph_alone(self):
        graph = nnex.parse_graph(TEXT)
        nnex.convert_to_bytes(graph, "onnx", symbols={"N": 2})
        self.assertEqual(graph.inputs[0].type, "f32[N,3]")

    def test_what_is_refused_of_a_path_is_refused_of_a_graph(self):
        samples = [np.ones((1, 4), "float32")]
        wrong = ({"no_such_option": 3}, {"symbols": {"Q": 1}}, {"symbols": {"N": 1, "x.0": 2}}, {"shapes": {"q": (1,)}}, {"isa": "z80"})
        for source in self.sources(PRODUCT):
            for options in wrong:
                for call in (lambda: nnex.convert_to_bytes(source, "onnx", **options), lambda: nnex.quantize(source, samples, judge=False, **options),
                             lambda: nnex.load(source, **options), lambda: nnex.load_graph(source, **options)):
                    with self.subTest(source=source, options=options), self.assertRaises(nnex.InvalidArgument):
                        call()

    def test_quantizing_takes_symbols(self):
        samples = [np.ones((1, 4), "float32")]
        for source in self.sources(PRODUCT):
            self.assertEqual(nnex.quantize(source, samples, judge=False).graph.inputs[0].type, "f32[N,4]")
            self.assertEqual(nnex.quantize(source, samples, judge=False, symbols={"N": 1}).graph.inputs[0].type, "f32[1,4]")

    def test_what_looks_carried_is(self):
        for source in self.sources(SUM):
            for carry in (True, {"sum_out": "sum_in"}):
                model = nnex.load(source, carry=carry)
                self.assertEqual([port.name for port in model.states], ["sum_in"])
                session = model.session()
                self.assertEqual([session([1, 2]).tolist() for _ in range(2)], [[1, 2], [2, 4]])
            self.assertEqual(nnex.load(source, carry=False).states, [])
        self.assertEqual([port.name for port in nnex.load(nnex.load_graph(nnex.parse_graph(SUM), carry=True), carry=True).states], ["sum_in"])


if __name__ == "__main__":
    unittest.main()
