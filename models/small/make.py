"""Trains two small networks on data that it makes, for docs/quantize.md: depthwise.onnx and transformer.onnx. Needs numpy alone.

    OPENBLAS_NUM_THREADS=1 python3 models/small/make.py [depthwise] [transformer]      # about two minutes each
    python3 models/small/make.py bar NNEX          # the default alone; fails where the mean loss is more than 0.5 points
    python3 models/small/make.py judge NNEX        # quantises both, and models/shapes: the table of docs/quantize.md

depthwise names the drawings of models/shapes with depthwise and 1x1 convolutions, clamped at 6. transformer reads 40 pairs of a key and a
value and then a key, and says which value was beside that key most often.
"""
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "shapes"))
import train as shapes  # noqa: E402  drawings, layers and the writer of ONNX

SEED = 11


# ---- A depthwise network --------------------------------------------------------------------------------------------
class Relu6:
    params = grads = ()
    def forward(self, x, training): self.on = (x > 0) & (x < 6); return np.clip(x, 0, 6)
    def backward(self, dy): return dy * self.on
    def node(self, onnx, x): return onnx.node("Clip", [x, onnx.scalar(0.0), onnx.scalar(6.0)])


class Writer(shapes.Onnx):
    def scalar(self, x): return self.weight(np.array(x, np.float32))


def block(channels, out, stride=1):
    return [shapes.Conv(channels, channels, 3, stride=stride, depthwise=True), shapes.BatchNorm(channels), Relu6(),
            shapes.Conv(channels, out, 1), shapes.BatchNorm(out), Relu6()]


def depthwise(steps=1800, batch=32):
    shapes.rng = np.random.default_rng(SEED)
    shapes.STEPS, shapes.BATCH = steps, batch
    net = [shapes.Conv(3, 16, 3, stride=2, first=True), shapes.BatchNorm(16), Relu6(),
           *block(16, 32), *block(32, 48, 2), *block(48, 64), *block(64, 96, 2), shapes.Mean(),
           shapes.Dense(96, len(shapes.LABELS))]
    shapes.train(net)
    x, answers = shapes.drawings(1000)
    accuracy = (shapes.forward(net, x).argmax(1) == answers).mean()
    print(f"depthwise: {100 * accuracy:.1f} % of 1000 fresh drawings are named rightly")
    onnx, at = Writer(), "picture"
    for layer in net: at = layer.node(onnx, at)
    onnx.node("Softmax", [at], "probabilities", axis=1)
    picture = shapes.value_info("picture", [("N", ""), (3, ""), (shapes.SIZE, ""), (shapes.SIZE, "")], "RGB, 0 to 1", "IMAGE")
    answer = shapes.value_info("probabilities", [("N", ""), (len(shapes.LABELS), "")], "one for each shape")
    (HERE / "depthwise.onnx").write_bytes(onnx.model([picture], [answer], "Names drawn shapes.", {"seed": str(SEED)}))


# ---- A transformer --------------------------------------------------------------------------------------------------
KEYS, VALUES, PAIRS, WIDTH, HEADS, DEPTH = 2, 8, 40, 48, 4, 2
TOKENS, LENGTH = KEYS * VALUES + KEYS, PAIRS + 1


def sequences(rng, count):
    """Tokens [count, LENGTH] and answers; sequences whose answer two values share are left out."""
    n = 2 * count
    keys, values, key = rng.integers(0, KEYS, (n, PAIRS)), rng.integers(0, VALUES, (n, PAIRS)), rng.integers(0, KEYS, (n, 1))
    often = ((values[..., None] == np.arange(VALUES)) & (keys == key)[..., None]).sum(1)
    clear = np.flatnonzero((often == often.max(1, keepdims=True)).sum(1) == 1)
    if len(clear) < count: return sequences(rng, count)
    tokens = np.concatenate([keys * VALUES + values, KEYS * VALUES + key], 1)[clear[:count]]
    return tokens, often[clear[:count]].argmax(1)


