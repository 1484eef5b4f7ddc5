"""Writes the networks we time, with seeded random weights and inputs: OUTPUT/NAME/model.onnx, test_data_set_0/input_I.pb.

    python3 bench/make_models.py OUTPUT [NAME...]

A network is a function below; its name is the network's. Weights are scaled so that activations keep a sane size.
Needs python3-onnx and python3-numpy.
"""
import math
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph under construction. Values are names; calling an operator's name adds a node: y = net.Relu(x)."""

    def __init__(self, name, opset):
        self.name, self.opset = name, opset
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.weights, self.inputs, self.outputs, self.data, self.shared = [], [], [], [], [], {}

    def __getattr__(self, op):
        if not op[0].isupper(): raise AttributeError(op)

        def add(*inputs, outputs=1, **attributes):
            names = [f"{op.lower()}_{len(self.nodes)}" + (f"_{j}" if outputs > 1 else "") for j in range(outputs)]
            self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
            return names[0] if outputs == 1 else names
        return add

    def weight(self, array):
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def constant(self, value, dtype=np.float32):
        """A small constant, shared by all who ask for the same."""
        key = (np.dtype(dtype).name, str(np.asarray(value).tolist()))
        if key not in self.shared: self.shared[key] = self.weight(np.array(value, dtype))
        return self.shared[key]

    def normal(self, *shape, scale):
        return (self.rng.standard_normal(shape, np.float32) * np.float32(scale))

    def input(self, name, *shape, scale=1.0):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.data.append(numpy_helper.from_array(self.normal(*shape, scale=scale), name))
        return name

    def output(self, value, *shape):
        self.outputs.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, shape))

    def halve(self):
        """Everything becomes float16 but what Resize scales by."""
        scales = {n.input[2] for n in self.nodes if n.op_type == "Resize"}

        def half(t): return numpy_helper.from_array(np.clip(numpy_helper.to_array(t), -65504, 65504).astype(np.float16), t.name)
        self.weights = [half(t) if t.data_type == TensorProto.FLOAT and t.name not in scales else t for t in self.weights]
        self.data = [half(t) if t.data_type == TensorProto.FLOAT else t for t in self.data]
        for port in self.inputs + self.outputs:
            if port.type.tensor_type.elem_type == TensorProto.FLOAT: port.type.tensor_type.elem_type = TensorProto.FLOAT16
        self.name += "_f16"

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8,
                                  producer_name="nnex bench/make_models.py")
        onnx.checker.check_model(model, full_check=True)
        data = folder / self.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / self.name / "model.onnx")
        for i, tensor in enumerate(self.data): (data / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
        size = (folder / self.name / "model.onnx").stat().st_size
        print(f"{self.name}: {len(self.nodes)} nodes, {size / 2**20:.1f} MiB", flush=True)


# ---- Pieces of convolutional networks, in float and as quantise/dequantise pairs around int8 -------------------------
class FloatLayers:
    """Convolution, batch normalisation, activation."""

    def __init__(self, net): self.net = net

    def conv(self, x, channels, out, k, stride=1, groups=1, act=None):
        net = self.net
        fan = channels // groups * k * k
        y = net.Conv(x, net.weight(net.normal(out, channels // groups, k, k, scale=math.sqrt(2 / fan))),
                     kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, group=groups)
        vectors = [1 + net.normal(out, scale=0.1), net.normal(out, scale=0.1), net.normal(out, scale=0.1),
                   1 + np.abs(net.normal(out, scale=0.1))]
        return self.act(net.BatchNormalization(y, *map(net.weight, vectors)), act)

    def act(self, x, act):
        if act == "relu": return self.net.Relu(x)
        if act == "relu6": return self.net.Clip(x, self.net.constant(0.0), self.net.constant(6.0))
        return x

    def start(self, x): return x
    def add(self, a, b, act=None): return self.act(self.net.Add(a, b), act)
    def pool(self, x): return self.net.GlobalAveragePool(x)

    def classify(self, x, channels, classes):
        net = self.net
        return net.Gemm(net.Flatten(x), net.weight(net.normal(classes, channels, scale=math.sqrt(1 / channels))),
                        net.weight(net.normal(classes, scale=0.01)), transB=1)


class QuantLayers(FloatLayers):
    """The same with uint8 activations, int8 weights a scale for each output channel, int32 biases."""
    STEP = 0.03  # of every activation; with 128 as zero where values have a sign, 0 after an activation

    def requantise(self, x, signed, step=STEP):
        net, zero = self.net, 128 if signed else 0
        pair = net.constant(step), net.constant(zero, np.uint8)
        return net.DequantizeLinear(net.QuantizeLinear(x, *pair), *pair)

    def quantised(self, w):
        """int8 weight with its dequantisation; returns the value and its scales."""
        scale = np.abs(w).reshape(len(w), -1).max(1) / 127
        q = np.round(w / scale.reshape(-1, *[1] * (w.ndim - 1))).astype(np.int8)
        zeros = np.zeros(len(w), np.int8)
        return self.net.DequantizeLinear(*map(self.net.weight, (q, scale, zeros)), axis=0), scale

    def conv(self, x, channels, out, k, stride=1, groups=1, act=None):
        net, fan = self.net, channels // groups * k * k
        w, scale = self.quantised(net.normal(out, channels // groups, k, k, scale=math.sqrt(2 / fan)))
        bias = net.rng.integers(-1000, 1000, out).astype(np.int32)
        b = net.DequantizeLinear(net.weight(bias), net.weight((scale * self.STEP).astype(np.float32)),
                                 net.weight(np.zeros(out, np.int32)), axis=0)
        y = net.Conv(x, w, b, kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, group=groups)
        return self.requantise(self.act(y, act), signed=act is None)

    def start(self, x): return self.requantise(x, signed=True)
    def add(self, a, b, act=None): return self.requantise(super().add(a, b, act), signed=act is None)
    def pool(self, x): return self.requantise(super().pool(x), signed=False)

    def classify(self, x, channels, classes):
        net = self.net
        w, _ = self.quantised(net.normal(classes, channels, scale=math.sqrt(1 / channels)))
        y = net.Gemm(net.Flatten(x), w, net.weight(net.normal(classes, scale=0.01)), transB=1)
        return self.requantise(y, signed=True, step=0.1)


def resnet50(net, layers):
    x = layers.conv(layers.start(net.input("x", 1, 3, 224, 224)), 3, 64, 7, stride=2, act="relu")
    x, channels = net.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride, wide = (first_stride if block == 0 else 1), 4 * width
            y = layers.conv(x, channels, width, 1, act="relu")
            y = layers.conv(y, width, width, 3, stride, act="relu")
            y = layers.conv(y, width, wide, 1)
            if block == 0: x = layers.conv(x, channels, wide, 1, stride)
            x, channels = layers.add(y, x, act="relu"), wide
    net.output(layers.classify(layers.pool(x), channels, 1000), 1, 1000)


def mobilenetv2(net, layers):
    x, channels = layers.conv(layers.start(net.input("x", 1, 3, 224, 224)), 3, 32, 3, stride=2, act="relu6"), 32
    for expand, out, blocks, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            stride, hidden = (first_stride if block == 0 else 1), channels * expand
            y = x if expand == 1 else layers.conv(x, channels, hidden, 1, act="relu6")
            y = layers.conv(y, hidden, hidden, 3, stride, groups=hidden, act="relu6")
            y = layers.conv(y, hidden, out, 1)
            x, channels = (layers.add(x, y) if stride == 1 and channels == out else y), out
    x = layers.conv(x, channels, 1280, 1, act="relu6")
    net.output(layers.classify(layers.pool(x), 1280, 1000), 1, 1000)


def resnet50_224(net): resnet50(net, FloatLayers(net))
def mobilenetv2_224(net): mobilenetv2(net, FloatLayers(net))
def resnet50_qdq_int8(net): resnet50(net, QuantLayers(net))
def mobilenetv2_qdq_int8(net): mobilenetv2(net, QuantLayers(net))


def unet_256(net):
    layers = FloatLayers(net)

    def double(x, channels, out):
        return layers.conv(layers.conv(x, channels, out, 3, act="relu"), out, out, 3, act="relu")

    x, channels, skipped = net.input("x", 1, 3, 256, 256), 3, []
    for out in (32, 64, 128, 256):
        x, channels = double(x, channels, out), out
        skipped.append((x, out))
        x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    x, channels = double(x, channels, 512), 512
    for skip, out in reversed(skipped):
        x = net.ConvTranspose(x, net.weight(net.normal(channels, out, 2, 2, scale=math.sqrt(1 / channels))),
                              net.weight(net.normal(out, scale=0.01)), kernel_shape=[2, 2], strides=[2, 2])
        x, channels = double(net.Concat(skip, x, axis=1), 2 * out, out), out
    mask = net.Conv(x, net.weight(net.normal(2, channels, 1, 1, scale=0.1)), net.weight(net.normal(2, scale=0.1)))
    net.output(net.Sigmoid(mask), 1, 2, 256, 256)


# ---- Transformers, spelled out as exporters spell them --------------------------------------------------------------
def layer_norm(net, x, width):
    centred = net.Sub(x, net.ReduceMean(x, axes=[-1]))
    variance = net.ReduceMean(net.Pow(centred, net.constant(2.0)), axes=[-1])
    y = net.Div(centred, net.Sqrt(net.Add(variance, net.constant(1e-5))))
    return net.Add(net.Mul(y, net.weight(1 + net.normal(width, scale=0.02))), net.weight(net.normal(width, scale=0.02)))


def linear(net, x, inputs, out):
    y = net.MatMul(x, net.weight(net.normal(inputs, out, scale=0.02)))
    return net.Add(y, net.weight(net.normal(out, scale=0.01)))


def gelu_erf(net, x):
    e = net.Add(net.Erf(net.Div(x, net.constant(math.sqrt(2)))), net.constant(1.0))
    return net.Mul(net.Mul(x, e), net.constant(0.5))


def gelu_tanh(net, x):
    cube = net.Mul(net.Pow(x, net.constant(3.0)), net.constant(0.044715))
    t = net.Tanh(net.Mul(net.Add(x, cube), net.constant(math.sqrt(2 / math.pi))))
    return net.Mul(net.Mul(x, net.Add(t, net.constant(1.0))), net.constant(0.5))


def to_heads(net, x, steps, heads, depth):
    return net.Transpose(net.Reshape(x, net.constant([1, steps, heads, depth], np.int64)), perm=[0, 2, 1, 3])


def from_heads(net, x, steps, width):
    return net.Reshape(net.Transpose(x, perm=[0, 2, 1, 3]), net.constant([1, steps, width], np.int64))


def bert_base_4l_s128(net, steps=128, width=768, heads=12):
    """Four encoder layers: biased projections, additive mask, normalisation after each residual."""
    depth = width // heads
    x, mask = net.input("x", 1, steps, width), net.input("mask", 1, 1, 1, steps)
    for _ in range(4):
        q, k, v = (to_heads(net, linear(net, x, width, width), steps, heads, depth) for _ in range(3))
        scores = net.Div(net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])), net.constant(math.sqrt(depth)))
        attended = net.MatMul(net.Softmax(net.Add(scores, mask), axis=-1), v)
        y = linear(net, from_heads(net, attended, steps, width), width, width)
        x = layer_norm(net, net.Add(y, x), width)
        y = linear(net, gelu_erf(net, linear(net, x, width, 4 * width)), 4 * width, width)
        x = layer_norm(net, net.Add(y, x), width)
    net.output(x, 1, steps, width)


def gpt2(net, steps, past, width=768, heads=12):
    """Four decoder layers: joint projection as a Gemm, causal mask or a cache of `past` steps, normalisation first."""
    depth = width // heads
    x = net.input("x", 1, steps, width)
    for layer in range(4):
        flat = net.Reshape(layer_norm(net, x, width), net.constant([-1, width], np.int64))
        joint = net.Gemm(flat, net.weight(net.normal(width, 3 * width, scale=0.02)), net.weight(net.normal(3 * width, scale=0.01)))
        joint = net.Reshape(joint, net.constant([1, steps, 3 * width], np.int64))
        parts = net.Split(joint, net.constant([width] * 3, np.int64), outputs=3, axis=2)
        q, k, v = (to_heads(net, part, steps, heads, depth) for part in parts)
        if past:
            k = net.Concat(net.input(f"past_key_{layer}", 1, heads, past, depth), k, axis=2)
            v = net.Concat(net.input(f"past_value_{layer}", 1, heads, past, depth), v, axis=2)
            for cache in (k, v): net.output(cache, 1, heads, past + steps, depth)
        scores = net.Div(net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])), net.constant(math.sqrt(depth)))
        if steps > 1:
            seen = np.tril(np.ones((1, 1, steps, steps), bool))
            scores = net.Where(net.constant(seen, bool), scores, net.constant(-1e4))
        attended = net.MatMul(net.Softmax(scores, axis=-1), v)
        x = net.Add(x, linear(net, from_heads(net, attended, steps, width), width, width))
        y = gelu_tanh(net, linear(net, layer_norm(net, x, width), width, 4 * width))
        x = net.Add(x, linear(net, y, 4 * width, width))
    net.output(x, 1, steps, width)


