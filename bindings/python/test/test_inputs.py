"""What goes in and comes out exactly: texts of any bytes, names, mappings, numbers that a type does not hold, and what refusals say."""

import array
import collections
import pathlib
import sys
import types
import unittest
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402
import nnex.onnxruntime as ort  # noqa: E402


def copy_of(dtype):
    return nnex.load(nnex.parse_graph(f"graph m(x: {dtype}[N]) -> (y) {{ y = copy(x); }}"))


# Of ONNX's messages those that texts in files need, so that their bytes are any.
def field(number, content):
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def port(name, dtype, extent):
    dims = field(2, field(1, field(1, extent)))
    return field(1, name) + field(2, field(1, field(1, dtype) + dims))


def model_of(nodes, inputs, outputs, constants=(), metadata=()):
    graph = b"".join(field(1, b"".join(field(1, x) for x in of) + field(2, to) + field(4, op)) for op, of, to in nodes) + field(2, b"g")
    graph += b"".join(field(5, c) for c in constants) + b"".join(field(11, x) for x in inputs) + b"".join(field(12, y) for y in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 17)) + b"".join(field(14, field(1, k) + field(2, v)) for k, v in metadata)


FLOAT, STRING = 1, 8


class Texts(unittest.TestCase):
    BYTES = [b"a\0b", b"\xff", b"\0", b"ab\0", b"", "grün 🎉".encode(), b"\xed\xa0\x80", b"\xe2\x82"]

    def test_bytes_come_back_as_they_went_in(self):
        model = copy_of("str")
        for given in (list(self.BYTES), np.array(self.BYTES, object)):
            texts = model(given)
            self.assertEqual([t.encode("utf-8", "surrogateescape") for t in texts], self.BYTES)
            self.assertEqual(list(model(texts)), list(texts))
        value = model.run(self.BYTES, values=True)["y"]
        self.assertEqual(value.tolist(), list(texts))
        self.assertEqual(model(["a\0b", "\udcff"]).tolist(), ["a\0b", "\udcff"])

    def test_texts_of_a_file(self):
        constant = field(1, 2) + field(2, STRING) + field(6, b"a\0b") + field(6, b"\xff") + field(8, b"c")
        made = model_of([(b"Identity", [b"c"], b"y"), (b"Equal", [b"c", b"x"], b"e")], [port(b"x", STRING, 2)],
                        [port(b"y", STRING, 2), port(b"e", 9, 2)], [constant], [(b"key", b"v\0w")])
        y, _ = nnex.load(made)(["", ""])
        self.assertEqual(y.tolist(), ["a\0b", "\udcff"])
        self.assertEqual(nnex.load(made)(y)[1].tolist(), [True, True])
        self.assertEqual(nnex.inspect(made).metadata["key"], "v\0w")

    def test_a_graph_goes_through_its_text(self):
        constant = field(1, 3) + field(2, STRING) + field(6, b"a\0b") + field(6, b"\xff") + field(6, "ü".encode()) + field(8, b"c")
        graph = nnex.load_graph(model_of([(b"Identity", [b"c"], b"y")], [], [port(b"y", STRING, 3)], [constant]))
        text = graph.text(whole=True)
        self.assertIn("'\\xff'", text)
        self.assertIn("'ü'", text)
        self.assertEqual(nnex.parse_graph(text).constant("c").tolist(), ["a\0b", "\udcff", "ü"])
        self.assertEqual(nnex.load(nnex.parse_graph(text))().tolist(), nnex.load(graph)().tolist())

    def test_maps(self):
        model = nnex.load(nnex.parse_graph("graph m(x: map(str, f32[])) -> (y) { y = copy(x); }"))
        self.assertEqual(list(model({"x": {"a\0b": np.float32(1), "a\0c": np.float32(2)}})), ["a\0b", "a\0c"])

    def test_names_are_whole(self):
        made = model_of([(b"Sub", [b"a\0b", b"a\0c"], b"y\0z")], [port(b"a\0b", FLOAT, 2), port(b"a\0c", FLOAT, 2)], [port(b"y\0z", FLOAT, 2)])
        model = nnex.load(made)
        self.assertEqual([p.name for p in model.inputs], ["a\0b", "a\0c"])
        outputs = model.run({"a\0b": [5, 5], "a\0c": [1, 2]}, outputs=["y\0z"])
        self.assertEqual({name: y.tolist() for name, y in outputs.items()}, {"y\0z": [4, 3]})
        with self.assertRaises(nnex.InvalidArgument):
            model.run({"a": [1, 2]})
        self.assertEqual([a.name for a in ort.InferenceSession(made).get_inputs()], ["a\0b", "a\0c"])

    def test_halves_of_utf16_are_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, "input 'x': .*surrogates not allowed"):
            copy_of("str")(["\ud800"])


