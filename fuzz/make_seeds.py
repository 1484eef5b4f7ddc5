#!/usr/bin/python3
"""Writes the seed corpus of fuzz_onnx_run: small models of a few nodes each, in a wire writer of its own."""
import pathlib
import struct


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def value_info(name, extents, element=1):
    dims = b"".join(field(1, field(2, e) if isinstance(e, str) else field(1, e)) for e in extents)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, dims)))


def node(op, inputs, outputs, attributes=b""):
    return b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + attributes


def ints(name, values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7))


def floats(name, extents, values):
    return b"".join(field(1, e) for e in extents) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(values)}f", *values))


def longs(name, values):
    return field(1, len(values)) + field(2, 7) + field(8, name) + field(9, struct.pack(f"<{len(values)}q", *values))


def model(nodes, inputs, outputs, weights=(), opset=17):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, w) for w in weights)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))


SEEDS = {
    "add": model([node("Add", ["a", "b"], ["c"])], [value_info("a", ["N", 3]), value_info("b", [3])], [value_info("c", ["N", 3])]),
    "conv": model(
        [node("Conv", ["x", "w"], ["y"], ints("pads", [1, 1, 1, 1]) + ints("strides", [2, 2])), node("Relu", ["y"], ["z"]), node("MaxPool", ["z"], ["p"], ints("kernel_shape", [2, 2]))],
        [value_info("x", [1, 2, 6, 6])], [value_info("p", [1, 3, 2, 2])], [floats("w", [3, 2, 3, 3], [0.1] * 54)]),
    "shapes": model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["n"]), node("Concat", ["n", "m"], ["t"], field(5, field(1, "axis") + field(3, 0) + field(20, 2))), node("Reshape", ["x", "t"], ["y"])],
        [value_info("x", ["N", 2, 3])], [value_info("y", ["N", 6])], [longs("i", [0]), longs("m", [-1])]),
    "slice": model([node("Slice", ["x", "b", "e"], ["y"]), node("Softmax", ["y"], ["z"])], [value_info("x", [4, 5])], [value_info("z", [2, 5])], [longs("b", [1]), longs("e", [3])]),
}

if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "corpus" / "fuzz_onnx_run"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (folder / f"{name}.onnx").write_bytes(content)
