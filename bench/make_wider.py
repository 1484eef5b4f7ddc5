"""Writes networks of kinds that make_models.py and make_modern.py have not, in the same way.

    python3 bench/make_wider.py OUTPUT [--half] [NAME...]

Speech synthesis, matting, upscaling, detection with queries, reading of text in pictures, faces, generation, noise suppression,
graphs, segmentation by attention, and quantised ones with activations that have no lookup in the peer.
"""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from make_models import FloatLayers, QuantLayers, gelu_erf, linear
from make_modern import Layers, attend, ints, norm, write_networks


def up(net, x, by, mode="nearest"):
    """Twice as large or more, as exporters of PyTorch write it."""
    how = dict(coordinate_transformation_mode="half_pixel") if mode == "linear" else dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return net.Resize(x, "", net.constant([1.0, 1.0, float(by), float(by)]), mode=mode, **how)


def deconv(net, x, channels, out, k, stride, pad, dims=2):
    scale = math.sqrt(2 * stride ** dims / (channels * k ** dims))
    return net.ConvTranspose(x, net.weight(net.normal(channels, out, *[k] * dims, scale=scale)), net.weight(net.normal(out, scale=0.02)),
                             kernel_shape=[k] * dims, strides=[stride] * dims, pads=[pad] * 2 * dims)