class Transformer:
    """p: parameters by name. forward keeps what backward needs."""
    def __init__(self, rng):
        def w(*shape): return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        self.p = {"token": (rng.standard_normal((TOKENS, WIDTH)) * 0.5).astype(np.float32), "out_w": w(WIDTH, VALUES),
                  "out_b": np.zeros(VALUES, np.float32), "norm_g": np.ones(WIDTH, np.float32), "norm_b": np.zeros(WIDTH, np.float32)}
        for i in range(DEPTH):
            for name, shape in (("q", (WIDTH, WIDTH)), ("k", (WIDTH, WIDTH)), ("v", (WIDTH, WIDTH)), ("o", (WIDTH, WIDTH)),
                                ("up", (WIDTH, 2 * WIDTH)), ("down", (2 * WIDTH, WIDTH))):
                self.p[f"{i}{name}_w"], self.p[f"{i}{name}_b"] = w(*shape), np.zeros(shape[1], np.float32)
            for name in ("a", "m"):
                self.p[f"{i}{name}_g"], self.p[f"{i}{name}_b"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def norm(self, x, name):
        mean, scale = x.mean(-1, keepdims=True), 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        n = (x - mean) * scale
        self.kept[name] = n, scale
        return n * self.p[name + "_g"] + self.p[name + "_b"]

    def norm_back(self, dy, name):
        n, scale = self.kept[name]
        axes = tuple(range(dy.ndim - 1))
        self.g[name + "_g"], self.g[name + "_b"] = (dy * n).sum(axes), dy.sum(axes)
        dn = dy * self.p[name + "_g"]
        return scale * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))

    def dense(self, x, name):
        self.kept[name] = x
        return x @ self.p[name + "_w"] + self.p[name + "_b"]

    def dense_back(self, dy, name):
        x = self.kept[name]
        self.g[name + "_w"] = x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])
        self.g[name + "_b"] = dy.reshape(-1, dy.shape[-1]).sum(0)
        return dy @ self.p[name + "_w"].T

    def gelu(self, x, name):
        t = np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3))
        self.kept[name] = x, t
        return 0.5 * x * (1 + t)

    def gelu_back(self, dy, name):
        x, t = self.kept[name]
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x))

    def heads(self, x): return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)
    def joined(self, x): return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)

    def forward(self, tokens):
        self.kept, self.tokens = {}, tokens
        x = self.p["token"][tokens]
        for i in range(DEPTH):
            n = self.norm(x, f"{i}a")
            q, k, v = (self.heads(self.dense(n, f"{i}{c}")) for c in "qkv")
            a = shapes_softmax(q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS)))
            self.kept[f"{i}attention"] = q, k, v, a
            x = x + self.dense(self.joined(a @ v), f"{i}o")
            x = x + self.dense(self.gelu(self.dense(self.norm(x, f"{i}m"), f"{i}up"), f"{i}gelu"), f"{i}down")
        return self.dense(self.norm(x, "norm")[:, -1], "out")

    def backward(self, dy):
        self.g = {}
        d = self.dense_back(dy, "out")
        full = np.zeros((len(dy), LENGTH, WIDTH), np.float32)
        full[:, -1] = d
        dx = self.norm_back(full, "norm")
        for i in reversed(range(DEPTH)):
            dx = dx + self.norm_back(self.dense_back(self.gelu_back(self.dense_back(dx, f"{i}down"), f"{i}gelu"), f"{i}up"), f"{i}m")
            q, k, v, a = self.kept[f"{i}attention"]
            do = self.heads(self.dense_back(dx, f"{i}o"))
            da = do @ v.transpose(0, 1, 3, 2)
            ds = a * (da - (da * a).sum(-1, keepdims=True)) / np.float32(np.sqrt(WIDTH // HEADS))
            parts = (ds @ k, ds.transpose(0, 1, 3, 2) @ q, a.transpose(0, 1, 3, 2) @ do)
            dx = dx + self.norm_back(sum(self.dense_back(self.joined(p), f"{i}{c}") for p, c in zip(parts, "qkv")), f"{i}a")
        self.g["token"] = np.zeros_like(self.p["token"])
        np.add.at(self.g["token"], self.tokens, dx)
        return self.g


def shapes_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class TransformerWriter:
    """Nodes and initializers of ONNX; attributes are whole numbers, lists of them, floats or text."""
    def __init__(self): self.nodes, self.weights, self.count = [], [], 0

    def attribute(self, name, v):
        f = shapes.field
        if isinstance(v, float): return f(1, name) + f(2, v) + f(20, 1)
        if isinstance(v, str): return f(1, name) + f(4, v) + f(20, 3)
        return shapes.attribute(name, v)

    def node(self, op, inputs, output=None, **attributes):
        self.count += 1
        output = output or f"{op.lower()}_{self.count}"
        f = shapes.field
        self.nodes.append(f(1, inputs) + f(2, output) + f(3, output) + f(4, op) + f(5, [self.attribute(*a) for a in attributes.items()]))
        return output

    def weight(self, name, a):
        if a.dtype == np.int64:
            self.weights.append(shapes.field(1, list(a.shape)) + shapes.field(2, 7) + shapes.field(8, name) + shapes.field(9, a.tobytes()))
        else:
            self.weights.append(shapes.tensor(name, a))
        return name


def save_transformer(net, path):
    o = TransformerWriter()
    for name, a in net.p.items(): o.weight(name, a)
    o.weight("scale", np.array(1 / np.sqrt(WIDTH // HEADS), np.float32))
    o.weight("to_heads", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64)), o.weight("to_rows", np.array([0, 0, WIDTH], np.int64))
    o.weight("last", np.array(LENGTH - 1, np.int64))
    def norm(x, name): return o.node("LayerNormalization", [x, name + "_g", name + "_b"], axis=-1 & (2**64 - 1), epsilon=1e-5)
    def dense(x, name): return o.node("Add", [o.node("MatMul", [x, name + "_w"]), name + "_b"])
    x = o.node("Gather", ["token", "tokens"])
    for i in range(DEPTH):
        n = norm(x, f"{i}a")
        q, k, v = (o.node("Transpose", [o.node("Reshape", [dense(n, f"{i}{c}"), "to_heads"])], perm=p)
                   for c, p in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        a = o.node("Softmax", [o.node("Mul", [o.node("MatMul", [q, k]), "scale"])], axis=3)
        joined = o.node("Reshape", [o.node("Transpose", [o.node("MatMul", [a, v])], perm=[0, 2, 1, 3]), "to_rows"])
        x = o.node("Add", [x, dense(joined, f"{i}o")])
        x = o.node("Add", [x, dense(o.node("Gelu", [dense(norm(x, f"{i}m"), f"{i}up")], approximate="tanh"), f"{i}down")])
    last = o.node("Gather", [norm(x, "norm"), "last"], axis=1)
    o.node("Gemm", [last, "out_w", "out_b"], "answer")
    f, vi = shapes.field, shapes.value_info
    tokens = f(1, "tokens") + f(2, f(1, f(1, 7) + f(2, f(1, [f(2, "N"), f(1, LENGTH)]))))
    graph = f(1, o.nodes) + f(2, "transformer") + f(5, o.weights) + f(11, [tokens]) + f(12, [vi("answer", [("N", ""), (VALUES, "")], "")])
    path.write_bytes(f(1, 10) + f(2, "nnex models/small/make.py") + f(7, graph) + f(8, f(2, 20)))


def transformer(steps=700, batch=32):
    rng = np.random.default_rng(SEED)
    net, start, right = Transformer(rng), time.time(), 0.0
    moments = {n: (np.zeros_like(a), np.zeros_like(a)) for n, a in net.p.items()}
    for step in range(1, steps + 1):
        tokens, answers = sequences(rng, batch)
        p = shapes_softmax(net.forward(tokens))
        right += 0.05 * ((p.argmax(1) == answers).mean() - right)
        grads = net.backward(((p - np.eye(VALUES)[answers]) / batch).astype(np.float32))
        rate = 0.002 * min(1, step / 100) * (1 + np.cos(np.pi * step / steps)) / 2
        for n, (m, v) in moments.items():
            m += 0.1 * (grads[n] - m)
            v += 0.01 * (grads[n]**2 - v)
            net.p[n] -= (rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)).astype(np.float32)
        if step % 100 == 0: print(f"step {step}: about {100 * right:.0f} % right, {time.time() - start:.0f} s", flush=True)
    tokens, answers = sequences(rng, 2000)
    print(f"transformer: {100 * (net.forward(tokens).argmax(1) == answers).mean():.1f} % of 2000 fresh sequences")
    save_transformer(net, HERE / "transformer.onnx")


# ---- The table of docs/quantize.md ------------------------------------------------------------------------------------
def data(folder):
    """By input: samples to calibrate on, tests, and their answers, which no training has seen."""
    shapes.rng, rng = np.random.default_rng(SEED + 1), np.random.default_rng(SEED + 1)
    out = {}
    for name, input_name, draw in (("drawings", "picture", lambda n: shapes.drawings(n)), ("sequences", "tokens", lambda n: sequences(rng, n))):
        samples, (tests, answers) = draw(500)[0], draw(2000)
        if name == "drawings":
            samples, tests = (np.round(x.transpose(0, 3, 1, 2) * 255).astype(np.float32) / np.float32(255) for x in (samples, tests))
        np.savez(folder / f"{name}.npz", **{input_name: samples}), np.savez(folder / f"{name}_test.npz", **{input_name: tests})
        np.savez(folder / f"{name}_pixels.npz", data=np.round(tests * 255).astype(np.int32))
        out[name] = answers
    return out


def right(nnex, model, inputs, answers, folder):
    """The part of the tests, in percent, whose largest output is the answer."""
    out = folder / "out.npy"
    done = subprocess.run([nnex, "run", model, "-i", inputs, "--save", out, "--force"], capture_output=True, text=True)
    if done.returncode: raise RuntimeError(done.stderr)
    return 100 * (np.load(out).argmax(1) == answers).mean()


DEFAULT = "`--method mse` (the default)"


def judge(nnex, only=""):
    """Prints the table; with `only`, that way's row alone. The mean loss of that way, or of the default, in points."""
    ways = {"`--method minmax`": ["--method", "minmax"], "`--method percentile`": ["--method", "percentile"],
            DEFAULT: [], "`--method entropy`": ["--method", "entropy"],
            "`--equalize --smooth`": ["--equalize", "--smooth"], "`--per-tensor`": ["--per-tensor"],
            "`--plan measured`": ["--plan", "measured"], "`--weights int4`": ["--weights", "int4"], "`--to cvm`": ["--to", "cvm"]}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        answers = data(folder)
        if only: ways = {only: ways[only]}
        rows, loss = {way: [] for way in ["float", *ways]}, []
        for path, name in ((HERE.parent / "shapes" / "model.onnx", "drawings"), (HERE / "depthwise.onnx", "drawings"), (HERE / "transformer.onnx", "sequences")):
            tests = folder / f"{name}_test.npz"
            plain = right(nnex, path, tests, answers[name], folder)
            rows["float"].append(f"{plain:.2f}")
            for way, words in ways.items():
                whole, recipe = "cvm" in words, folder / "recipe.json"
                made = folder / ("whole" if whole else "q.onnx")
                def call(*more):
                    return subprocess.run([nnex, "quantize", path, "-o", made, "--force", "--json", "--threads", "1", *words, *more], capture_output=True, text=True)
                if whole:  # samples of one, then all tests at once
                    done = call("--set", "N=1", "--calibrate", folder / f"{name}.npz", "--save-recipe", recipe)
                    report = done.stdout
                    if done.returncode == 0: done = call("--set", "N=2000", "--recipe", recipe, "--no-judge")
                else:
                    done = call("--calibrate", folder / f"{name}.npz")
                    report = done.stdout
                if done.returncode == 4:
                    rows[way].append("-")
                    continue
                if done.returncode: raise RuntimeError(done.stderr)
                report = json.loads(report)
                coded = right(nnex, made, folder / "drawings_pixels.npz" if whole else tests, answers[name], folder)
                if way in (only, DEFAULT): loss.append(plain - coded)
                cell = f"{coded:.2f}"
                if "float_us" in report: cell += f" ({report['float_us'] / report['quantized_us']:.2f})"
                rows[way].append(cell)
    for way, cells in rows.items(): print(f"| {way} | " + " | ".join(cells) + " |")
    return sum(loss) / len(loss)


def main():
    words = sys.argv[1:] or ["depthwise", "transformer"]
    if words[0] == "judge": return print(f"mean loss {judge(words[1]):.2f} points")
    if words[0] == "bar":
        loss = judge(words[1], DEFAULT)
        return sys.exit(f"mean loss {loss:.2f} points; needed at most 0.5" if loss > 0.5 else 0)
    for word in words: {"depthwise": depthwise, "transformer": transformer}[word]()


if __name__ == "__main__":
    main()
