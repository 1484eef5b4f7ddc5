"""Writes small versions of the architectures people export today, as make_models.py writes its networks.

    python3 bench/make_modern.py OUTPUT [--half] [NAME...]

--half writes them in float16, but bert_dynamic_int8, which has types of its own. Widths and the kinds of layers are the real ones; there are fewer of them. Spelled out as exporters of opset 17 do.
"""
import math
import sys
from pathlib import Path

import numpy as np

from make_models import FloatLayers, Net, QuantLayers, gelu_erf, layer_norm, linear


def ints(net, *values): return net.constant(list(values), np.int64)


class Layers(FloatLayers):
    """Convolutions with the activations of later networks; batch normalisation is folded, as exporters fold it."""

    def conv(self, x, channels, out, k, stride=1, groups=1, act=None, pad=None, dilation=1):
        net, fan, k = self.net, channels // groups * k * k if isinstance(k, int) else channels // groups * math.prod(k), (k, k) if isinstance(k, int) else k
        pad = [n // 2 * dilation for n in k] if pad is None else [pad] * len(k)
        y = net.Conv(x, net.weight(net.normal(out, channels // groups, *k, scale=math.sqrt(1.5 / fan))), net.weight(net.normal(out, scale=0.05)),
                     kernel_shape=list(k), strides=[stride] * len(k), pads=pad * 2, group=groups, dilations=[dilation] * len(k))
        return self.act(y, act)

    def act(self, x, act):
        net = self.net
        if act == "silu": return net.Mul(x, net.Sigmoid(x))
        if act == "hardswish": return net.Mul(x, net.HardSigmoid(x, alpha=1 / 6))
        if act == "leaky": return net.LeakyRelu(x, alpha=0.1)
        if act == "gelu": return gelu_erf(net, x)
        if act == "sigmoid": return net.Sigmoid(x)
        if act == "hardsigmoid": return net.HardSigmoid(x, alpha=1 / 6)
        return super().act(x, act)

    def squeeze(self, x, channels, reduced, inner, outer):
        """Squeeze and excitation."""
        y = self.conv(self.net.ReduceMean(x, axes=[2, 3], keepdims=1), channels, reduced, 1, act=inner)
        return self.net.Mul(x, self.conv(y, reduced, channels, 1, act=outer))


# ---- Images ----------------------------------------------------------------------------------------------------------
def yolo(net, layers, size=320):
    """Cross-stage blocks, pyramid up and down, heads whose boxes are expectations over 16 bins (YOLOv8, its smallest widths)."""
    def bottlenecks(x, channels, out, n, residual=True):
        half = out // 2
        parts = list(net.Split(layers.conv(x, channels, out, 1, act="silu"), ints(net, half, half), outputs=2, axis=1))
        for _ in range(n):
            y = layers.conv(layers.conv(parts[-1], half, half, 3, act="silu"), half, half, 3, act="silu")
            parts.append(layers.add(parts[-1], y) if residual else y)
        return layers.conv(net.Concat(*parts, axis=1), half * len(parts), out, 1, act="silu")

    x = layers.conv(layers.start(net.input("images", 1, 3, size, size)), 3, 16, 3, 2, act="silu")
    x = bottlenecks(layers.conv(x, 16, 32, 3, 2, act="silu"), 32, 32, 1)
    p3 = bottlenecks(layers.conv(x, 32, 64, 3, 2, act="silu"), 64, 64, 2)
    p4 = bottlenecks(layers.conv(p3, 64, 128, 3, 2, act="silu"), 128, 128, 2)
    x = bottlenecks(layers.conv(p4, 128, 256, 3, 2, act="silu"), 256, 256, 1)
    pools = [layers.conv(x, 256, 128, 1, act="silu")]
    for _ in range(3): pools.append(net.MaxPool(pools[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    p5 = layers.conv(net.Concat(*pools, axis=1), 512, 256, 1, act="silu")

    def up(x): return net.Resize(x, "", net.constant([1.0, 1.0, 2.0, 2.0]), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    n4 = bottlenecks(net.Concat(up(p5), p4, axis=1), 384, 128, 1, False)
    n3 = bottlenecks(net.Concat(up(n4), p3, axis=1), 192, 64, 1, False)
    m4 = bottlenecks(net.Concat(layers.conv(n3, 64, 64, 3, 2, act="silu"), n4, axis=1), 192, 128, 1, False)
    m5 = bottlenecks(net.Concat(layers.conv(m4, 128, 128, 3, 2, act="silu"), p5, axis=1), 384, 256, 1, False)
    heads, count = [], 0
    for x, channels, n in ((n3, 64, size // 8), (m4, 128, size // 16), (m5, 256, size // 32)):
        boxes = layers.conv(layers.conv(layers.conv(x, channels, 64, 3, act="silu"), 64, 64, 3, act="silu"), 64, 64, 1)
        classes = layers.conv(layers.conv(layers.conv(x, channels, 80, 3, act="silu"), 80, 80, 3, act="silu"), 80, 80, 1)
        heads.append(net.Reshape(net.Concat(boxes, classes, axis=1), ints(net, 1, 144, -1)))
        count += n * n
    boxes, classes = net.Split(net.Concat(*heads, axis=2), ints(net, 64, 80), outputs=2, axis=1)
    bins = net.Softmax(net.Transpose(net.Reshape(boxes, ints(net, 1, 4, 16, count)), perm=[0, 2, 1, 3]), axis=1)
    sides = net.Reshape(net.Conv(bins, net.weight(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1)), kernel_shape=[1, 1]), ints(net, 1, 4, count))
    near, far = (net.Slice(sides, ints(net, a), ints(net, b), ints(net, 1)) for a, b in ((0, 2), (2, 4)))
    grid = net.weight(net.normal(1, 2, count, scale=10))
    near, far = net.Sub(grid, near), net.Add(grid, far)
    box = net.Mul(net.Concat(net.Div(net.Add(near, far), net.constant(2.0)), net.Sub(far, near), axis=1), net.weight(np.full((1, count), 8, np.float32)))
    net.output(net.Concat(box, net.Sigmoid(classes), axis=1), 1, 84, count)


def yolo_320(net): yolo(net, Layers(net))


def efficientnet_b0_224(net):
    layers = Layers(net)
    x, channels = layers.conv(net.input("x", 1, 3, 224, 224), 3, 32, 3, 2, act="silu"), 32
    for expand, out, k, blocks, first in ((1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 40, 5, 2, 2), (6, 80, 3, 3, 2), (6, 112, 5, 3, 1), (6, 192, 5, 4, 2), (6, 320, 3, 1, 1)):
        for block in range(blocks):
            stride, hidden = (first if block == 0 else 1), channels * expand
            y = x if expand == 1 else layers.conv(x, channels, hidden, 1, act="silu")
            y = layers.conv(y, hidden, hidden, k, stride, groups=hidden, act="silu")
            y = layers.conv(layers.squeeze(y, hidden, channels // 4, "silu", "sigmoid"), hidden, out, 1)
            x, channels = (net.Add(y, x) if stride == 1 and channels == out else y), out
    net.output(layers.classify(layers.pool(layers.conv(x, 320, 1280, 1, act="silu")), 1280, 1000), 1, 1000)


def mobilenetv3_small_224(net):
    layers = Layers(net)
    x, channels = layers.conv(net.input("x", 1, 3, 224, 224), 3, 16, 3, 2, act="hardswish"), 16
    for k, hidden, out, squeezes, act, stride in ((3, 16, 16, 1, "relu", 2), (3, 72, 24, 0, "relu", 2), (3, 88, 24, 0, "relu", 1), (5, 96, 40, 1, "hardswish", 2),
                                                  (5, 240, 40, 1, "hardswish", 1), (5, 120, 48, 1, "hardswish", 1), (5, 288, 96, 1, "hardswish", 2), (5, 576, 96, 1, "hardswish", 1)):
        y = layers.conv(layers.conv(x, channels, hidden, 1, act=act), hidden, hidden, k, stride, groups=hidden, act=act)
        if squeezes: y = layers.squeeze(y, hidden, (hidden // 4 + 7) // 8 * 8, "relu", "hardsigmoid")
        y = layers.conv(y, hidden, out, 1)
        x, channels = (net.Add(x, y) if stride == 1 and channels == out else y), out
    y = net.Flatten(layers.pool(layers.conv(x, 96, 576, 1, act="hardswish")))
    y = layers.act(net.Gemm(y, net.weight(net.normal(1024, 576, scale=0.04)), net.weight(net.normal(1024, scale=0.01)), transB=1), "hardswish")
    net.output(layers.classify(y, 1024, 1000), 1, 1000)


def regnety_400mf_224(net):
    """Groups of 8 channels, squeeze and excitation."""
    layers = Layers(net)
    x, channels = layers.conv(net.input("x", 1, 3, 224, 224), 3, 32, 3, 2, act="relu"), 32
    for out, blocks in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for block in range(blocks):
            stride = 2 if block == 0 else 1
            y = layers.conv(layers.conv(x, channels, out, 1, act="relu"), out, out, 3, stride, groups=out // 8, act="relu")
            y = layers.conv(layers.squeeze(y, out, max(8, channels // 4), "relu", "sigmoid"), out, out, 1)
            x, channels = layers.add(y, layers.conv(x, channels, out, 1, stride) if block == 0 else x, act="relu"), out
    net.output(layers.classify(layers.pool(x), channels, 1000), 1, 1000)


def norm(net, x, width): return net.LayerNormalization(x, net.weight(1 + net.normal(width, scale=0.02)), net.weight(net.normal(width, scale=0.02)), axis=-1, epsilon=1e-6)


def convnext_224(net):
    layers = Layers(net)
    x, channels = layers.conv(net.input("x", 1, 3, 224, 224), 3, 96, 4, 4, pad=0), 96
    for out, blocks in ((96, 2), (192, 2), (384, 3), (768, 1)):
        if out != channels:
            y = net.Transpose(norm(net, net.Transpose(x, perm=[0, 2, 3, 1]), channels), perm=[0, 3, 1, 2])
            x, channels = layers.conv(y, channels, out, 2, 2, pad=0), out
        for _ in range(blocks):
            y = norm(net, net.Transpose(layers.conv(x, out, out, 7, groups=out), perm=[0, 2, 3, 1]), out)
            y = net.Mul(linear(net, gelu_erf(net, linear(net, y, out, 4 * out)), 4 * out, out), net.weight(net.normal(out, scale=0.1)))
            x = net.Add(x, net.Transpose(y, perm=[0, 3, 1, 2]))
    net.output(layers.classify(layers.pool(x), channels, 1000), 1, 1000)


def attend(net, q, k, v, depth, bias=None):
    """[batch, heads, steps, depth]; scores as exporters of scaled_dot_product_attention write them."""
    root = net.constant(math.sqrt(math.sqrt(1 / depth)))
    scores = net.MatMul(net.Mul(q, root), net.Mul(net.Transpose(k, perm=[0, 1, 3, 2]), root))
    return net.MatMul(net.Softmax(net.Add(scores, bias) if bias else scores, axis=-1), v)


def self_attention(net, x, batch, steps, width, heads, bias=None):
    """One projection to queries, keys and values."""
    joint = net.Reshape(linear(net, x, width, 3 * width), ints(net, batch, steps, 3, heads, width // heads))
    joint = net.Transpose(joint, perm=[2, 0, 3, 1, 4])
    q, k, v = (net.Gather(joint, net.constant(i, np.int64), axis=0) for i in range(3))
    y = net.Reshape(net.Transpose(attend(net, q, k, v, width // heads, bias), perm=[0, 2, 1, 3]), ints(net, batch, steps, width))
    return linear(net, y, width, width)


def encoder(net, x, batch, steps, width, heads, hidden):
    x = net.Add(x, self_attention(net, norm(net, x, width), batch, steps, width, heads))
    return net.Add(x, linear(net, gelu_erf(net, linear(net, norm(net, x, width), width, hidden)), hidden, width))


def vit_small_224(net, width=384):
    x = Layers(net).conv(net.input("x", 1, 3, 224, 224), 3, width, 16, 16, pad=0)
    x = net.Transpose(net.Reshape(x, ints(net, 1, width, 196)), perm=[0, 2, 1])
    x = net.Add(net.Concat(net.weight(net.normal(1, 1, width, scale=0.02)), x, axis=1), net.weight(net.normal(1, 197, width, scale=0.02)))
    for _ in range(4): x = encoder(net, x, 1, 197, width, 6, 4 * width)
    x = net.Gather(norm(net, x, width), net.constant(0, np.int64), axis=1)
    net.output(net.Gemm(x, net.weight(net.normal(1000, width, scale=0.02)), net.weight(net.normal(1000, scale=0.01)), transB=1), 1, 1000)


def swin_224(net):
    """Windows of 7 x 7, shifted every other time, with biases of relative places and masks."""
    layers = Layers(net)
    x = layers.conv(net.input("x", 1, 3, 224, 224), 3, 96, 4, 4, pad=0)
    x = norm(net, net.Transpose(x, perm=[0, 2, 3, 1]), 96)

    def roll(x, by, side):
        for axis in (1, 2):
            a, b = (by, side) if by > 0 else (side + by, side)
            parts = [net.Slice(x, ints(net, s), ints(net, e), ints(net, axis)) for s, e in ((a, b), (0, a))]
            x = net.Concat(*parts, axis=axis)
        return x

    for stage, (width, heads, side) in enumerate(((96, 3, 56), (192, 6, 28), (384, 12, 14))):
        n = side // 7
        for shifted in (False, True):
            y = norm(net, x, width)
            if shifted: y = roll(y, 3, side)
            y = net.Transpose(net.Reshape(y, ints(net, 1, n, 7, n, 7, width)), perm=[0, 1, 3, 2, 4, 5])
            y = net.Reshape(y, ints(net, n * n, 49, width))
            bias = net.normal(1, heads, 49, 49, scale=0.1)
            if shifted: bias = bias + np.where(net.rng.random((n * n, 1, 49, 49)) < 0.1, np.float32(-100), np.float32(0))
            y = self_attention(net, y, n * n, 49, width, heads, net.weight(bias.astype(np.float32)))
            y = net.Transpose(net.Reshape(y, ints(net, 1, n, n, 7, 7, width)), perm=[0, 1, 3, 2, 4, 5])
            y = net.Reshape(y, ints(net, 1, side, side, width))
            if shifted: y = roll(y, -3, side)
            x = net.Add(x, y)
            x = net.Add(x, linear(net, gelu_erf(net, linear(net, norm(net, x, width), width, 4 * width)), 4 * width, width))
        if stage < 2:
            parts = [net.Slice(x, ints(net, i, j), ints(net, side, side), ints(net, 1, 2), ints(net, 2, 2)) for j in (0, 1) for i in (0, 1)]
            y = norm(net, net.Concat(*parts, axis=3), 4 * width)
            x = net.MatMul(y, net.weight(net.normal(4 * width, 2 * width, scale=0.02)))
    x = net.ReduceMean(norm(net, x, 384), axes=[1, 2], keepdims=0)
    net.output(net.Gemm(x, net.weight(net.normal(1000, 384, scale=0.02)), net.weight(net.normal(1000, scale=0.01)), transB=1), 1, 1000)


def deeplab_256(net):
    """Dilated convolutions side by side, a pooled branch, bilinear enlargement."""
    layers = Layers(net)
    x, channels, low = layers.conv(net.input("x", 1, 3, 256, 256), 3, 32, 3, 2, act="relu6"), 32, None
    for expand, out, blocks, stride, dilation in ((1, 16, 1, 1, 1), (6, 24, 2, 2, 1), (6, 32, 3, 2, 1), (6, 64, 2, 1, 2), (6, 96, 2, 1, 2)):
        for block in range(blocks):
            hidden, step = channels * expand, stride if block == 0 else 1
            y = layers.conv(x, channels, hidden, 1, act="relu6")
            y = layers.conv(layers.conv(y, hidden, hidden, 3, step, groups=hidden, act="relu6", dilation=dilation), hidden, out, 1)
            x, channels = (net.Add(x, y) if step == 1 and channels == out else y), out
        if out == 24: low = x
    branches = [layers.conv(x, 96, 128, 1, act="relu")] + [layers.conv(x, 96, 128, 3, act="relu", dilation=d) for d in (6, 12, 18)]
    pooled = layers.conv(layers.pool(x), 96, 128, 1, act="relu")

    def enlarge(x, channels, side): return net.Resize(x, "", "", ints(net, 1, channels, side, side), mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    x = layers.conv(net.Concat(*branches, enlarge(pooled, 128, 32), axis=1), 640, 128, 1, act="relu")
    x = net.Concat(enlarge(x, 128, 64), layers.conv(low, 24, 48, 1, act="relu"), axis=1)
    x = layers.conv(layers.conv(x, 176, 128, 3, act="relu"), 128, 21, 1)
    net.output(net.Softmax(enlarge(x, 21, 256), axis=1), 1, 21, 256, 256)


def style_256(net):
    """Reflected borders, instance normalisation, enlargement before convolution (fast style transfer)."""
    def conv(x, channels, out, k, stride=1, normed=True):
        p = k // 2
        x = net.Pad(x, ints(net, 0, 0, p, p, 0, 0, p, p), mode="reflect")
        x = Layers(net).conv(x, channels, out, k, stride, pad=0)
        return net.InstanceNormalization(x, net.weight(1 + net.normal(out, scale=0.1)), net.weight(net.normal(out, scale=0.1))) if normed else x
    x = net.Relu(conv(net.input("x", 1, 3, 256, 256), 3, 32, 9))
    x = net.Relu(conv(net.Relu(conv(x, 32, 64, 3, 2)), 64, 128, 3, 2))
    for _ in range(3): x = net.Add(conv(net.Relu(conv(x, 128, 128, 3)), 128, 128, 3), x)
    for channels in (128, 64):
        x = net.Resize(x, "", net.constant([1.0, 1.0, 2.0, 2.0]), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = net.Relu(conv(x, channels, channels // 2, 3))
    net.output(conv(x, 32, 3, 9, normed=False), 1, 3, 256, 256)


def edsr_128(net):
    """Super-resolution: residual blocks without normalisation, pixels out of channels."""
    layers = Layers(net)
    x = first = layers.conv(net.input("x", 1, 3, 128, 128), 3, 64, 3)
    for _ in range(4):
        y = layers.conv(layers.conv(x, 64, 64, 3, act="relu"), 64, 64, 3)
        x = net.Add(x, net.Mul(y, net.constant(0.1)))
    x = net.Add(layers.conv(x, 64, 64, 3), first)
    x = net.DepthToSpace(layers.conv(x, 64, 256, 3), blocksize=2, mode="CRD")
    net.output(layers.conv(x, 64, 3, 3), 1, 3, 256, 256)


def group_norm(net, x, channels, groups, *extents):
    y = net.InstanceNormalization(net.Reshape(x, ints(net, 0, groups, -1)), net.weight(np.ones(groups, np.float32)), net.weight(np.zeros(groups, np.float32)), epsilon=1e-5)
    y = net.Reshape(y, ints(net, 1, channels, *extents))
    shape = (channels,) + (1,) * len(extents)
    return net.Add(net.Mul(y, net.weight(1 + net.normal(*shape, scale=0.1))), net.weight(net.normal(*shape, scale=0.1)))


def diffusion_32(net):
    """Two levels of a latent diffusion model's U-Net: time embedding, group normalisation, self and cross attention."""
    layers = Layers(net)
    time = linear(net, layers.act(linear(net, net.input("time", 1, 128), 128, 512), "silu"), 512, 512)
    text = net.input("text", 1, 77, 512)

    def residual(x, channels, out, side):
        y = layers.conv(layers.act(group_norm(net, x, channels, 32, side, side), "silu"), channels, out, 3)
        t = linear(net, layers.act(time, "silu"), 512, out)
        y = net.Add(y, net.Unsqueeze(net.Unsqueeze(t, ints(net, 2)), ints(net, 3)))
        y = layers.conv(layers.act(group_norm(net, y, out, 32, side, side), "silu"), out, out, 3)
        return net.Add(y, x if channels == out else layers.conv(x, channels, out, 1))

    def heads(x, steps, width): return net.Transpose(net.Reshape(x, ints(net, 1, steps, 8, width // 8)), perm=[0, 2, 1, 3])

    def attention(x, context, inner, steps, seen, width):
        q, k, v = (net.MatMul(a, net.weight(net.normal(n, width, scale=0.04))) for a, n in ((x, width), (context, inner), (context, inner)))
        y = attend(net, heads(q, steps, width), heads(k, seen, width), heads(v, seen, width), width // 8)
        return linear(net, net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), ints(net, 1, steps, width)), width, width)

    def transformer(x, width, side):
        steps, rest = side * side, x
        x = layers.conv(group_norm(net, x, width, 32, side, side), width, width, 1)
        x = net.Reshape(net.Transpose(x, perm=[0, 2, 3, 1]), ints(net, 1, steps, width))
        y = norm(net, x, width)
        x = net.Add(attention(y, y, width, steps, steps, width), x)
        x = net.Add(attention(norm(net, x, width), text, 512, steps, 77, width), x)
        a, gate = net.Split(linear(net, norm(net, x, width), width, 8 * width), ints(net, 4 * width, 4 * width), outputs=2, axis=-1)
        x = net.Add(linear(net, net.Mul(a, gelu_erf(net, gate)), 4 * width, width), x)
        x = net.Transpose(net.Reshape(x, ints(net, 1, side, side, width)), perm=[0, 3, 1, 2])
        return net.Add(layers.conv(x, width, width, 1), rest)

    x = layers.conv(net.input("x", 1, 4, 32, 32), 4, 128, 3)
    skip = x = transformer(residual(x, 128, 128, 32), 128, 32)
    x = transformer(residual(layers.conv(x, 128, 128, 3, 2), 128, 256, 16), 256, 16)
    x = net.Resize(x, "", net.constant([1.0, 1.0, 2.0, 2.0]), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = residual(net.Concat(layers.conv(x, 256, 256, 3), skip, axis=1), 384, 128, 32)
    net.output(layers.conv(layers.act(group_norm(net, x, 128, 32, 32, 32), "silu"), 128, 4, 3), 1, 4, 32, 32)


def resnet3d_8x112(net):
    layers = Layers(net)
    x, channels = layers.conv(net.input("x", 1, 3, 8, 112, 112), 3, 32, (3, 7, 7), 2, act="relu"), 32
    for out, stride in ((32, 1), (64, 2), (128, 2)):
        y = layers.conv(layers.conv(x, channels, out, (3, 3, 3), stride, act="relu"), out, out, (3, 3, 3))
        x, channels = layers.add(y, layers.conv(x, channels, out, (1, 1, 1), stride) if out != channels else x, act="relu"), out
    net.output(layers.classify(layers.pool(x), channels, 400), 1, 400)


# ---- Sound -----------------------------------------------------------------------------------------------------------
def whisper_encoder(net, steps=500, width=384):
    layers = Layers(net)
    x = layers.conv(net.input("mel", 1, 80, 2 * steps), 80, width, (3,), act="gelu")
    x = net.Transpose(layers.conv(x, width, width, (3,), 2, act="gelu"), perm=[0, 2, 1])
    x = net.Add(x, net.weight(net.normal(steps, width, scale=0.1)))
    for _ in range(3): x = encoder(net, x, 1, steps, width, 6, 4 * width)
    net.output(norm(net, x, width), 1, steps, width)


def wav2vec2_1s(net, width=384):
    """Convolutions over 16,000 samples, a grouped one for places, two encoder layers."""
    layers = Layers(net)
    x, channels, n = net.input("sound", 1, 1, 16000), 1, 16000
    for i, (k, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))):
        x, channels, n = layers.conv(x, channels, 256, (k,), stride, pad=0), 256, (n - k) // stride + 1
        if i == 0: x = net.InstanceNormalization(x, net.weight(np.ones(256, np.float32)), net.weight(np.zeros(256, np.float32)))
        x = layers.act(x, "gelu")
    x = linear(net, norm(net, net.Transpose(x, perm=[0, 2, 1]), 256), 256, width)
    y = layers.conv(net.Transpose(x, perm=[0, 2, 1]), width, width, (128,), groups=16)
    y = net.Slice(y, ints(net, 0), ints(net, -1), ints(net, 2))
    x = net.Add(x, net.Transpose(layers.act(y, "gelu"), perm=[0, 2, 1]))
    for _ in range(2): x = encoder(net, norm(net, x, width), 1, n, width, 6, 4 * width)
    net.output(linear(net, x, width, 32), 1, n, 32)


def conv_tasnet(net, steps=800):
    """Dilated depthwise convolutions over time, PRelu, normalisation over channels and time."""
    layers = Layers(net)
    x = net.Relu(layers.conv(net.input("sound", 1, 1, 8 * steps + 8), 1, 256, (16,), 8, pad=0))
    encoded, n = x, (8 * steps + 8 - 16) // 8 + 1

    def global_norm(x, channels):
        centred = net.Sub(x, net.ReduceMean(x, axes=[1, 2], keepdims=1))
        variance = net.ReduceMean(net.Mul(centred, centred), axes=[1, 2], keepdims=1)
        y = net.Div(centred, net.Sqrt(net.Add(variance, net.constant(1e-8))))
        return net.Add(net.Mul(y, net.weight(1 + net.normal(channels, 1, scale=0.1))), net.weight(net.normal(channels, 1, scale=0.1)))
    x, skipped = layers.conv(global_norm(x, 256), 256, 128, (1,)), None
    for dilation in (1, 2, 4, 8, 16, 32):
        y = global_norm(net.PRelu(layers.conv(x, 128, 256, (1,)), net.constant([[0.25]])), 256)
        y = layers.conv(y, 256, 256, (3,), groups=256, dilation=dilation)
        y = global_norm(net.PRelu(y, net.constant([[0.25]])), 256)
        out = layers.conv(y, 256, 128, (1,))
        skipped = net.Add(skipped, out) if skipped else out
        x = net.Add(x, layers.conv(y, 256, 128, (1,)))
    masks = net.Sigmoid(layers.conv(net.PRelu(skipped, net.constant([[0.25]])), 128, 512, (1,)))
    masked = net.Mul(net.Reshape(masks, ints(net, 2, 256, n)), encoded)
    y = net.ConvTranspose(masked, net.weight(net.normal(256, 1, 16, scale=0.06)), kernel_shape=[16], strides=[8])
    net.output(y, 2, 1, 8 * (n - 1) + 16)


# ---- Text ------------------------------------------------------------------------------------------------------------
def llama(net, steps, past, width=768, heads=12, groups=4):
    """Three decoder layers: root mean square normalisation, rotated places, fewer heads of keys, gated feed-forward."""
    depth, hidden = width // heads, 2048

    def rms(x):
        mean = net.ReduceMean(net.Pow(x, net.constant(2.0)), axes=[-1])
        return net.Mul(net.weight(1 + net.normal(width, scale=0.02)), net.Mul(x, net.Reciprocal(net.Sqrt(net.Add(mean, net.constant(1e-5))))))

    def project(x, out): return net.MatMul(x, net.weight(net.normal(width, out, scale=0.02)))
    cos, sin = (net.weight(f(np.outer(np.arange(past, past + steps), np.tile(1e4 ** -(np.arange(depth // 2) / (depth // 2)), 2))).astype(np.float32)) for f in (np.cos, np.sin))

    def rotated(x):
        low = net.Slice(x, ints(net, 0), ints(net, depth // 2), ints(net, 3))
        high = net.Slice(x, ints(net, depth // 2), ints(net, 2**63 - 1), ints(net, 3))
        return net.Add(net.Mul(x, cos), net.Mul(net.Concat(net.Neg(high), low, axis=-1), sin))

    def split(x, n): return net.Transpose(net.Reshape(x, ints(net, 1, steps, n, depth)), perm=[0, 2, 1, 3])

    def repeated(x, total):
        y = net.Expand(net.Unsqueeze(x, ints(net, 2)), ints(net, 1, groups, heads // groups, total, depth))
        return net.Reshape(y, ints(net, 1, heads, total, depth))
    x, total = net.input("x", 1, steps, width), past + steps
    mask = net.weight(np.triu(np.full((1, 1, steps, total), np.finfo(np.float32).min, np.float32), past + 1)) if steps > 1 else None
    for layer in range(3):
        y = rms(x)
        q, k, v = rotated(split(project(y, width), heads)), rotated(split(project(y, groups * depth), groups)), split(project(y, groups * depth), groups)
        if past:
            k, v = (net.Concat(net.input(f"past_{name}_{layer}", 1, groups, past, depth), part, axis=2) for name, part in (("key", k), ("value", v)))
            for cache in (k, v): net.output(cache, 1, groups, total, depth)
        scores = net.Div(net.MatMul(q, net.Transpose(repeated(k, total), perm=[0, 1, 3, 2])), net.constant(math.sqrt(depth)))
        y = net.MatMul(net.Softmax(net.Add(scores, mask) if mask else scores, axis=-1), repeated(v, total))
        x = net.Add(x, project(net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), ints(net, 1, steps, width)), width))
        y = rms(x)
        gate = project(y, hidden)
        y = net.Mul(net.Mul(gate, net.Sigmoid(gate)), project(y, hidden))
        x = net.Add(x, net.MatMul(y, net.weight(net.normal(hidden, width, scale=0.02))))
    net.output(rms(x), 1, steps, width)


def llama_s128(net): llama(net, 128, 0)
def llama_s1_past511(net): llama(net, 1, 511)


def bert_dynamic_int8(net, steps=128, width=384, heads=12):
    """Products of bytes whose scale is found at every run."""
    def product(x, inputs, out):
        w = net.normal(inputs, out, scale=0.05)
        scale = np.float32(np.abs(w).max() / 127)
        q, by, zero = net.DynamicQuantizeLinear(x, outputs=3)
        y = net.MatMulInteger(q, net.weight(np.round(w / scale).astype(np.int8)), zero, net.constant(0, np.int8))
        y = net.Mul(net.Cast(y, to=1), net.Mul(by, net.constant(scale)))
        return net.Add(y, net.weight(net.normal(out, scale=0.01)))
    x, depth = net.input("x", 1, steps, width), width // heads
    for _ in range(3):
        q, k, v = (net.Transpose(net.Reshape(product(x, width, width), ints(net, 1, steps, heads, depth)), perm=[0, 2, 1, 3]) for _ in range(3))
        y = net.Reshape(net.Transpose(attend(net, q, k, v, depth), perm=[0, 2, 1, 3]), ints(net, 1, steps, width))
        x = layer_norm(net, net.Add(product(y, width, width), x), width)
        x = layer_norm(net, net.Add(product(gelu_erf(net, product(x, width, 4 * width)), 4 * width, width), x), width)
    net.output(x, 1, steps, width)


def crnn_32x128(net):
    """Reading a line of text: convolutions, two bidirectional LSTMs."""
    layers = Layers(net)
    x = net.input("x", 1, 1, 32, 128)
    x = net.MaxPool(layers.conv(x, 1, 64, 3, act="relu"), kernel_shape=[2, 2], strides=[2, 2])
    x = net.MaxPool(layers.conv(x, 64, 128, 3, act="relu"), kernel_shape=[2, 2], strides=[2, 2])
    x = layers.conv(layers.conv(x, 128, 256, 3, act="relu"), 256, 256, 3, act="relu")
    x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = net.MaxPool(layers.conv(x, 256, 512, 3, act="relu"), kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = layers.conv(x, 512, 512, 2, pad=0, act="relu")
    x, inputs = net.Transpose(net.Squeeze(x, ints(net, 2)), perm=[2, 0, 1]), 512
    for _ in range(2):
        weights = [net.normal(2, 1024, inputs, scale=0.04), net.normal(2, 1024, 256, scale=0.04), net.normal(2, 2048, scale=0.01)]
        y = net.LSTM(x, *map(net.weight, weights), hidden_size=256, direction="bidirectional", outputs=3)[0]
        x, inputs = net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), ints(net, 33, 1, 512)), 512
    net.output(net.LogSoftmax(linear(net, x, 512, 37), axis=2), 33, 1, 37)


# ---- Tables and points -----------------------------------------------------------------------------------------------
def dlrm_64(net, batch=64, tables=16, depth=32):
    """Recommendation: embeddings of many tables, products between all of them."""
    def mlp(x, *widths):
        for n, out in zip(widths, widths[1:]):
            x = net.Relu(net.Gemm(x, net.weight(net.normal(out, n, scale=math.sqrt(2 / n))), net.weight(net.normal(out, scale=0.05)), transB=1))
        return x
    dense = mlp(net.input("dense", batch, 13), 13, 256, 64, depth)
    items = net.weight(net.rng.integers(0, 5000, (tables, batch)))
    rows = [net.Gather(net.weight(net.normal(5000, depth, scale=0.1)), net.Gather(items, net.constant(i, np.int64), axis=0), axis=0) for i in range(tables)]
    t = net.Reshape(net.Concat(dense, *rows, axis=1), ints(net, batch, tables + 1, depth))
    z = net.Reshape(net.MatMul(t, net.Transpose(t, perm=[0, 2, 1])), ints(net, batch, (tables + 1) ** 2))
    pairs = [i * (tables + 1) + j for i in range(tables + 1) for j in range(i)]
    flat = net.Concat(dense, net.Gather(z, ints(net, *pairs), axis=1), axis=1)
    y = mlp(flat, depth + len(pairs), 256, 128)
    net.output(net.Sigmoid(net.Gemm(y, net.weight(net.normal(1, 128, scale=0.1)), net.weight(net.normal(1, scale=0.1)), transB=1)), batch, 1)


def pointnet_1024(net):
    layers, x = Layers(net), net.input("x", 1, 3, 1024)
    t = net.ReduceMax(layers.conv(layers.conv(x, 3, 64, (1,), act="relu"), 64, 256, (1,), act="relu"), axes=[2], keepdims=0)
    t = net.Reshape(net.Gemm(t, net.weight(net.normal(9, 256, scale=0.05)), net.weight(np.eye(3, dtype=np.float32).ravel()), transB=1), ints(net, 1, 3, 3))
    x = net.Transpose(net.MatMul(net.Transpose(x, perm=[0, 2, 1]), t), perm=[0, 2, 1])
    for n, out in ((3, 64), (64, 128), (128, 1024)): x = layers.conv(x, n, out, (1,), act="relu")
    x, n = net.ReduceMax(x, axes=[2], keepdims=0), 1024
    for out in (512, 256, 40):
        x, n = net.Gemm(x, net.weight(net.normal(out, n, scale=math.sqrt(2 / n))), net.weight(net.normal(out, scale=0.05)), transB=1), out
        if out != 40: x = net.Relu(x)
    net.output(net.LogSoftmax(x, axis=-1), 1, 40)


NETWORKS = [yolo_320, efficientnet_b0_224, mobilenetv3_small_224, regnety_400mf_224, convnext_224, vit_small_224, swin_224, deeplab_256, style_256, edsr_128,
            diffusion_32, resnet3d_8x112, whisper_encoder, wav2vec2_1s, conv_tasnet, llama_s128, llama_s1_past511, bert_dynamic_int8, crnn_32x128, dlrm_64,
            pointnet_1024]


def write_networks(networks, typed, usage):
    """What the command line asks for; `typed` are the names of those that have types of their own."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"): sys.exit(usage)
    known, names = {f.__name__: f for f in networks}, sys.argv[2:]
    half = "--half" in names
    if half:
        names.remove("--half")
        for name in typed: del known[name]
    for name in names or known:
        if name not in known: sys.exit(f"no network is called {name}; there are {', '.join(known)}")
        net = Net(name, opset=17)
        known[name](net)
        if half: net.halve()
        net.save(Path(sys.argv[1]))


if __name__ == "__main__":
    write_networks(NETWORKS, {"bert_dynamic_int8"}, __doc__)
