"""Makes the integer form of model.onnx: a CVM network (integer/symbol and integer/params) of 8-bit products. Needs numpy alone.

    python3 models/shapes/quantise.py

It reads the weights from model.onnx, folds each batch normalisation into its convolution and measures how far the channels reach on
drawings that train.py makes. Each channel has a scale of its own, which the next layer's weights divide by; what is left between two
layers is one arithmetic shift. The shift of a layer is the one with the smallest error. integer/answers.json has what this file's own
integer arithmetic (numpy, no engine) answers to the eight PNG files, for tests.
"""
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import train

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "bench"))
from make_cvm_models import Network  # noqa: E402  the writer of symbol and params

SEED = 9  # of the drawings measured on: not those of the training
LIMIT, PIXEL = 127, 127.5  # the largest 8-bit number; 1.0 of a picture is 255, halved


def fields(data):
    """The fields of a protobuf message: number, and its varint or bytes."""
    at = 0
    def varint():
        nonlocal at
        n = shift = 0
        while True:
            n, shift, at = n | (data[at] & 127) << shift, shift + 7, at + 1
            if data[at - 1] < 128: return n
    while at < len(data):
        key = varint()
        if key & 7 == 0: yield key >> 3, varint()
        elif key & 7 == 2:
            length = varint()
            at += length
            yield key >> 3, data[at - length:at]
        else: raise ValueError(f"wire type {key & 7}")


def weights():
    """The tensors of model.onnx in the order of its layers (ModelProto.graph 7, GraphProto.initializer 5)."""
    graph, = (v for k, v in fields((HERE / "model.onnx").read_bytes()) if k == 7)
    for k, v in fields(graph):
        if k != 5: continue
        tensor = list(fields(v))
        raw, = (x for n, x in tensor if n == 9)
        yield np.frombuffer(raw, "<f4").reshape([x for n, x in tensor if n == 1]).astype(np.float64)


