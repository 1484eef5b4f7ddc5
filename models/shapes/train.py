"""Draws pictures of eight shapes, trains a small network on them and writes it as ONNX. Needs numpy alone.

    OPENBLAS_NUM_THREADS=1 python3 models/shapes/train.py [FOLDER]

Everything follows from the seed below. Arrays are [N,H,W,C] while training; the file, as ONNX has it, is [N,C,H,W].
"""
import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np

LABELS = ["circle", "square", "triangle", "star", "cross", "ring", "heart", "moon"]
SIZE, BATCH, STEPS, SEED = 32, 32, 4000, 7
PICTURES = 8  # the seed of the pictures that are kept: others than those trained on, and they stay when training changes
rng = np.random.default_rng(SEED)


# ---- Pictures: float32 [size,size,3] in 0..1 ------------------------------------------------------------------------
def inside(label, x, y):
    """Which points belong to a shape of radius about 1 around the origin."""
    r = np.hypot(x, y)
    if label == "circle": return r < 0.85
    if label == "square": return np.maximum(abs(x), abs(y)) < 0.75
    if label == "triangle": return np.maximum(y, 0.866 * abs(x) - 0.5 * y) < 0.5
    if label == "star":  # from each of five tips (radius 1) a straight edge to the notch 36 degrees on (radius 0.42)
        turn = np.pi / 5
        a = abs(np.arctan2(x, y) % (2 * turn) - turn)
        u, v = r * np.cos(a), r * np.sin(a)  # the notch lies on u, the tip at the angle `turn`
        return (u - 0.42) * np.sin(turn) < v * (np.cos(turn) - 0.42)
    if label == "cross": return (np.minimum(abs(x), abs(y)) < 0.27) & (np.maximum(abs(x), abs(y)) < 0.95)
    if label == "ring": return (r < 0.95) & (r > 0.55)
    if label == "heart": return (1.5 * x**2 + 1.5 * (y + 0.1)**2 - 0.8)**3 < 3.4 * x**2 * (y + 0.1)**3
    if label == "moon": return (r < 0.95) & (np.hypot(x - 0.5, y) > 0.78)
    raise ValueError(label)