class Inputs(unittest.TestCase):
    def test_mappings(self):
        model = nnex.load(nnex.parse_graph("graph m(a: f32[N], b: f32[N]) -> (y) { y = sub(a, b); }"))
        one = nnex.load(nnex.parse_graph("graph m(a: f32[N]) -> (y) { y = neg(a); }"))
        inputs = {"a": [3.0], "b": [1.0]}
        for mapping in (types.MappingProxyType(inputs), collections.ChainMap({"a": [3.0]}, inputs), collections.UserDict(inputs), collections.OrderedDict(inputs)):
            self.assertEqual(model(mapping).tolist(), [2.0])
            self.assertEqual(model.session().run(mapping)["y"].tolist(), [2.0])
            with self.assertRaisesRegex(nnex.InvalidArgument, "found an input 'b'"):
                one(mapping)
        self.assertTrue(nnex.compare(nnex.load_graph(model.graph()), model.graph(), types.MappingProxyType({"a": [3], "b": [1]})))

    def test_anything_with_a_buffer(self):
        for given in (b"abc", bytearray(b"abc"), memoryview(b"cba")[::-1], array.array("B", b"abc")):
            self.assertEqual(copy_of("u8")(given).tolist(), [97, 98, 99])
        self.assertEqual(nnex.Value(b"abc", "uint8").tolist(), [97, 98, 99])
        self.assertEqual(copy_of("str")([b"abc"]).tolist(), ["abc"])
        self.assertEqual(copy_of("f32")(memoryview(np.float32([1, 2, 3]))[::-2]).tolist(), [3, 1])
        with self.assertRaisesRegex(nnex.InvalidArgument, r"u8\[3\]; needed f32"):
            copy_of("f32")(b"abc")

    def test_numbers_that_a_type_does_not_hold(self):
        for dtype, beyond, last in (("float32", 3.5e38, 3.4e38), ("float16", 70000.0, 65519.0), ("bfloat16", 3.4e38, 3.389e38)):
            for number in (beyond, -beyond):
                with self.assertRaisesRegex(OverflowError, dtype):
                    nnex.Value([number], dtype)
            for number in (last, float("inf"), float("-inf"), float("nan")):
                nnex.Value([number], dtype)
        with self.assertRaisesRegex(OverflowError, "input 'x': .*3.4028235e\\+38"):
            copy_of("f32")([1e300])
        self.assertEqual(nnex.Value([float("inf")], "float32").tolist(), [float("inf")])

    def test_truth_values_are_numbers(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for dtype in ("int64", "uint8", "uint64", "int4", "bool"):
                self.assertEqual(nnex.Value([np.bool_(True), np.bool_(False)], dtype).tolist(), [1, 0])

    def test_names_of_types_have_one_meaning(self):
        for name in ("f2", "f4", "f8"):
            self.assertEqual(nnex.Value([1, 0], name).dtype, np.dtype(name).name)
        for name in ("i2", "i4", "i8", "u4", "u8"):
            with self.assertRaisesRegex(ValueError, "whole name"):
                nnex.Value([1, 0], name)
            if name != "i2":
                self.assertEqual(nnex.Value([1, 0], np.dtype(name)).dtype, np.dtype(name).name)
        with self.assertRaisesRegex(ValueError, r"datetime64\[s\]'; needed one that networks have"):
            nnex.Value(np.zeros(2, "datetime64[s]"))


if __name__ == "__main__":
    unittest.main()