def gpt2_4l_cache(net, width=768, heads=12, words=1000):
    """Four decoder layers as they are exported with a cache: tokens of any number behind any number, logits and the cache.

    nnex bench --decode 64 carries present.* into past_key_values.*.
    """
    depth = width // heads

    def port(listed, name, kind, *dims): listed.append(helper.make_tensor_value_info(name, kind, dims))
    for name in ("input_ids", "position_ids"): port(net.inputs, name, TensorProto.INT64, 1, "sequence")
    net.data += [numpy_helper.from_array(np.arange(4, dtype=np.int64).reshape(1, 4), name) for name in ("input_ids", "position_ids")]
    x = net.Add(net.Gather(net.weight(net.normal(words, width, scale=0.1)), "input_ids"),
                net.Gather(net.weight(net.normal(1024, width, scale=0.1)), "position_ids"))
    own = net.Unsqueeze("position_ids", net.constant([1, 3], np.int64))
    seen = None
    for layer in range(4):
        joint = linear(net, layer_norm(net, x, width), width, 3 * width)
        parts = net.Split(joint, net.constant([width] * 3, np.int64), outputs=3, axis=2)
        q, k, v = (net.Transpose(net.Reshape(p, net.constant([1, -1, heads, depth], np.int64)), perm=[0, 2, 1, 3]) for p in parts)
        caches = []
        for kind, part in (("key", k), ("value", v)):
            name = f"past_key_values.{layer}.{kind}"
            port(net.inputs, name, TensorProto.FLOAT, 1, heads, "past", depth)
            net.data.append(numpy_helper.from_array(np.zeros((1, heads, 0, depth), np.float32), name))
            caches.append(net.Identity(net.Concat(name, part, axis=2)))
            net.nodes[-1].output[0] = caches[-1] = f"present.{layer}.{kind}"
            port(net.outputs, caches[-1], TensorProto.FLOAT, 1, heads, "past + sequence", depth)
        k, v = caches
        if seen is None:  # a token sees those up to its own position
            steps = net.Range(net.constant(0, np.int64), net.Squeeze(net.Slice(net.Shape(k), *(net.constant([n], np.int64) for n in (2, 3)))),
                              net.constant(1, np.int64))
            seen = net.LessOrEqual(steps, own)
        scores = net.Div(net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])), net.constant(math.sqrt(depth)))
        scores = net.Where(seen, scores, net.constant(-1e4))
        y = net.Reshape(net.Transpose(net.MatMul(net.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3]), net.constant([1, -1, width], np.int64))
        x = net.Add(x, linear(net, y, width, width))
        x = net.Add(x, linear(net, gelu_tanh(net, linear(net, layer_norm(net, x, width), width, 4 * width)), 4 * width, width))
    net.output(linear(net, layer_norm(net, x, width), width, words), 1, "sequence", words)


