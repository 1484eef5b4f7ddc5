"""nnex.Value and what stands for it: conversion of numbers, raw bits, narrow types, maps, values in files."""

import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402


def copy_of(dtype):
    return nnex.load(nnex.parse_graph(f"graph m(x: {dtype}) -> (y) {{ y = copy(x); }}"))


class Conversion(unittest.TestCase):
    def test_numbers_of_arrays_become_others_as_those_of_lists_do(self):
        pairs = (("int32", "float32"), ("int64", "float64"), ("float32", "float64"), ("float64", "float16"), ("uint8", "int8"), ("int64", "bool"), ("bool", "uint8"),
                 ("float32", "complex64"), ("float16", "float32"), ("int8", "int4"), ("float32", "bfloat16"), ("float64", "complex128"))
        for found, needed in pairs:
            array = np.array([[1, 0], [2, 3]], found)
            with self.subTest(found=found, needed=needed):
                value = nnex.Value(array, needed)
                self.assertEqual((value.dtype, value.shape), (needed, (2, 2)))
                self.assertEqual(value.tolist(), nnex.Value(array.tolist(), needed).tolist())
                self.assertEqual(nnex.Value(nnex.Value(array), needed).tolist(), value.tolist())
        self.assertEqual(nnex.Value(np.zeros((0, 3), "i4"), "float32").shape, (0, 3))

    def test_numbers_that_the_type_does_not_hold(self):
        for array, needed, error in ((np.uint8([200]), "int8", OverflowError), (np.float32([1.5]), "int32", TypeError), (np.float64([1e300]), "float32", OverflowError),
                                     (np.int8([8]), "int4", OverflowError), (np.array(["a"]), "float32", TypeError)):
            with self.subTest(needed=needed), self.assertRaises(error):
                nnex.Value(array, needed)

    def test_bits_of_types_that_numpy_lacks(self):
        self.assertEqual(nnex.Value(np.uint16([0x3F80, 0xC000]), "bfloat16").tolist(), [1.0, -2.0])
        self.assertEqual(nnex.Value(np.uint8([0x38]), "float8_e4m3fn").tobytes(), b"\x38")
        value = nnex.Value(b"\x81", "int4", shape=(2,))
        self.assertEqual((value.tolist(), value.tobytes()), ([1, -8], b"\x81"))
        again = nnex.Value(nnex.Value([[1.5, 2.0]], "bfloat16").tobytes(), "bfloat16", shape=(1, 2))
        self.assertEqual((again.shape, again.tolist()), ((1, 2), [[1.5, 2.0]]))
        self.assertEqual(nnex.Value(np.float32([1, 2]), "float32", shape=[2, 1]).tolist(), [[1], [2]])
        for bare in (b"abcd", bytearray(b"abcd")):
            self.assertEqual(nnex.Value(bare, "uint8").tolist(), list(b"abcd"))
            with self.assertRaisesRegex(TypeError, "needed a shape"):
                nnex.Value(bare, "float32")
        for data, arguments, error in ((b"abc", {"dtype": "int4", "shape": (2,)}, ValueError), (b"abc", {"shape": (3,)}, TypeError), ([1], {"dtype": "int8", "shape": (1,)}, TypeError)):
            with self.assertRaises(error):
                nnex.Value(data, **arguments)

    def test_arrays_of_what_numpy_lacks(self):
        self.assertEqual(np.asarray(copy_of("i4[N]")(nnex.Value(np.int8([1, -8]), "int4")), dtype="i1").tolist(), [1, -8])
        self.assertEqual(np.asarray(nnex.Value([1.5, 2.0], "bfloat16"), dtype="f4").dtype, np.float32)
        self.assertEqual(copy_of("c64[N]")([1 + 2j, 3]).tolist(), [1 + 2j, 3])


class Maps(unittest.TestCase):
    def test_numbers_come_out_as_numbers(self):
        answer = copy_of("map(str, f32[])")({"x": {"a": 0.25, "b": 1}})
        self.assertEqual(json.loads(json.dumps(answer)), {"a": 0.25, "b": 1})
        self.assertEqual(copy_of("map(i64, str[])")({"x": {3: "c"}}), {3: "c"})

    def test_empty_ones_have_the_keys_of_the_input(self):
        for keys in ("str", "i64"):
            self.assertEqual(copy_of(f"map({keys}, f32[])")({"x": {}}), {})


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_texts_of_numbers_become_what_is_asked_for(self):
        for name in ("t.json", "t.csv"):
            path = self.folder / name
            for array in (np.array([[0.1, 1]]), np.array([[1, 2**53 + 1]]), np.array([[True, False]]), np.array([["a", "b"]], object)):
                nnex.write_value(array, path, overwrite=True)
                again = nnex.read_value(path, "str" if array.dtype == object else array.dtype)
                self.assertEqual((again.dtype, again.tolist()), (array.dtype, array.tolist()))
            nnex.write_value(np.array([[2**53 + 1]]), path, overwrite=True)
            with self.assertRaisesRegex(nnex.InvalidArgument, "9007199254740993'?; needed a number that f32 holds"):
                nnex.read_value(path)

    def test_files_that_tell_their_type(self):
        nnex.write_value(np.float64([1]), self.folder / "a.npy")
        self.assertEqual(nnex.read_value(self.folder / "a.npy", np.float64).dtype, np.float64)
        with self.assertRaisesRegex(nnex.InvalidArgument, r"found f64\[1\]; needed elements of f32"):
            nnex.read_value(self.folder / "a.npy", "float32")

    def test_an_input_has_the_extents_that_it_takes(self):
        model = copy_of("f32[1,3,4,4]")
        nnex.write_value(np.zeros((7, 2), "f4"), self.folder / "a.npy")
        nnex.write_value(np.zeros((1, 3, 4, 4), "f4"), self.folder / "b.npy")
        self.assertEqual(model.read_input("x", self.folder / "b.npy").shape, (1, 3, 4, 4))
        with self.assertRaisesRegex(nnex.InvalidArgument, r"a.npy: found f32\[7,2\]; input 'x' needs f32\[1,3,4,4\]"):
            model.read_input("x", self.folder / "a.npy")

    def test_what_pictures_and_sounds_have_is_refused_of_others(self):
        model = copy_of("f32[N]")
        nnex.write_value(np.zeros(2, "f4"), self.folder / "a.npy")
        for options in ({"mean": 0.5}, {"scale": [1, 2, 3]}, {"layout": "nhwc"}, {"bgr": True}, {"sample_rate": 8000}):
            with self.subTest(options), self.assertRaisesRegex(nnex.InvalidArgument, "a.npy: found .*; needed a"):
                model.read_input("x", self.folder / "a.npy", **options)


if __name__ == "__main__":
    unittest.main()
