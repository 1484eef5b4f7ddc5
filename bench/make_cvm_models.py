#!/usr/bin/env python3
"""Writes ResNet-18 and MobileNet-v1 as CVM models (a folder with symbol and params each), for speed and memory.

Weights are seeded random numbers in range; shifts are chosen so that activations stay lively. Only Python is needed.
    python3 bench/make_cvm_models.py FOLDER
    nnex bench FOLDER/resnet18_cvm
"""
import json
import math
import os
import random
import statistics
import struct
import sys

# Random bytes to a bell of deviation 40 in -127..127.
BELL = bytes(max(-127, min(127, round(statistics.NormalDist(0, 40).inv_cdf((i + 0.5) / 256)))) & 255
             for i in range(256))


class Network:
    """Nodes, entries and parameters in the order they are made; every value has one output."""

    def __init__(self, seed):
        self.nodes, self.op_attrs, self.shapes, self.precision, self.params = [], [], [], [], []
        self.random = random.Random(seed)

    def variable(self, name, shape, precision, value=None, width=1):
        """A model input, or a parameter: the bytes of its elements, `width` each."""
        self.nodes.append({"op": "null", "name": name, "inputs": []})
        self.op_attrs.append("{}")
        self.shapes.append(list(shape))
        self.precision.append(precision)
        if value is not None:
            self.params.append((name, shape, width, value))
        return len(self.nodes) - 1

    def node(self, op, inputs, shape, **attrs):
        number = len(self.nodes)
        self.nodes.append({"op": "cvm_op", "name": f"{op}{number}", "inputs": [[i, 0, 0] for i in inputs],
                           "attrs": {"func_name": op, "num_inputs": str(len(inputs)), "num_outputs": "1",
                                     "flatten_data": "0"}})
        self.op_attrs.append(json.dumps({key: str(value) for key, value in attrs.items()}))
        self.shapes.append(list(shape))
        self.precision.append(-1)
        return number

    def weights(self, shape):
        value = self.random.randbytes(math.prod(shape)).translate(BELL)
        return self.variable(f"weight{len(self.nodes)}", shape, 8, value)

    def bias(self, n):
        value = struct.pack(f"<{n}i", *(self.random.randint(-20000, 20000) for _ in range(n)))
        return self.variable(f"bias{len(self.nodes)}", (n,), 16, value, width=4)

    def narrow(self, x, terms, relu):
        """x, sums of `terms` products, to 8 bits: right shift to 16, [relu], times a factor, right shift to 8."""
        deviation = math.sqrt(terms) * 30 * 40
        first = max(1, math.ceil(math.log2(deviation * 6 / 32767))) if deviation * 6 > 32767 else 1
        x = self.node("cvm_right_shift", [x], self.shapes[x], precision=16, shift_bit=first)
        if relu:
            x = self.node("relu", [x], self.shapes[x])
        factor = self.random.randint(64, 127)
        scale = self.variable(f"factor{len(self.nodes)}", (1,), 8, bytes([factor]))
        x = self.node("broadcast_mul", [x, scale], self.shapes[x])
        second = max(1, round(math.log2(deviation / 2 ** first * factor / 45)))
        return self.node("cvm_right_shift", [x], self.shapes[x], precision=8, shift_bit=second)

    def conv(self, x, channels, kernel, stride, padding, groups=1, relu=True):
        n, inputs, h, w = self.shapes[x]
        filter_ = self.weights((channels, inputs // groups, kernel, kernel))
        bias = self.bias(channels)
        out = (n, channels, (h + 2 * padding - kernel) // stride + 1, (w + 2 * padding - kernel) // stride + 1)
        y = self.node("conv2d", [x, filter_, bias], out, channels=channels, kernel_size=(kernel, kernel),
                      strides=(stride, stride), padding=(padding, padding), dilation=(1, 1), groups=groups,
                      use_bias=True)
        return self.narrow(y, inputs // groups * kernel * kernel, relu)

    def head(self, x, classes):
        """Sums over the plane, 8 bits again, and a dense layer."""
        n, channels, h, w = self.shapes[x]
        x = self.node("sum", [x], (n, channels), axis=(2, 3))
        x = self.node("cvm_right_shift", [x], (n, channels), precision=8, shift_bit=max(1, round(math.log2(h * w))))
        weights, bias = self.weights((classes, channels)), self.bias(classes)
        return self.node("dense", [x, weights, bias], (n, classes), units=classes, use_bias=True)

    def save(self, folder, head):
        os.makedirs(folder, exist_ok=True)
        count = len(self.nodes)
        symbol = {
            "nodes": self.nodes,
            "arg_nodes": [i for i, n in enumerate(self.nodes) if n["op"] == "null"],
            "node_row_ptr": list(range(count + 1)),
            "heads": [[head, 0, 0]],
            "attrs": {"shape": ["list_shape", self.shapes], "storage_id": ["list_int", list(range(count))],
                      "op_attrs": ["list_str", self.op_attrs], "precision": ["list_int", self.precision],
                      "dltype": ["list_str", ["int32"] * count], "device_index": ["list_int", []]},
            "version": "cvm_1.1.0", "postprocess": "",
        }
        with open(os.path.join(folder, "symbol"), "w", encoding="ascii") as f:
            json.dump(symbol, f)
        with open(os.path.join(folder, "params"), "wb") as f:
            f.write(struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(self.params)))
            for name, *_ in self.params:
                f.write(struct.pack("<Q", len(name)) + name.encode())
            f.write(struct.pack("<Q", len(self.params)))
            for _, shape, width, value in self.params:
                f.write(struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, len(shape)))
                f.write(struct.pack("<BBH", 0, width * 8, 1))
                f.write(struct.pack(f"<{len(shape)}q", *shape))
                f.write(struct.pack("<q", len(value)) + value)


def resnet18():
    net = Network(18)
    x = net.variable("data", (1, 3, 224, 224), 8)
    x = net.conv(x, 64, 7, 2, 3)
    x = net.node("max_pool2d", [x], (1, 64, 56, 56), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.conv(x, channels, 3, stride, 1)
            y = net.conv(y, channels, 3, 1, 1, relu=False)
            if stride == 2:
                x = net.conv(x, channels, 1, 2, 0, relu=False)
            x = net.node("elemwise_add", [y, x], net.shapes[y])
            x = net.node("relu", [x], net.shapes[x])
            x = net.node("cvm_clip", [x], net.shapes[x], precision=8)
    return net, net.head(x, 1000)


def mobilenet_v1():
    net = Network(1)
    x = net.variable("data", (1, 3, 224, 224), 8)
    x = net.conv(x, 32, 3, 2, 1)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2),
                             (1024, 1)):
        x = net.conv(x, net.shapes[x][1], 3, stride, 1, groups=net.shapes[x][1])
        x = net.conv(x, channels, 1, 1, 0)
    return net, net.head(x, 1000)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, make in (("resnet18_cvm", resnet18), ("mobilenet_v1_cvm", mobilenet_v1)):
        net, head = make()
        net.save(os.path.join(sys.argv[1], name), head)


if __name__ == "__main__":
    main()