def gpt2_4l_s128_past0(net): gpt2(net, 128, 0)
def gpt2_4l_s1_past511(net): gpt2(net, 1, 511)


# ---- Recurrent, small, long --------------------------------------------------------------------------------------------
def lstm2_gru_s64(net, steps=64):
    def layer(op, x, inputs, hidden, directions=1, **attributes):
        gates = 4 if op == "LSTM" else 3
        weights = [net.normal(directions, gates * hidden, inputs, scale=0.04),
                   net.normal(directions, gates * hidden, hidden, scale=0.04),
                   net.normal(directions, 2 * gates * hidden, scale=0.01)]
        y = getattr(net, op)(x, *map(net.weight, weights), hidden_size=hidden,
                             direction="bidirectional" if directions == 2 else "forward", **attributes)
        return net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), net.constant([steps, 1, directions * hidden], np.int64))

    x = layer("LSTM", net.input("x", steps, 1, 256), 256, 512)
    x = layer("GRU", layer("LSTM", x, 512, 512), 512, 256, directions=2, linear_before_reset=1)
    net.output(x, steps, 1, 512)


def mlp_tiny(net):
    x, inputs = net.input("x", 1, 32), 32
    for out in (64, 64, 32, 8):
        w, b = net.normal(out, inputs, scale=math.sqrt(2 / inputs)), net.normal(out, scale=0.1)
        x, inputs = net.Relu(net.Gemm(x, net.weight(w), net.weight(b), transB=1)), out
    net.output(x, 1, 8)


def chain_add_200(net):
    """Additions of a row and negations in turn: what a node costs when there is next to nothing to compute."""
    x = net.input("x", 1, 16)
    for i in range(100): x = net.Neg(net.Add(x, net.weight(net.normal(1, 16, scale=0.1))))
    net.output(x, 1, 16)


NETWORKS = [resnet50_224, mobilenetv2_224, resnet50_qdq_int8, mobilenetv2_qdq_int8, unet_256, bert_base_4l_s128,
            gpt2_4l_s128_past0, gpt2_4l_s1_past511, gpt2_4l_cache, lstm2_gru_s64, mlp_tiny, chain_add_200]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"): sys.exit(__doc__)
    known = {f.__name__: f for f in NETWORKS}
    for name in sys.argv[2:] or known:
        if name not in known: sys.exit(f"no network is called {name}; there are {', '.join(known)}")
        net = Net(name, opset=17)
        known[name](net)
        net.save(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