# ---- Sound -----------------------------------------------------------------------------------------------------------
def hifigan(net, frames=32):
    """The decoder of VITS: transposed convolutions in time, blocks of dilated ones of three widths."""
    layers = Layers(net)
    x, channels, steps = layers.conv(net.input("z", 1, 192, frames), 192, 256, (7,)), 256, frames
    for k, stride in ((16, 8), (16, 8), (4, 2)):
        x = deconv(net, net.LeakyRelu(x, alpha=0.1), channels, channels // 2, k, stride, (k - stride) // 2, dims=1)
        channels, steps, total = channels // 2, steps * stride, None
        for width in (3, 7, 11):
            y = x
            for dilation in (1, 3, 5):
                z = layers.conv(net.LeakyRelu(y, alpha=0.1), channels, channels, (width,), dilation=dilation)
                y = net.Add(layers.conv(net.LeakyRelu(z, alpha=0.1), channels, channels, (width,)), y)
            total = net.Add(total, y) if total else y
        x = net.Div(total, net.constant(3.0))
    net.output(net.Tanh(layers.conv(net.LeakyRelu(x, alpha=0.01), channels, 1, (7,))), 1, 1, steps)


def wavenet_4000(net, steps=4000, width=64):
    """Two taps whose distance doubles, tanh times sigmoid, skips of all layers added."""
    layers = Layers(net)
    x, skipped, length = layers.conv(net.input("sound", 1, 1, steps), 1, width, (1,)), None, steps
    for dilation in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        y = layers.conv(x, width, 2 * width, (2,), pad=0, dilation=dilation)
        length -= dilation
        a, b = net.Split(y, ints(net, width, width), outputs=2, axis=1)
        y = net.Mul(net.Tanh(a), net.Sigmoid(b))
        skip = net.Slice(layers.conv(y, width, width, (1,)), ints(net, -(steps - 511)), ints(net, 2**63 - 1), ints(net, 2))
        skipped = net.Add(skipped, skip) if skipped else skip
        x = net.Add(layers.conv(y, width, width, (1,)), net.Slice(x, ints(net, dilation), ints(net, 2**63 - 1), ints(net, 2)))
    y = layers.conv(net.Relu(skipped), width, 128, (1,), act="relu")
    net.output(layers.conv(y, 128, 256, (1,)), 1, 256, steps - 511)


def deepfilter_100(net, steps=100):
    """Noise suppression: separable convolutions over bands, groups of linear maps as Einsum, GRUs."""
    layers = Layers(net)
    x, skips, bands = layers.conv(net.input("bands", 1, 1, steps, 32), 1, 16, (3, 3), act="relu"), [], 32
    for _ in range(2):
        skips.append(x)
        y = net.Conv(x, net.weight(net.normal(16, 1, 1, 3, scale=0.5)), kernel_shape=[1, 3], strides=[1, 2], pads=[0, 1, 0, 1], group=16)
        x, bands = layers.conv(y, 16, 16, 1, act="relu"), bands // 2
    y = net.Reshape(net.Transpose(x, perm=[0, 2, 1, 3]), ints(net, 1, steps, 8, 2 * bands))
    y = net.Relu(net.Einsum(y, net.weight(net.normal(8, 2 * bands, 32, scale=0.25)), equation="btgi,gih->btgh"))
    y, inputs = net.Transpose(net.Reshape(y, ints(net, 1, steps, 256)), perm=[1, 0, 2]), 256
    for _ in range(2):
        weights = [net.normal(1, 768, inputs, scale=0.06), net.normal(1, 768, 256, scale=0.06), net.normal(1, 1536, scale=0.02)]
        y = net.Squeeze(net.GRU(y, *map(net.weight, weights), hidden_size=256, linear_before_reset=1, outputs=2)[0], ints(net, 1))
    y = net.Reshape(net.Transpose(y, perm=[1, 0, 2]), ints(net, 1, steps, 8, 32))
    y = net.Relu(net.Einsum(y, net.weight(net.normal(8, 32, 2 * bands, scale=0.25)), equation="btgi,gih->btgh"))
    y = net.Transpose(net.Reshape(y, ints(net, 1, steps, 16, bands)), perm=[0, 2, 1, 3])
    for skip in reversed(skips):
        y = net.ConvTranspose(y, net.weight(net.normal(16, 1, 1, 4, scale=0.5)), kernel_shape=[1, 4], strides=[1, 2], pads=[0, 1, 0, 1], group=16)
        y = net.Add(layers.conv(y, 16, 16, 1, act="relu"), skip)
    net.output(layers.conv(y, 16, 1, (1, 3), pad=None, act="sigmoid"), 1, 1, steps, 32)


# ---- Pictures --------------------------------------------------------------------------------------------------------
def u2net_160(net, size=160):
    """Blocks that are small U-shaped networks, dilated at the bottom, bilinear upwards."""
    layers = Layers(net)

    def block(x, channels, middle, out, depth):
        x = layers.conv(x, channels, out, 3, act="relu")
        downs = [layers.conv(x, out, middle, 3, act="relu")]
        for _ in range(depth - 2):
            downs.append(layers.conv(net.MaxPool(downs[-1], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), middle, middle, 3, act="relu"))
        y = layers.conv(downs[-1], middle, middle, 3, act="relu", dilation=2)
        for i, down in enumerate(reversed(downs)):
            y = layers.conv(net.Concat(y, down, axis=1), 2 * middle, out if i == depth - 2 else middle, 3, act="relu")
            if i < depth - 2: y = up(net, y, 2, "linear")
        return net.Add(y, x)
    x, skips, extent = net.input("x", 1, 3, size, size), [], size
    for channels, depth in ((3, 5), (64, 4), (64, 3)):
        x = block(x, channels, 16, 64, depth)
        skips.append(x)
        x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    x, sides = block(x, 64, 16, 64, 3), []
    for i, skip in enumerate(reversed(skips)):
        x = block(net.Concat(up(net, x, 2, "linear"), skip, axis=1), 128, 16, 64, 3 + i)
        side = layers.conv(x, 64, 1, 3)
        sides.append(up(net, side, 2 ** (2 - i), "linear") if i < 2 else side)
    net.output(net.Sigmoid(layers.conv(net.Concat(*sides, axis=1), 3, 1, 1)), 1, 1, size, size)


def rrdb_64(net, size=64):
    """Real-ESRGAN: dense blocks that concatenate, residuals scaled by a fifth."""
    layers = Layers(net)
    first = x = layers.conv(net.input("x", 1, 3, size, size), 3, 64, 3)
    for _ in range(2):
        start = x
        for _ in range(3):
            parts = [x]
            for _ in range(4): parts.append(layers.conv(parts[0] if len(parts) == 1 else net.Concat(*parts, axis=1), 32 * (len(parts) + 1), 32, 3, act="leaky"))
            x = net.Add(net.Mul(layers.conv(net.Concat(*parts, axis=1), 192, 64, 3), net.constant(0.2)), x)
        x = net.Add(net.Mul(x, net.constant(0.2)), start)
    x = net.Add(layers.conv(x, 64, 64, 3), first)
    for _ in range(2): x = layers.conv(up(net, x, 2), 64, 64, 3, act="leaky")
    net.output(layers.conv(layers.conv(x, 64, 64, 3, act="leaky"), 64, 3, 3), 1, 3, 4 * size, 4 * size)


def nafnet_96(net, size=96):
    """Normalisation over channels of pictures, gates instead of activations, channel attention, pixel shuffle."""
    layers = Layers(net)

    def over_channels(x, c):
        centred = net.Sub(x, net.ReduceMean(x, axes=[1], keepdims=1))
        variance = net.ReduceMean(net.Pow(centred, net.constant(2.0)), axes=[1], keepdims=1)
        y = net.Div(centred, net.Sqrt(net.Add(variance, net.constant(1e-6))))
        return net.Add(net.Mul(y, net.weight(1 + net.normal(1, c, 1, 1, scale=0.02))), net.weight(net.normal(1, c, 1, 1, scale=0.02)))

    def gate(x, c): return net.Mul(*net.Split(x, ints(net, c, c), outputs=2, axis=1))

    def block(x, c):
        y = layers.conv(layers.conv(over_channels(x, c), c, 2 * c, 1), 2 * c, 2 * c, 3, groups=2 * c)
        y = gate(y, c)
        y = layers.conv(net.Mul(y, layers.conv(net.GlobalAveragePool(y), c, c, 1)), c, c, 1)
        x = net.Add(x, net.Mul(y, net.weight(net.normal(1, c, 1, 1, scale=0.1))))
        y = layers.conv(gate(layers.conv(over_channels(x, c), c, 2 * c, 1), c), c, c, 1)
        return net.Add(x, net.Mul(y, net.weight(net.normal(1, c, 1, 1, scale=0.1))))
    x, c, skips = layers.conv(net.input("x", 1, 3, size, size), 3, 16, 3), 16, []
    for _ in range(3):
        x = block(x, c)
        skips.append(x)
        x, c = layers.conv(x, c, 2 * c, 2, 2, pad=0), 2 * c
    x = block(block(x, c), c)
    for skip in reversed(skips):
        x, c = net.DepthToSpace(layers.conv(x, c, 2 * c, 1), blocksize=2, mode="CRD"), c // 2
        x = block(net.Add(x, skip), c)
    net.output(layers.conv(x, c, 3, 3), 1, 3, size, size)


def dbnet_320(net, size=320):
    """Where text is in a picture: MobileNetV3, a pyramid, transposed convolutions."""
    layers = Layers(net)
    x, channels, taps = layers.conv(net.input("x", 1, 3, size, size), 3, 8, 3, 2, act="hardswish"), 8, []
    for k, hidden, out, act, stride in ((3, 8, 8, "relu", 1), (3, 32, 16, "relu", 2), (3, 40, 16, "relu", 1), (5, 40, 24, "relu", 2), (5, 64, 24, "relu", 1), (3, 120, 40, "hardswish", 2),
                                        (3, 104, 40, "hardswish", 1), (3, 240, 56, "hardswish", 1), (5, 336, 80, "hardswish", 2), (5, 480, 80, "hardswish", 1)):
        if stride == 2: taps.append((x, channels))
        y = layers.conv(layers.conv(x, channels, hidden, 1, act=act), hidden, hidden, k, stride, groups=hidden, act=act)
        y = layers.conv(y, hidden, out, 1)
        x, channels = (net.Add(x, y) if stride == 1 and channels == out else y), out
    taps.append((x, channels))
    parts, above = [], None
    for i, (x, c) in enumerate(reversed(taps[1:])):
        x = layers.conv(x, c, 96, 1)
        above = net.Add(x, up(net, above, 2)) if above else x
        y = layers.conv(above, 96, 24, 3)
        parts.append(up(net, y, 2 ** (3 - i)) if i < 3 else y)
    parts = [p for p in parts]
    x = layers.conv(net.Concat(*reversed(parts), axis=1), 24 * len(parts), 24, 3, act="relu")
    x = net.Relu(deconv(net, x, 24, 24, 2, 2, 0))
    net.output(net.Sigmoid(deconv(net, x, 24, 1, 2, 2, 0)), 1, 1, size, size)


def blazeface_128(net):
    """Faces in a camera's picture: depthwise 5x5, channels padded with zeros beside a pool, PRelu."""
    layers = Layers(net)

    def prelu(x, c): return net.PRelu(x, net.weight(net.normal(c, 1, 1, scale=0.25)))
    x, channels = prelu(layers.conv(net.input("x", 1, 3, 128, 128), 3, 24, 5, 2), 24), 24
    for out, stride in ((24, 1), (28, 1), (32, 2), (36, 1), (42, 1), (48, 2), (56, 1), (64, 1), (72, 1), (80, 1), (88, 1), (96, 2), (96, 1), (96, 1), (96, 1)):
        y = layers.conv(layers.conv(x, channels, channels, 5, stride, groups=channels), channels, out, 1)
        rest = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]) if stride == 2 else x
        if out > channels: rest = net.Pad(rest, ints(net, 0, 0, 0, 0, 0, out - channels, 0, 0), net.constant(0.0))
        x, channels = prelu(net.Add(y, rest), out), out
    boxes = net.Reshape(net.Transpose(layers.conv(x, 96, 96, 1), perm=[0, 2, 3, 1]), ints(net, 1, -1, 16))
    net.output(boxes, 1, 384, 16)