def draw(label, size):
    """One picture: a shape of random size, place, turn and colour on a shaded, noisy ground with a few stray lines."""
    fine = size * rng.choice([1, 2, 4])  # points a side; averaging them gives smooth edges, one a pixel gives hard ones
    y, x = (np.mgrid[0:fine, 0:fine].astype(np.float32) + 0.5) * 2 / fine - 1
    ground, shade, paint = rng.random((3, 3), np.float32)
    while np.abs(paint - ground).sum() < 0.9: paint = rng.random(3, np.float32)
    picture = ground + (shade - ground) * 0.25 * (x * rng.uniform(-1, 1) + y * rng.uniform(-1, 1))[..., None]
    for _ in range(rng.integers(0, 3)):  # stray lines, under the shape
        a = rng.uniform(0, np.pi)
        line = abs(x * np.cos(a) + y * np.sin(a) - rng.uniform(-0.9, 0.9)) < rng.uniform(0.01, 0.04)
        picture[line] = rng.random(3)
    radius, turn = rng.uniform(0.5, 0.9), rng.uniform(-0.5, 0.5)
    cx, cy = rng.uniform(-1, 1, 2) * (1 - radius)
    c, s = np.cos(turn) / radius, np.sin(turn) / radius
    picture[inside(label, c * (x - cx) + s * (y - cy), c * (y - cy) - s * (x - cx))] = paint
    picture = picture.reshape(size, fine // size, size, fine // size, 3).mean((1, 3))
    picture += rng.standard_normal(picture.shape, np.float32) * np.float32(rng.uniform(0, 0.05))
    return np.clip(picture, 0, 1)


def drawings(count, size=SIZE):
    """Pictures and the numbers of their labels, in turn."""
    answers = np.arange(count) % len(LABELS)
    return np.stack([draw(LABELS[k], size) for k in answers]), answers


# ---- Layers: forward(x, training) keeps what backward(dy) needs; params and grads are lists of arrays ------------------
class Conv:
    """k x k convolution without bias; weights [k*k*channels, out], or [k*k, channels] when each channel has its own."""
    def __init__(self, channels, out, k, stride=1, depthwise=False, first=False):
        self.k, self.stride, self.depthwise, self.channels, self.first = k, stride, depthwise, channels, first
        shape = (k * k, channels) if depthwise else (k * k * channels, out)
        self.params = [(rng.standard_normal(shape) * np.sqrt(2 / shape[0])).astype(np.float32)]

    def taps(self, padded):
        h, w = (padded.shape[1] - self.k) // self.stride + 1, (padded.shape[2] - self.k) // self.stride + 1
        return [padded[:, i:i + h * self.stride:self.stride, j:j + w * self.stride:self.stride]
                for i in range(self.k) for j in range(self.k)]

    def forward(self, x, training):
        p = self.k // 2
        self.padded = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
        taps = np.stack(self.taps(self.padded), 3)  # [N,h,w,k*k,channels]
        self.columns, w = taps.reshape(-1, *taps.shape[3:]), self.params[0]
        y = (self.columns * w).sum(1) if self.depthwise else self.columns.reshape(-1, w.shape[0]) @ w
        return y.reshape(*taps.shape[:3], -1)

    def backward(self, dy):
        w, columns, flat = self.params[0], self.columns, dy.reshape(-1, dy.shape[-1])
        if self.depthwise:
            self.grads = [(columns * flat[:, None]).sum(0)]
        else:
            self.grads = [columns.reshape(-1, w.shape[0]).T @ flat]
        if self.first: return None  # nobody asks how the picture should change
        dcolumns = flat[:, None] * w if self.depthwise else flat @ w.T
        dcolumns = dcolumns.reshape(*dy.shape[:3], self.k * self.k, self.channels)
        dpadded = np.zeros_like(self.padded)
        for t, place in enumerate(self.taps(dpadded)): place += dcolumns[:, :, :, t]
        p = self.k // 2
        return dpadded[:, p:dpadded.shape[1] - p, p:dpadded.shape[2] - p]

    def node(self, onnx, x):
        w = self.params[0].reshape(self.k, self.k, -1, self.params[0].shape[1])
        w = w.transpose(3, 2, 0, 1)  # [out, channels of a group, k, k]
        return onnx.node("Conv", [x, onnx.weight(w)], kernel_shape=[self.k] * 2, strides=[self.stride] * 2,
                         pads=[self.k // 2] * 4, group=self.channels if self.depthwise else 1)


class BatchNorm:
    def __init__(self, channels):
        self.params = [np.ones(channels, np.float32), np.zeros(channels, np.float32)]
        self.mean, self.variance = np.zeros(channels, np.float32), np.ones(channels, np.float32)

    def forward(self, x, training):
        mean, variance = (x.mean((0, 1, 2)), x.var((0, 1, 2))) if training else (self.mean, self.variance)
        if training:
            self.mean += 0.05 * (mean - self.mean)
            self.variance += 0.05 * (variance - self.variance)
        self.scale = 1 / np.sqrt(variance + 1e-5)
        self.x = (x - mean) * self.scale
        return self.x * self.params[0] + self.params[1]

    def backward(self, dy):
        self.grads = [(dy * self.x).sum((0, 1, 2)), dy.sum((0, 1, 2))]
        count = dy.size / dy.shape[-1]
        return self.params[0] * self.scale * (dy - self.grads[1] / count - self.x * self.grads[0] / count)

    def node(self, onnx, x):
        return onnx.node("BatchNormalization", [x, *map(onnx.weight, [*self.params, self.mean, self.variance])])


class Relu:
    params = grads = ()
    def forward(self, x, training): self.on = x > 0; return x * self.on
    def backward(self, dy): return dy * self.on
    def node(self, onnx, x): return onnx.node("Relu", [x])


class MaxPool:
    """The largest of each 2 x 2 block."""
    params = grads = ()
    def forward(self, x, training):
        self.blocks = x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, x.shape[3])
        self.y = self.blocks.max((2, 4), keepdims=True)
        return self.y[:, :, 0, :, 0]
    def backward(self, dy):
        n, h, _, w, _, c = self.blocks.shape
        return ((self.blocks == self.y) * dy[:, :, None, :, None]).reshape(n, 2 * h, 2 * w, c)
    def node(self, onnx, x): return onnx.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])