def conv(x, w, stride, groups):
    """x [N,C,H,W], w [O,C/groups,k,k], as many zeros around as keep the extents; exact for integers below 2^53."""
    k, n = w.shape[2], x.shape[0]
    x = np.pad(x, ((0, 0), (0, 0), (k // 2, k // 2), (k // 2, k // 2)))
    h = (x.shape[2] - k) // stride + 1
    taps = np.stack([x[:, :, i:i + h * stride:stride, j:j + h * stride:stride] for i in range(k) for j in range(k)], 2)
    if groups > 1: return (taps * w.reshape(1, -1, k * k, 1, 1)).sum(2)
    return (w.reshape(len(w), -1) @ taps.reshape(n, -1, h * h)).reshape(n, len(w), h, h)


def shifted(x, bits):
    """CVM's cvm_right_shift to 8 bits: halves go up, and what is beyond +-127 to that."""
    return np.clip(np.floor(x / 2.0**bits + 0.5), -LIMIT, LIMIT)


def pooled(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


class Quantised:
    """One layer: integers, and the scale of each channel of its result."""
    def __init__(self, w, b, scale_in, y, apply):
        """y: the real result on drawings, after relu; apply(w) computes the layer of integers."""
        per_input = scale_in.reshape(-1, 1, 1, 1) if w.shape[1] == 1 and len(scale_in) == len(w) else scale_in.reshape(1, -1, 1, 1)
        relative, reach = w / per_input, np.maximum(y.max((0, 2, 3)), 1e-3)
        best = None
        for bits in range(1, 20):
            s = np.minimum(LIMIT / abs(relative).max((1, 2, 3)), LIMIT * 2.0**bits / reach)
            wq, bq = np.round(relative * s.reshape(-1, 1, 1, 1)), np.round(b * s)
            scale = (s / 2.0**bits).reshape(1, -1, 1, 1)
            got = shifted(np.maximum(apply(wq) + bq.reshape(1, -1, 1, 1), 0), bits)
            error = (((got / scale - y) / reach.reshape(1, -1, 1, 1))**2).mean()
            if best is None or error < best[0]: best = error, wq, bq, bits, scale.ravel()
        self.error, self.w, self.b, self.bits, self.scale = best


def build(drawn):
    """The layers as [(Quantised, stride, groups, pool)], and the last product: weights, bias."""
    stored = weights()
    layers, real, x, scale = [], drawn, shifted(np.floor(drawn * 255 + 0.5), 1), np.full(3, PIXEL)
    for stride, depthwise, pool in ((1, False, True), (1, False, True), (1, True, False), (1, False, False), (2, False, False)):
        w, gamma, beta, mean, variance = (next(stored) for _ in range(5))
        factor = gamma / np.sqrt(variance + 1e-5)
        w, b, groups = w * factor.reshape(-1, 1, 1, 1), beta - mean * factor, len(w) if depthwise else 1
        real = np.maximum(conv(real, w, stride, groups) + b.reshape(1, -1, 1, 1), 0)
        layer = Quantised(w, b, scale, real, lambda wq: conv(x, wq, stride, groups))
        layers.append((layer, stride, groups, pool))
        x, scale = forward_one(x, *layers[-1]), layer.scale
        if pool: real = pooled(real)
        print(f"{w.shape}: shift {layer.bits}, error {layer.error**0.5:.4f} of a channel's reach")
    w, b = next(stored) / scale, next(stored)
    s = LIMIT / abs(w).max()
    return layers, np.round(w * s), np.round(b * s)


def forward_one(x, layer, stride, groups, pool):
    x = shifted(np.maximum(conv(x, layer.w, stride, groups) + layer.b.reshape(1, -1, 1, 1), 0), layer.bits)
    return pooled(x) if pool else x


def forward(net, bytes_):
    """Pictures [N,3,32,32] of 0..255 to eight integers each: the largest names the shape."""
    layers, w, b = net
    x = shifted(bytes_, 1)
    for layer in layers: x = forward_one(x, *layer)
    return shifted(x.sum((2, 3)), 4) @ w.T + b


def save(net, folder):
    layers, w, b = net
    out = Network(0)
    def bits_of(a): return int(abs(a).max()).bit_length() + 1
    def parameter(name, a):
        wide = bits_of(a) > 8
        return out.variable(name, a.shape, bits_of(a), a.astype("<i4" if wide else "i1").tobytes(), width=4 if wide else 1)
    x = out.variable("data", (1, 3, train.SIZE, train.SIZE), 9)
    x = out.node("cvm_right_shift", [x], out.shapes[x], precision=8, shift_bit=1)
    for i, (layer, stride, groups, pool) in enumerate(layers):
        _, _, h, _ = out.shapes[x]
        k, channels = layer.w.shape[2], len(layer.w)
        inputs = [x, parameter(f"weight{i}", layer.w), parameter(f"bias{i}", layer.b)]
        shape = (1, channels, h // stride, h // stride)
        x = out.node("conv2d", inputs, shape, channels=channels, kernel_size=(k, k), strides=(stride, stride),
                     padding=(k // 2, k // 2), dilation=(1, 1), groups=groups, use_bias=True)
        x = out.node("relu", [x], shape)
        x = out.node("cvm_right_shift", [x], shape, precision=8, shift_bit=layer.bits)
        if pool: x = out.node("max_pool2d", [x], (1, channels, h // 2, h // 2), pool_size=(2, 2), strides=(2, 2), padding=(0, 0))
    channels = out.shapes[x][1]
    x = out.node("sum", [x], (1, channels), axis=(2, 3))
    x = out.node("cvm_right_shift", [x], (1, channels), precision=8, shift_bit=4)
    inputs = [x, parameter("weight", w), parameter("bias", b)]
    out.save(folder, out.node("dense", inputs, (1, len(w)), units=len(w), use_bias=True))


def read_png(path):
    """The pixels of a PNG that train.save_png wrote (8-bit RGB, no filter), as [H,W,3]."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR": w, h = struct.unpack_from(">II", data, at + 8)
        if kind == b"IDAT": packed += data[at + 8:at + 8 + length]
        at += 12 + length
    return np.frombuffer(zlib.decompress(packed), np.uint8).reshape(h, 1 + w * 3)[:, 1:].reshape(h, w, 3)


def main():
    train.rng = np.random.default_rng(SEED)
    drawn = train.drawings(512)[0].transpose(0, 3, 1, 2).astype(np.float64)
    net = build(drawn)
    save(net, HERE / "integer")
    x, right = train.drawings(1000)
    guesses = forward(net, np.floor(x.transpose(0, 3, 1, 2).astype(np.float64) * 255 + 0.5)).argmax(1)
    print(f"{100 * (guesses == right).mean():.1f} % of 1000 fresh drawings are named rightly")
    answers, size = {}, train.SIZE
    for label in train.LABELS:
        large = read_png(HERE / f"{label}.png").astype(np.float64)
        step = large.shape[0] // size
        small = np.floor(large.reshape(size, step, size, step, 3).mean((1, 3)) + 0.5)
        answers[label] = [int(v) for v in forward(net, small.transpose(2, 0, 1)[None])[0]]
        print(f"{label}.png: {train.LABELS[int(np.argmax(answers[label]))]}")
    rows = ",\n".join(f' "{label}": {answer}' for label, answer in answers.items())
    (HERE / "integer" / "answers.json").write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    main()