def iresnet_112(net):
    """A face as a vector: normalisation before convolutions, PRelu."""
    layers = Layers(net)

    def bn(x, c): return net.BatchNormalization(x, *(net.weight(a) for a in (1 + net.normal(c, scale=0.1), net.normal(c, scale=0.1), net.normal(c, scale=0.1), 1 + np.abs(net.normal(c, scale=0.1)))))
    def prelu(x, c): return net.PRelu(x, net.weight(net.normal(c, 1, 1, scale=0.25)))
    x, channels = prelu(layers.conv(net.input("x", 1, 3, 112, 112), 3, 64, 3), 64), 64
    for out, blocks in ((64, 2), (128, 2), (256, 2), (512, 2)):
        for block in range(blocks):
            stride = 2 if block == 0 else 1
            y = prelu(layers.conv(bn(x, channels), channels, out, 3), out)
            y = layers.conv(y, out, out, 3, stride)
            x, channels = net.Add(y, layers.conv(x, channels, out, 1, stride) if block == 0 else x), out
    y = net.Gemm(net.Flatten(bn(x, 512)), net.weight(net.normal(512, 512 * 49, scale=0.01)), net.weight(net.normal(512, scale=0.01)), transB=1)
    net.output(bn(y, 512), 1, 512)


def dcgan_64(net):
    layers, x = FloatLayers(net), net.input("z", 1, 100, 1, 1)
    x, channels = net.Relu(deconv(net, x, 100, 512, 4, 1, 0)), 512
    for out in (256, 128, 64):
        vectors = [1 + net.normal(out, scale=0.1), net.normal(out, scale=0.1), net.normal(out, scale=0.1), 1 + np.abs(net.normal(out, scale=0.1))]
        x, channels = net.Relu(net.BatchNormalization(deconv(net, x, channels, out, 4, 2, 1), *map(net.weight, vectors))), out
    net.output(net.Tanh(deconv(net, x, channels, 3, 4, 2, 1)), 1, 3, 64, 64)