class Mean:
    """The mean of each channel over the picture: [N,H,W,C] -> [N,C]."""
    params = grads = ()
    def forward(self, x, training): self.shape = x.shape; return x.mean((1, 2))
    def backward(self, dy):
        return np.broadcast_to(dy[:, None, None] / (self.shape[1] * self.shape[2]), self.shape)
    def node(self, onnx, x): return onnx.node("Flatten", [onnx.node("GlobalAveragePool", [x])], axis=1)


class Dense:
    def __init__(self, inputs, out):
        self.params = [(rng.standard_normal((inputs, out)) / np.sqrt(inputs)).astype(np.float32), np.zeros(out, np.float32)]
    def forward(self, x, training): self.x = x; return x @ self.params[0] + self.params[1]
    def backward(self, dy): self.grads = [self.x.T @ dy, dy.sum(0)]; return dy @ self.params[0].T
    def node(self, onnx, x): return onnx.node("Gemm", [x, onnx.weight(self.params[0].T), onnx.weight(self.params[1])], transB=1)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def forward(net, x, training=False):
    for layer in net: x = layer.forward(x, training)
    return softmax(x)


def train(net):
    """Adam on fresh drawings in every step, the rate falling along half a cosine."""
    moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in layer.params] for layer in net]
    start, right = time.time(), 0.0
    for step in range(1, STEPS + 1):
        x, answers = drawings(BATCH)
        p = forward(net, x, training=True)
        right += 0.05 * ((p.argmax(1) == answers).mean() - right)
        dy = ((p - np.eye(len(LABELS))[answers]) / BATCH).astype(np.float32)
        for layer in reversed(net): dy = layer.backward(dy)
        rate = 0.004 * (1 + np.cos(np.pi * step / STEPS)) / 2
        for layer, pairs in zip(net, moments):
            for w, g, (m, v) in zip(layer.params, layer.grads, pairs):
                m += 0.1 * (g - m)
                v += 0.01 * (g * g - v)
                w -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
        if step % 100 == 0: print(f"step {step}: about {100 * right:.0f} % right, {time.time() - start:.0f} s", flush=True)


# ---- ONNX: the protobuf wire format; field numbers are those of onnx.proto ---------------------------------------------
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, value):
    """A number as a varint, a float as 4 bytes, text and messages (bytes) with their length, a list one after another."""
    if isinstance(value, list): return b"".join(field(number, v) for v in value)
    if isinstance(value, float): return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int): return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, a):  # TensorProto: dims 1, data_type 2 (1 = float32), name 8, raw_data 9
    return field(1, list(a.shape)) + field(2, 1) + field(8, name) + field(9, np.ascontiguousarray(a, "<f4").tobytes())


def attribute(name, value):  # AttributeProto: name 1, i 3, ints 8, type 20 (2 = int, 7 = ints)
    many = isinstance(value, list)
    return field(1, name) + field(8 if many else 3, value) + field(20, 7 if many else 2)


def value_info(name, dims, doc, denotation=""):  # ValueInfoProto; a dimension is (text or number, meaning)
    def dim(d): return field(2 if isinstance(d[0], str) else 1, d[0]) + (field(3, d[1]) if d[1] else b"")
    shape = field(1, [dim(d) for d in dims])
    kind = field(1, field(1, 1) + field(2, shape)) + (field(6, denotation) if denotation else b"")
    return field(1, name) + field(2, kind) + field(3, doc)


class Onnx:
    """Collects nodes and weights; node() returns the name of the node's output."""
    def __init__(self): self.nodes, self.weights = [], []

    def weight(self, a):
        self.weights.append(tensor(f"w{len(self.weights)}", a))
        return f"w{len(self.weights) - 1}"

    def node(self, op, inputs, output=None, **attributes):  # NodeProto
        output = output or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(field(1, inputs) + field(2, output) + field(3, output) + field(4, op) +
                          field(5, [attribute(*a) for a in attributes.items()]))
        return output

    def model(self, inputs, outputs, doc, metadata):  # GraphProto in ModelProto, IR 8, opset 17
        graph = (field(1, self.nodes) + field(2, "shapes") + field(5, self.weights) + field(10, doc) +
                 field(11, inputs) + field(12, outputs))
        return (field(1, 8) + field(2, "nnex models/shapes/train.py") + field(5, 1) + field(6, doc) + field(7, graph) +
                field(8, field(2, 17)) + field(14, [field(1, k) + field(2, v) for k, v in metadata.items()]))


