#!/usr/bin/python3
"""make_graphs.py FOLDER: the benchmark graphs of WebNN as builder programs, with seeded weights."""
import json
import pathlib
import random
import struct
import sys


class Program:
    def __init__(self, name):
        self.name, self.inputs, self.constants, self.operations, self.outputs = name, [], [], [], {}
        self.weights, self.random, self.count = bytearray(), random.Random(name), 0

    def fresh(self):
        self.count += 1
        return f"t{self.count}"

    def input(self, name, shape):
        self.inputs.append({"name": name, "dataType": "float32", "shape": shape})
        return name

    def constant(self, shape, low=None, high=None):
        size = 1
        for extent in shape:
            size *= extent
        reach = (3 * shape[0] / size) ** 0.5 if len(shape) > 1 else 0.1
        low, high = -reach if low is None else low, reach if high is None else high
        self.weights += bytes(-len(self.weights) % 64)
        name = self.fresh()
        self.constants.append({"name": name, "dataType": "float32", "shape": shape, "offset": len(self.weights)})
        block = [self.random.uniform(low, high) for _ in range(min(size, 4096))]
        data = struct.pack(f"<{len(block)}f", *block)
        self.weights += (data * (size // len(block) + 1))[:4 * size]
        return name

    def __call__(self, op, args, results=1, **options):
        names = [self.fresh() for _ in range(results)]
        self.operations.append({"op": op, "args": args, "options": options, "results": names})
        return names[0] if results == 1 else names

    def output(self, operand):
        self.outputs["y"] = operand

    def save(self, folder):
        text = {"format": "nnex.webnn/1", "name": self.name, "inputs": self.inputs, "constants": self.constants, "operations": self.operations, "outputs": self.outputs}
        if self.weights:
            text["weights"] = f"{self.name}.weights"
            (folder / text["weights"]).write_bytes(self.weights)
        (folder / f"{self.name}.webnn").write_text(json.dumps(text))


def conv(p, x, channels, filters, size, relu6=True, **options):
    y = p("conv2d", {"input": x, "filter": p.constant([filters, channels // options.get("groups", 1), size, size])}, bias=p.constant([filters]), **options)
    return p("clamp", {"input": y}, minValue=0, maxValue=6) if relu6 else y


def mobilenet():
    """The shape of MobileNetV2: inverted residual blocks of (expansion, channels, repeats, stride)."""
    p = Program("mobilenet_v2")
    x, channels = conv(p, p.input("x", [1, 3, 224, 224]), 3, 32, 3, padding=[1, 1, 1, 1], strides=[2, 2]), 32
    for expansion, filters, repeats, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(repeats):
            step, wide = stride if i == 0 else 1, channels * expansion
            y = conv(p, x, channels, wide, 1) if expansion > 1 else x
            y = conv(p, y, wide, wide, 3, groups=wide, padding=[1, 1, 1, 1], strides=[step, step])
            y = conv(p, y, wide, filters, 1, relu6=False)
            x = p("add", {"a": x, "b": y}) if step == 1 and channels == filters else y
            channels = filters
    x = p("averagePool2d", {"input": conv(p, x, channels, 1280, 1)})
    x = p("reshape", {"input": x, "newShape": [1, 1280]})
    p.output(p("softmax", {"input": p("gemm", {"a": x, "b": p.constant([1280, 1000])}, c=p.constant([1000])), "axis": 1}))
    return p


def single(name, shape, make):
    p = Program(name)
    p.output(make(p, p.input("x", shape)))
    return p


def layer_norm_in_parts(p, x):
    two = p.constant([], 2, 2)
    d = p("sub", {"a": x, "b": p("reduceMean", {"input": x}, axes=[2], keepDimensions=True)})
    v = p("reduceMean", {"input": p("pow", {"a": d, "b": two})}, axes=[2], keepDimensions=True)
    n = p("div", {"a": d, "b": p("sqrt", {"input": p("add", {"a": v, "b": p.constant([], 1e-5, 1e-5)})})})
    return p("add", {"a": p("mul", {"a": n, "b": p.constant([768])}), "b": p.constant([768])})


def gelu_in_parts(p, x):
    e = p("erf", {"input": p("div", {"a": x, "b": p.constant([], 2 ** 0.5, 2 ** 0.5)})})
    return p("mul", {"a": p("mul", {"a": x, "b": p("add", {"a": e, "b": p.constant([], 1, 1)})}), "b": p.constant([], 0.5, 0.5)})


def attention_in_parts(p, x):
    heads = lambda r: p("transpose", {"input": p("reshape", {"input": r, "newShape": [1, 128, 12, 64]})}, permutation=[0, 2, 1, 3])
    q, k, v = (heads(p("matmul", {"a": x, "b": p.constant([768, 768])})) for _ in range(3))
    scores = p("mul", {"a": p("matmul", {"a": q, "b": p("transpose", {"input": k}, permutation=[0, 1, 3, 2])}), "b": p.constant([], 0.125, 0.125)})
    y = p("matmul", {"a": p("softmax", {"input": scores, "axis": 3}), "b": v})
    return p("reshape", {"input": p("transpose", {"input": y}, permutation=[0, 2, 1, 3]), "newShape": [1, 128, 768]})


GRAPHS = [
    lambda: single("matmul", [512, 512], lambda p, x: p("matmul", {"a": x, "b": p.constant([512, 512])})),
    lambda: single("gemm", [64, 1024], lambda p, x: p("gemm", {"a": x, "b": p.constant([1024, 1024])}, c=p.constant([1024]), bTranspose=True)),
    lambda: single("conv", [1, 64, 56, 56], lambda p, x: conv(p, x, 64, 64, 3, padding=[1, 1, 1, 1])),
    lambda: single("depthwise", [1, 144, 56, 56], lambda p, x: conv(p, x, 144, 144, 3, groups=144, padding=[1, 1, 1, 1])),
    lambda: single("softmax", [512, 1024], lambda p, x: p("softmax", {"input": x, "axis": 1})),
    lambda: single("layer_norm", [1, 256, 768], lambda p, x: p("layerNormalization", {"input": x}, axes=[2], scale=p.constant([768]), bias=p.constant([768]))),
    lambda: single("layer_norm_in_parts", [1, 256, 768], layer_norm_in_parts),
    lambda: single("gelu_in_parts", [1, 256, 3072], gelu_in_parts),
    lambda: single("attention_in_parts", [1, 128, 768], attention_in_parts),
    lambda: single("lstm", [32, 1, 128], lambda p, x: p("lstm", {"input": x, "weight": p.constant([1, 512, 128]), "recurrentWeight": p.constant([1, 512, 128]), "steps": 32, "hiddenSize": 128}, 2, bias=p.constant([1, 512]))[0]),
    mobilenet,
]

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in GRAPHS:
        make().save(folder)