def resnext_224(net):
    """32 groups of 4 to 32 channels."""
    layers = Layers(net)
    x = net.MaxPool(layers.conv(net.input("x", 1, 3, 224, 224), 3, 64, 7, 2, act="relu"), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, blocks in ((128, 2), (256, 2), (512, 2), (1024, 2)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 128 else 1
            y = layers.conv(layers.conv(x, channels, width, 1, act="relu"), width, width, 3, stride, groups=32, act="relu")
            y = layers.conv(y, width, 2 * width, 1)
            x, channels = layers.add(y, layers.conv(x, channels, 2 * width, 1, stride) if block == 0 else x, act="relu"), 2 * width
    net.output(layers.classify(layers.pool(x), channels, 1000), 1, 1000)


def ssd_mobilenet_300(net):
    """Boxes of six grids, decoded, the best kept by NonMaxSuppression."""
    layers = Layers(net)
    x, channels, taps, extents = layers.conv(net.input("x", 1, 3, 300, 300), 3, 16, 3, 2, act="relu6"), 16, [], []
    extent = 150
    for out, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (256, 1), (512, 2), (512, 1), (128, 2), (128, 2), (64, 2)):
        if stride == 2 and out >= 512: taps.append((x, channels, extent))
        x = layers.conv(layers.conv(x, channels, channels, 3, stride, groups=channels, act="relu6"), channels, out, 1, act="relu6")
        channels, extent = out, -(-extent // stride)
        if (out, stride) in ((512, 1), (128, 2), (64, 2)) and extent <= 10: taps.append((x, channels, extent))
    boxes, scores, count = [], [], 0
    for x, c, n in taps:
        boxes.append(net.Reshape(net.Transpose(layers.conv(x, c, 24, 1), perm=[0, 2, 3, 1]), ints(net, 1, -1, 4)))
        scores.append(net.Reshape(net.Transpose(layers.conv(x, c, 6 * 21, 1), perm=[0, 2, 3, 1]), ints(net, 1, -1, 21)))
        count += 6 * n * n
    boxes, scores = net.Concat(*boxes, axis=1), net.Softmax(net.Concat(*scores, axis=1), axis=2)
    anchors = net.weight(np.abs(net.normal(1, count, 4, scale=0.3)).astype(np.float32))
    centres, sizes = (net.Slice(boxes, ints(net, a), ints(net, a + 2), ints(net, 2)) for a in (0, 2))
    places, spans = (net.Slice(anchors, ints(net, a), ints(net, a + 2), ints(net, 2)) for a in (0, 2))
    centres = net.Add(net.Mul(net.Mul(centres, net.constant(0.1)), spans), places)
    sizes = net.Mul(net.Exp(net.Mul(sizes, net.constant(0.2))), spans)
    half = net.Div(sizes, net.constant(2.0))
    corners = net.Concat(net.Sub(centres, half), net.Add(centres, half), axis=2)
    kept = net.NonMaxSuppression(corners, net.Transpose(scores, perm=[0, 2, 1]), ints(net, 10), net.constant([0.5]), net.constant([0.06]))
    places = net.Gather(kept, ints(net, 2), axis=1)
    net.output(net.Gather(net.Squeeze(corners, ints(net, 0)), net.Reshape(places, ints(net, -1)), axis=0), "n", 4)


# ---- Attention -------------------------------------------------------------------------------------------------------
def heads_of(net, x, steps, heads, depth): return net.Transpose(net.Reshape(x, ints(net, 1, steps, heads, depth)), perm=[0, 2, 1, 3])


def attention(net, q, kv, rows, cols, width, heads):
    depth = width // heads
    q, k, v = heads_of(net, linear(net, q, width, width), rows, heads, depth), *(heads_of(net, linear(net, kv, width, width), cols, heads, depth) for _ in range(2))
    y = net.Reshape(net.Transpose(attend(net, q, k, v, depth), perm=[0, 2, 1, 3]), ints(net, 1, rows, width))
    return linear(net, y, width, width)


def detr_400(net, cells=400, queries=100, width=256, heads=8):
    """Boxes by questions: an encoder over cells of a picture, a decoder over what is asked."""
    def feed(x): return linear(net, net.Relu(linear(net, x, width, 2048)), 2048, width)
    x, places = net.input("cells", 1, cells, width), net.weight(net.normal(1, cells, width, scale=0.3))
    for _ in range(2):
        x = norm(net, net.Add(x, attention(net, net.Add(x, places), net.Add(x, places), cells, cells, width, heads)), width)
        x = norm(net, net.Add(x, feed(x)), width)
    asked = net.weight(net.normal(1, queries, width, scale=0.3))
    y = asked
    for _ in range(2):
        y = norm(net, net.Add(y, attention(net, net.Add(y, asked), net.Add(y, asked), queries, queries, width, heads)), width)
        y = norm(net, net.Add(y, attention(net, net.Add(y, asked), net.Add(x, places), queries, cells, width, heads)), width)
        y = norm(net, net.Add(y, feed(y)), width)
    boxes = net.Sigmoid(linear(net, net.Relu(linear(net, y, width, width)), width, 4))
    net.output(net.Concat(linear(net, y, width, 92), boxes, axis=2), 1, queries, 96)


def segformer_256(net, size=256):
    """Attention whose keys are a smaller picture, depthwise convolutions between linear maps."""
    layers = Layers(net)
    x, channels, extent, stages = net.input("x", 1, 3, size, size), 3, size, []
    for width, heads, k, stride, reduction in ((32, 1, 7, 4, 8), (64, 2, 3, 2, 4), (160, 5, 3, 2, 2), (256, 8, 3, 2, 1)):
        x = layers.conv(x, channels, width, k, stride)
        extent, channels, depth = extent // stride, width, width // heads
        n, small = extent * extent, (extent // reduction) ** 2

        def tokens(x, n): return net.Transpose(net.Reshape(x, ints(net, 1, width, n)), perm=[0, 2, 1])
        def picture(x, c): return net.Reshape(net.Transpose(x, perm=[0, 2, 1]), ints(net, 1, c, extent, extent))
        x = norm(net, tokens(x, n), width)
        for _ in range(2):
            y = norm(net, x, width)
            keys = y if reduction == 1 else norm(net, tokens(layers.conv(picture(y, width), width, width, reduction, reduction, pad=0), small), width)
            x = net.Add(x, attention(net, y, keys, n, small, width, heads))
            y = linear(net, norm(net, x, width), width, 4 * width)
            y = net.Transpose(net.Reshape(layers.conv(picture(y, 4 * width), 4 * width, 4 * width, 3, groups=4 * width), ints(net, 1, 4 * width, n)), perm=[0, 2, 1])
            x = net.Add(x, linear(net, gelu_erf(net, y), 4 * width, width))
        x = picture(norm(net, x, width), width)
        stages.append((x, width, extent))
    parts = []
    for x, width, n in stages:
        y = linear(net, net.Transpose(net.Reshape(x, ints(net, 1, width, n * n)), perm=[0, 2, 1]), width, 128)
        y = net.Reshape(net.Transpose(y, perm=[0, 2, 1]), ints(net, 1, 128, n, n))
        parts.append(up(net, y, size // 4 // n, "linear") if n < size // 4 else y)
    x = layers.conv(net.Concat(*reversed(parts), axis=1), 512, 128, 1, act="relu")
    net.output(layers.conv(x, 128, 19, 1), 1, 19, size // 4, size // 4)


def mobilevit_256(net):
    """Convolutions, then attention over pixels of one place in each patch of 2x2."""
    layers = Layers(net)

    def inverted(x, c, out, stride):
        y = layers.conv(layers.conv(x, c, 4 * c, 1, act="silu"), 4 * c, 4 * c, 3, stride, groups=4 * c, act="silu")
        y = layers.conv(y, 4 * c, out, 1)
        return net.Add(x, y) if stride == 1 and c == out else y
    x, c, extent = layers.conv(net.input("x", 1, 3, 256, 256), 3, 16, 3, 2, act="silu"), 16, 128
    x = inverted(x, c, 32, 1)
    x, c, extent = inverted(x, 32, 48, 2), 48, 64
    for out, width, blocks in ((64, 96, 2), (80, 120, 4), (96, 144, 3)):
        x, c, extent = inverted(x, c, out, 2), out, extent // 2
        half, n, depth = extent // 2, extent * extent // 4, width // 4
        y = layers.conv(layers.conv(x, c, c, 3, act="silu"), c, width, 1)
        y = net.Transpose(net.Reshape(y, ints(net, width * half, 2, half, 2)), perm=[0, 2, 1, 3])
        y = net.Transpose(net.Reshape(y, ints(net, 1, width, n, 4)), perm=[0, 3, 2, 1])
        t = net.Reshape(y, ints(net, 4, n, width))
        for _ in range(blocks):
            u = norm(net, t, width)
            q, k, v = (net.Transpose(net.Reshape(linear(net, u, width, width), ints(net, 4, n, 4, depth)), perm=[0, 2, 1, 3]) for _ in range(3))
            u = net.Reshape(net.Transpose(attend(net, q, k, v, depth), perm=[0, 2, 1, 3]), ints(net, 4, n, width))
            t = net.Add(t, linear(net, u, width, width))
            u = linear(net, norm(net, t, width), width, 2 * width)
            t = net.Add(t, linear(net, net.Mul(u, net.Sigmoid(u)), 2 * width, width))
        y = net.Transpose(net.Reshape(norm(net, t, width), ints(net, 1, 4, n, width)), perm=[0, 3, 2, 1])
        y = net.Transpose(net.Reshape(y, ints(net, width * half, half, 2, 2)), perm=[0, 2, 1, 3])
        y = layers.conv(net.Reshape(y, ints(net, 1, width, extent, extent)), width, c, 1, act="silu")
        x = layers.conv(net.Concat(x, y, axis=1), 2 * c, c, 3, act="silu")
    net.output(layers.classify(layers.pool(layers.conv(x, c, 384, 1, act="silu")), 384, 1000), 1, 1000)


# ---- Codes of 8 bits -------------------------------------------------------------------------------------------------
class QuantModern(QuantLayers):
    def act(self, x, act):
        if act != "hardswish": return super().act(x, act)
        return self.net.Mul(x, self.net.HardSigmoid(x, alpha=1 / 6))

    def conv(self, x, channels, out, k, stride=1, groups=1, act=None):
        if act != "hardswish": return super().conv(x, channels, out, k, stride, groups, act)
        y = super().conv(x, channels, out, k, stride, groups)
        return self.requantise(self.net.Mul(y, self.requantise(self.net.HardSigmoid(y, alpha=1 / 6), signed=False, step=1 / 255)), signed=True)


def mobilenetv3_qdq_int8(net):
    layers = QuantModern(net)
    x, channels = layers.conv(layers.start(net.input("x", 1, 3, 224, 224)), 3, 16, 3, 2, act="hardswish"), 16
    for k, hidden, out, squeezes, act, stride in ((3, 16, 16, 1, "relu", 2), (3, 72, 24, 0, "relu", 2), (3, 88, 24, 0, "relu", 1), (5, 96, 40, 1, "hardswish", 2),
                                                  (5, 240, 40, 1, "hardswish", 1), (5, 120, 48, 1, "hardswish", 1), (5, 288, 96, 1, "hardswish", 2), (5, 576, 96, 1, "hardswish", 1)):
        y = layers.conv(layers.conv(x, channels, hidden, 1, act=act), hidden, hidden, k, stride, groups=hidden, act=act)
        if squeezes:
            s = layers.conv(layers.pool(y), hidden, (hidden // 4 + 7) // 8 * 8, 1, act="relu")
            s = layers.requantise(net.HardSigmoid(layers.conv(s, (hidden // 4 + 7) // 8 * 8, hidden, 1), alpha=1 / 6), signed=False, step=1 / 255)
            y = layers.requantise(net.Mul(y, s), signed=True)
        y = layers.conv(y, hidden, out, 1)
        x, channels = (layers.add(x, y) if stride == 1 and channels == out else y), out
    net.output(layers.classify(layers.pool(layers.conv(x, 96, 576, 1, act="hardswish")), 576, 1000), 1, 1000)


def vit_qdq_int8(net, width=384, steps=197, heads=6):
    """Products of codes on both sides, attention too; normalisation, softmax and GELU in float."""
    layers, depth = QuantLayers(net), width // heads

    def product(x, inputs, out):
        w = net.normal(inputs, out, scale=0.03)
        scale = np.float32(np.abs(w).max() / 127)
        q = net.DequantizeLinear(net.weight(np.round(w / scale).astype(np.int8)), net.constant(scale), net.constant(0, np.int8))
        return layers.requantise(net.Add(net.MatMul(x, q), net.weight(net.normal(out, scale=0.01))), signed=True)

    def codes(x): return layers.requantise(x, signed=True)
    x = codes(net.input("x", 1, steps, width))
    for _ in range(3):
        y = codes(norm(net, x, width))
        q, k, v = (heads_of(net, product(y, width, width), steps, heads, depth) for _ in range(3))
        scores = codes(net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])))
        p = layers.requantise(net.Softmax(net.Div(scores, net.constant(math.sqrt(depth))), axis=-1), signed=False, step=1 / 255)
        y = net.Reshape(net.Transpose(codes(net.MatMul(p, v)), perm=[0, 2, 1, 3]), ints(net, 1, steps, width))
        x = codes(net.Add(x, product(y, width, width)))
        y = product(codes(norm(net, x, width)), width, 4 * width)
        x = codes(net.Add(x, product(codes(gelu_erf(net, y)), 4 * width, width)))
    net.output(norm(net, x, width), 1, steps, width)


# ---- Graphs ----------------------------------------------------------------------------------------------------------
def gcn_2000(net, nodes=2000, edges=10000, width=64):
    """Messages gathered along edges, summed where they arrive, twice; a softmax over what arrives at a node."""
    x, ends = net.input("features", nodes, width), [net.weight(net.rng.integers(0, nodes, edges)) for _ in range(2)]
    for _ in range(2):
        y = linear(net, x, width, width)
        score = net.LeakyRelu(net.Add(net.Gather(linear(net, y, width, 1), ends[0], axis=0), net.Gather(linear(net, y, width, 1), ends[1], axis=0)), alpha=0.2)
        weights = net.Exp(score)
        at = net.Unsqueeze(ends[1], ints(net, 1))
        total = net.ScatterElements(net.weight(np.full((nodes, 1), 1e-6, np.float32)), at, weights, axis=0, reduction="add")
        messages = net.Mul(net.Gather(y, ends[0], axis=0), net.Div(weights, net.Gather(total, ends[1], axis=0)))
        where = net.Expand(at, ints(net, edges, width))
        x = net.Relu(net.ScatterElements(net.weight(np.zeros((nodes, width), np.float32)), where, messages, axis=0, reduction="add"))
    net.output(net.LogSoftmax(linear(net, x, width, 7), axis=1), nodes, 7)


NETWORKS = [hifigan, wavenet_4000, deepfilter_100, u2net_160, rrdb_64, nafnet_96, dbnet_320, blazeface_128, iresnet_112, dcgan_64, resnext_224, ssd_mobilenet_300,
            detr_400, segformer_256, mobilevit_256, mobilenetv3_qdq_int8, vit_qdq_int8, gcn_2000]

if __name__ == "__main__":
    write_networks(NETWORKS, {"mobilenetv3_qdq_int8", "vit_qdq_int8"}, __doc__)