def save_onnx(net, accuracy, path):
    onnx, at = Onnx(), "picture"
    for layer in net: at = layer.node(onnx, at)
    onnx.node("Softmax", [at], "probabilities", axis=1)
    batch = ("N", "DATA_BATCH")
    picture = value_info("picture", [batch, (3, "DATA_CHANNEL"), (SIZE, "DATA_HEIGHT"), (SIZE, "DATA_WIDTH")],
                         "RGB pictures, each value of 0..255 times 1/255", "IMAGE")
    answer = value_info("probabilities", [batch, (len(LABELS), "")], "one for each of " + ", ".join(LABELS))
    metadata = {"labels": " ".join(LABELS), "preprocess.colour": "RGB", "preprocess.layout": "NCHW",
                "preprocess.size": f"{SIZE}x{SIZE}", "preprocess.scale": "1/255", "preprocess.mean": "0 0 0",
                "Image.BitmapPixelFormat": "Rgb8", "Image.ColorSpaceGamma": "SRGB",
                "Image.NominalPixelRange": "Normalized_0_1",
                "accuracy": f"{100 * accuracy:.1f} % of 1000 drawings it had not seen", "seed": str(SEED)}
    path.write_bytes(onnx.model([picture], [answer], "Tells eight drawn shapes apart: " + ", ".join(LABELS) + ".", metadata))


def save_png(path, picture):
    """8-bit RGB, no filter."""
    def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    h, w, _ = picture.shape
    rows = np.round(picture * 255).astype(np.uint8).reshape(h, w * 3)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r.tobytes() for r in rows), 9)) + chunk(b"IEND", b""))


def save_reference(net, pictures, folder):
    """Input and output as stored tensors; the output is this file's own forward pass in double, rounded once."""
    folder.mkdir(exist_ok=True)
    (folder / "input_0.pb").write_bytes(tensor("picture", pictures.transpose(0, 3, 1, 2)))
    (folder / "output_0.pb").write_bytes(tensor("probabilities", forward(net, pictures.astype(np.float64))))


def main():
    global rng
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    folder.mkdir(exist_ok=True)
    net = [Conv(3, 16, 3, first=True), BatchNorm(16), Relu(), MaxPool(),
           Conv(16, 32, 3), BatchNorm(32), Relu(), MaxPool(),
           Conv(32, 32, 3, depthwise=True), BatchNorm(32), Relu(), Conv(32, 64, 1), BatchNorm(64), Relu(),
           Conv(64, 96, 3, stride=2), BatchNorm(96), Relu(), Mean(), Dense(96, len(LABELS))]
    train(net)
    x, answers = drawings(1000)
    guesses = forward(net, x).argmax(1)
    accuracy = (guesses == answers).mean()
    print(f"{100 * accuracy:.1f} % of 1000 fresh drawings are named rightly")
    for k, label in enumerate(LABELS): print(f"  {label}: {100 * (guesses[answers == k] == k).mean():.0f} %")

    save_onnx(net, accuracy, folder / "model.onnx")
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n")
    rng = np.random.default_rng(PICTURES)
    large, answers = drawings(len(LABELS), 128)
    small = np.round(large * 255).reshape(-1, SIZE, 4, SIZE, 4, 3).mean((2, 4)).astype(np.float32) / np.float32(255)
    for picture, k, p in zip(large, answers, forward(net, small)):
        save_png(folder / f"{LABELS[k]}.png", picture)
        print(f"{LABELS[k]}.png: {LABELS[p.argmax()]}, {100 * p.max():.1f} %")
    save_reference(net, small[:1], folder / "test_data_set_0")
    save_reference(net, small, folder / "test_data_set_1")


if __name__ == "__main__":
    main()
