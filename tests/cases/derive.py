#!/usr/bin/env python3
"""Works out the expected values of tests/cases/ops again, with numpy and from each operator's rule, without nnex.

Cases of operators it has no rule for (regions, samplers, quantised convolutions) are counted as not derived.

    python3 tests/cases/derive.py            every case; ends in: N agree, N differ, N not derived
"""
import ast
import math
import pathlib
import re
import shlex
import sys

import numpy as np

np.seterr(all="ignore")
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bool": np.bool_, "str": object,
         **{f"i{b}": np.dtype(f"int{b}").type for b in (8, 16, 32, 64)},
         **{f"u{b}": np.dtype(f"uint{b}").type for b in (8, 16, 32, 64)}, "i4": np.int8}
RANGE = {"i4": (-8, 7)}


def limits(name):
    if name in RANGE:
        return RANGE[name]
    info = np.iinfo(TYPES[name])
    return int(info.min), int(info.max)


class T:
    """A tensor of a case: its type's name and its elements."""

    def __init__(self, dtype, data):
        self.dtype, self.a = dtype, data


def parse_tensor(text, words):
    dtype, extents = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    shape = [int(e) for e in extents.split(",") if e]
    if dtype == "bool":
        data = [w == "true" for w in words]
    elif dtype[0] in "iu":
        data = [int(w) for w in words]
    elif dtype == "str":
        data = list(words)
    else:
        data = [float(w) for w in words]
    if dtype[0] in "iu":
        a = np.array(data, dtype=TYPES[dtype])
    else:
        a = np.array(data, dtype=object if dtype == "str" else TYPES[dtype])
    return T(dtype, a.reshape(shape))


def attribute(text):
    """True or false, what Python writes alike, or a tensor with its elements: f32[2](1, 2)."""
    if text in ("true", "false"):
        return text == "true"
    tensor = re.fullmatch(r"(\w+\[.*\])\((.*)\)", text)
    return parse_tensor(tensor[1], re.findall(r"[^\s,]+", tensor[2])).a if tensor else ast.literal_eval(text)


def read(path):
    case = None
    for line in path.read_text().splitlines():
        words = shlex.split(line.split("#")[0])
        if not words:
            continue
        if words[0] in ("case", "error"):
            if case:
                yield case
            case = {"name": words[1], "error": words[0] == "error", "tensors": [], "attrs": {}}
        elif words[0] == "says":
            case["says"] = words[1]
        elif words[1] == "=":
            value = line.split("=", 1)[1].strip()
            case["attrs"][words[0]] = attribute(value)
        else:
            near = {"ulp": 0.0, "abs": 0.0, "rel": 0.0}
            elements = words[3:]
            while words[2] == "~" and len(elements) >= 2 and elements[-2] in near:
                near[elements[-2]] = float(elements[-1])
                elements = elements[:-2]
            try:
                case["tensors"].append((words[0], parse_tensor(words[1], elements), near))
            except (KeyError, ValueError):
                case["strange"] = True  # an element type that numpy lacks
    if case:
        yield case


# ---- Rules. Each takes inputs by name (lists where a name comes more than once) and attributes; gives outputs by name.

RULES = {}


def rule(*names):
    def add(f):
        for n in names:
            RULES[n] = f
        return f
    return add


def wide(t):
    return t.a.astype(np.float64)


def real(f):
    """y = f(x) on doubles, rounded once to x's type."""
    return lambda c: {"y": f(wide(c["x"]), c)}


erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


RULES.update({
    "affine": real(lambda x, c: c.get("alpha", 1.0) * x + c.get("beta", 0.0)),
    "celu": real(lambda x, c: np.maximum(x, 0) + np.minimum(0, c.get("alpha", 1.0) * np.expm1(x / c.get("alpha", 1.0)))),
    "elu": real(lambda x, c: np.where(x < 0, c.get("alpha", 1.0) * np.expm1(x), x)),
    "erf": real(lambda x, c: erf(x)),
    "gelu": real(lambda x, c: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
                 if c.get("form") == "tanh" else 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    "hard_sigmoid": real(lambda x, c: np.clip(c.get("alpha", 0.2) * x + c.get("beta", 0.5), 0, 1)),
    "hard_swish": real(lambda x, c: x * np.clip(x + 3, 0, 6) / 6),
    "leaky_relu": real(lambda x, c: np.where(x < 0, c.get("alpha", 0.01) * x, x)),
    "log2": real(lambda x, c: np.log2(x)),
    "mish": real(lambda x, c: x * np.tanh(np.log1p(np.exp(x)))),
    "relu": real(lambda x, c: np.where(x > 0, x, 0) if c.get("nans") == "compare" else np.where(x < 0, 0, x)),
    "selu": real(lambda x, c: 1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * np.expm1(x), x)),
    "shrink": real(lambda x, c: np.where(x < -c["lambda"], x + c["bias"], np.where(x > c["lambda"], x - c["bias"], 0))),
    "sigmoid": real(lambda x, c: sigmoid(x)),
    "sign": real(lambda x, c: np.sign(x)),
    "silu": real(lambda x, c: x * sigmoid(c.get("alpha", 1.0) * x)),
    "softplus": real(lambda x, c: np.logaddexp(x, 0)),
    "softsign": real(lambda x, c: x / (1 + np.abs(x))),
    "thresholded_relu": real(lambda x, c: np.where(x > c.get("alpha", 1.0), x, 0)),
})


def wrapped(value, name):
    """A Python integer in two's complement."""
    low, high = limits(name)
    return (int(value) - low) % (high - low + 1) + low


def saturated(x, name, rounding=math.trunc):
    low, high = limits(name)
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return high if x > 0 else low
    return min(max(rounding(x), low), high)


def each(f, out="z"):
    """Two operands broadcast; integers exactly in Python, then wrapped; reals in double."""
    def go(c):
        x, y = c["x"], c["y"]
        a, b = np.broadcast_arrays(x.a, y.a)
        if x.dtype[0] in "iu":
            data = [wrapped(f(int(p), int(q) if y.dtype[0] in "iu" else float(q)), x.dtype) for p, q in zip(a.flat, b.flat)]
        else:
            data = [f(float(p), float(q)) for p, q in zip(a.flat, b.flat)]
        return {out: np.array(data, dtype=TYPES[x.dtype]).reshape(a.shape)}
    return go


def trunc_div(p, q):
    if isinstance(p, float):
        return np.float64(p) / np.float64(q)
    if q == 0:
        return 0
    return abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)


def power(p, q):
    if isinstance(p, int) and isinstance(q, int):
        if q >= 0:
            return p ** q
        return 0 if abs(p) != 1 else p ** (q % 2)
    return math.trunc(float(p) ** q)


def nan_extreme(pick):
    def f(p, q):
        if p != p or q != q:
            return math.nan
        if p == q == 0:  # the sign tells zeros apart
            signs = [math.copysign(1, p), math.copysign(1, q)]
            return math.copysign(0.0, pick(signs))
        return pick(p, q)
    return f


def extreme(pick, before):
    """NaN passes, or NNEF's select(before(x, y), x, y)."""
    return lambda c: each((lambda p, q: p if before(p, q) else q) if c.get("nans") == "compare" else nan_extreme(pick))(c)


RULES.update({
    "add": each(lambda p, q: p + q), "sub": each(lambda p, q: p - q), "mul": each(lambda p, q: p * q),
    "div": each(trunc_div), "pow": each(power),
    "max": extreme(max, lambda p, q: p > q), "min": extreme(min, lambda p, q: p < q),
    "prelu": each(lambda p, q: p),
    "bitwise_xor": each(lambda p, q: p ^ q),
})


@rule("prelu")
def prelu(c):
    x, a = np.broadcast_arrays(wide(c["x"]), wide(c["alpha"]))
    return {"y": np.where(x < 0, a * x, x)}


@rule("mod")
def mod(c):
    if c.get("division") == "truncate":
        return each(lambda p, q: p - q * trunc_div(p, q) if q else 0)(c)
    if c["x"].dtype[0] == "f":
        x, y = c["x"].a, c["y"].a  # the fmod of the type itself is exact
        m = np.fmod(x, y)
        return {"z": np.where((m != 0) & ((m < 0) != (y < 0)), m + y, m)}
    return each(lambda p, q: p % q if q else 0)(c)


@rule("abs", "neg", "sqr", "bitwise_not")
def whole_unary(c):
    f = {"abs": abs, "neg": lambda v: -v, "sqr": lambda v: v * v, "bitwise_not": lambda v: ~v}[c["row"]]
    x = c["x"]
    return {"y": np.array([wrapped(f(int(v)), x.dtype) for v in x.a.flat], dtype=x.a.dtype).reshape(x.a.shape)}


@rule("bit_shift")
def bit_shift(c):
    x, y = c["x"], c["y"]
    bits = x.a.dtype.itemsize * 8
    out = []
    for v, by in zip(x.a.flat, y.a.flat):
        v, by = int(v), int(by)
        if c["direction"] == "left":
            out.append(wrapped(v << by, x.dtype) if by < bits else 0)
        else:
            out.append(v >> by if by < bits else (0 if v >= 0 else -1))
    return {"z": np.array(out)}


@rule("add_n")
def add_n(c):
    total = np.float32(0)
    for t in c.get("x", []):
        total = total + t.a
    return {"y": np.asarray(total)}


def answer(f):
    def go(c):
        a, b = np.broadcast_arrays(c["x"].a, c["y"].a)
        return {"z": np.array([f(p, q) for p, q in zip(a.flat, b.flat)]).reshape(a.shape)}
    return go


RULES.update({
    "eq": answer(lambda p, q: p == q), "ne": answer(lambda p, q: p != q), "lt": answer(lambda p, q: p < q),
    "le": answer(lambda p, q: p <= q), "gt": answer(lambda p, q: p > q),
    "and": answer(lambda p, q: p != 0 and q != 0), "xor": answer(lambda p, q: (p != 0) != (q != 0)),
    "not": lambda c: {"y": c["x"].a == 0},
    "is_nan": lambda c: {"y": np.isnan(c["x"].a)},
})


@rule("is_inf")
def is_inf(c):
    x = c["x"].a.astype(np.float64)
    return {"y": (np.isposinf(x) & c.get("positive", True)) | (np.isneginf(x) & c.get("negative", True))}


@rule("select")
def select(c):
    return {"z": np.where(c["condition"].a != 0, c["x"].a, c["y"].a)}


@rule("clamp")
def clamp(c):
    x = wide(c["x"])
    if c.get("nans") == "compare":
        if c.get("crossed") == "high":
            return {"y": -by_comparison(-x, -wide(c["high"]), -wide(c["low"]))}
        return {"y": by_comparison(x, wide(c["low"]), wide(c["high"]))}
    low = wide(c["low"]) if "low" in c and not np.isnan(c["low"].a).any() else -np.inf
    high = wide(c["high"]) if "high" in c and not np.isnan(c["high"].a).any() else np.inf
    if c.get("crossed") == "high":
        y = np.where(x > high, high, np.where(x < low, low, x)) if np.all(low <= high) else np.full_like(x, high)
    else:
        y = np.where(x > high, high, x)
        y = np.where(y < low, low, y)
    return {"y": y}


@rule("round")
def round_to(c):
    x = wide(c["x"])
    how = c.get("rounding", "half_even")
    if how == "half_even":
        return {"y": np.rint(x)}
    if how == "half_up":
        return {"y": np.floor(x + 0.5)}
    return {"y": np.sign(x) * np.floor(np.abs(x) + 0.5)}


@rule("cast")
def cast(c):
    x, to = c["x"], c["to"]
    if x.dtype == "str" and to == "bool":
        return {"y": np.array([t == "True" or (t != "False" and float(t) != 0) for t in x.a.flat])}
    if x.dtype == "str" and to[0] in "iu":  # the nearest number of the type, exactly
        whole = [int(t) if t.lstrip("+-").isdigit() else math.trunc(float(t)) for t in x.a.flat]
        limits = np.iinfo(TYPES[to])
        return {"y": np.array([min(max(v, limits.min), limits.max) for v in whole], dtype=TYPES[to])}
    if to == "bool":
        return {"y": x.a != 0}
    if x.dtype[0] in "iu":
        return {"y": np.array([wrapped(int(v), to) for v in x.a.flat])}
    if to[0] in "iu":
        how = math.floor if c.get("rounding") == "floor" else math.trunc
        return {"y": np.array([saturated(float(v), to, how) for v in x.a.flat])}
    return {"y": x.a.astype(TYPES[to])}


@rule("bit_cast")
def bit_cast(c):
    return {"y": c["x"].a.view(TYPES[c["to"]])}


# ---- Sums over axes

def axes_of(c):
    x = c["x"].a
    axes = c["axes"].a.tolist() if "axes" in c and isinstance(c["axes"], T) else c.get("axes")
    if c.get("to_end"):
        return tuple(range(axes[0] % x.ndim, x.ndim))
    if axes is None or (not axes and c.get("when_empty") == "all"):
        return tuple(range(x.ndim))
    return tuple(a % x.ndim for a in axes)


def reduced(f):
    def go(c):
        axes = axes_of(c)
        x = c["x"].a
        keep = c.get("keepdims", True)
        if not axes:
            return {"y": x}
        return {"y": f(x, axes, keep, c)}
    return go


def mean(x, axes, keep, c):
    n = int(np.prod([x.shape[a] for a in axes]))
    if x.dtype.kind in "iu":
        sums = np.sum(x.astype(object), axis=axes, keepdims=keep)
        return np.vectorize(lambda s: trunc_div(int(s), n), otypes=[object])(sums)
    return np.sum(x.astype(np.float64), axis=axes, keepdims=keep) / np.float64(n)


def extreme(largest):
    def f(x, axes, keep, c):
        if x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            start = int(info.min if largest else info.max)
        else:
            start = -np.inf if largest else np.inf
        if "initial" in c:
            start = x.dtype.type(c["initial"])
        return (np.max if largest else np.min)(x, axis=axes, keepdims=keep, initial=start)
    return f


RULES.update({
    "sum_reduce": reduced(lambda x, a, k, c: np.sum(x, axis=a, keepdims=k, dtype=x.dtype)),
    "mean_reduce": reduced(mean),
    "max_reduce": reduced(extreme(True)), "min_reduce": reduced(extreme(False)),
    "reduce_prod": reduced(lambda x, a, k, c: np.prod(x, axis=a, keepdims=k, dtype=x.dtype)),
    "reduce_l1": reduced(lambda x, a, k, c: np.sum(np.abs(x), axis=a, keepdims=k)),
    "reduce_l2": reduced(lambda x, a, k, c: np.sqrt(np.sum(x.astype(np.float64) ** 2, axis=a, keepdims=k)).astype(x.dtype)),
    "reduce_log_sum": reduced(lambda x, a, k, c: np.log(np.sum(x.astype(np.float64), axis=a, keepdims=k))),
    "reduce_log_sum_exp": reduced(lambda x, a, k, c: np.logaddexp.reduce(x.astype(np.float64), axis=a[0], keepdims=k)),
    "all_reduce": reduced(lambda x, a, k, c: np.all(x != 0, axis=a, keepdims=k)),
    "any_reduce": reduced(lambda x, a, k, c: np.any(x != 0, axis=a, keepdims=k)),
})


@rule("argmax_reduce", "argmin_reduce")
def positions(c):
    """The first (or last) extreme over the axes; a NaN is more extreme than every number."""
    x = wide(c["x"])
    axes = tuple(a % x.ndim for a in c["axes"])
    others = [a for a in range(x.ndim) if a not in axes]
    rows = np.transpose(x, others + sorted(axes)).reshape([x.shape[a] for a in others] + [-1])
    if c["row"] == "argmin_reduce":
        rows = -rows
    rows = np.where(np.isnan(rows), np.inf, rows)
    at = np.argmax(rows, axis=-1) if c.get("ties") != "last" else rows.shape[-1] - 1 - np.argmax(rows[..., ::-1], axis=-1)
    if c.get("keepdims", True):
        at = np.reshape(at, [1 if a in axes else x.shape[a] for a in range(x.ndim)])
    return {"index": at}


@rule("cum_sum", "cum_prod")
def running(c):
    x = c["x"].a
    axis = int(np.ravel(c["axis"].a)[0])
    f, start = (np.cumsum, 0) if c["row"] == "cum_sum" else (np.cumprod, 1)
    if c.get("reverse"):
        x = np.flip(x, axis)
    y = f(x, axis=axis)
    if c.get("exclusive"):
        y = np.concatenate([np.full_like(np.take(y, [0], axis), start), np.delete(y, -1, axis)], axis)
    return {"y": np.flip(y, axis) if c.get("reverse") else y}


@rule("moments")
def moments(c):
    x, axes = wide(c["x"]), axes_of(c)
    return {"mean": x.mean(axis=axes, keepdims=True), "variance": x.var(axis=axes, keepdims=True)}


@rule("softmax", "log_softmax", "hardmax")
def softmax(c):
    x = wide(c["x"])
    axes = tuple(a % x.ndim for a in c.get("axes", [-1]))
    if c.get("to_end"):
        axes = tuple(range(axes[0], x.ndim))
    if c["row"] == "hardmax":
        rows = np.where(np.isnan(x), np.inf, x)
        return {"y": np.eye(x.shape[-1])[np.argmax(rows, axis=-1)]}
    s = x - x.max(axis=axes, keepdims=True)
    e = np.exp(s)
    total = e.sum(axis=axes, keepdims=True)
    return {"y": e / total if c["row"] == "softmax" else s - np.log(total)}


# ---- Attention

def heads(c, name, n):
    x = wide(c[name])
    return x if x.ndim == 4 else np.swapaxes(x.reshape(*x.shape[:2], n, -1), 1, 2)


@rule("attention")
def attention(c):
    q, k, v = heads(c, "q", c.get("q_heads")), heads(c, "k", c.get("kv_heads")), heads(c, "v", c.get("kv_heads"))
    past = c["past_key"].a.shape[2] if "past_key" in c else None
    if past is not None:
        k, v = (np.concatenate([wide(c[f"past_{n}"]), x], axis=2) for n, x in (("key", k), ("value", v)))
    out = {"key": k, "value": v}
    batch, queries, total, group = q.shape[0], q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
    valid = np.clip(c["lengths"].a, 0, total) if "lengths" in c else np.full(batch, total)
    i, j = np.mgrid[:queries, :total]
    scores = np.einsum("bhie,bhje->bhij", q, np.repeat(k, group, axis=1)) * (c.get("scale") or q.shape[3] ** -0.5)
    stages = {"raw": scores}
    if c.get("softcap"):
        scores = np.tanh(scores / c["softcap"]) * c["softcap"]
    stages["capped"] = scores
    seen = np.ones(scores.shape, bool)
    for b in range(batch):
        at = i + (past if past is not None else valid[b] - queries if "lengths" in c else 0)
        left, right = c.get("left_window", -1), 0 if c.get("causal") else c.get("right_window", -1)
        seen[b] &= (j < valid[b]) & ((right < 0) | (j <= at + right)) & ((left < 0) | (j >= at - left))
    if "mask" in c:
        mask = c["mask"].a
        seen[..., mask.shape[-1]:] = False
        said = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, total - mask.shape[-1])])
        if mask.dtype == np.bool_:
            seen &= said
        else:
            scores = scores + said
    scores = np.where(seen, scores, -np.inf)
    stages["biased"] = scores
    sink = wide(c["sink"])[:, None, None] if "sink" in c else -np.inf
    most = np.maximum(scores.max(axis=-1, keepdims=True, initial=-np.inf), sink)
    e = np.exp(scores - most)
    p = e / (e.sum(axis=-1, keepdims=True) + np.exp(sink - most))
    if c.get("guard", True):
        p = np.where((scores == -np.inf).all(axis=-1, keepdims=True), 0, p)
    stages["softmax"] = p
    y = np.stack([np.einsum("hij,hje->hie", p[b, :, :, :n], np.repeat(v, group, axis=1)[b, :, :n])
                  for b, n in enumerate(valid)])
    if c["q"].a.ndim == 3:
        y = np.swapaxes(y, 1, 2).reshape(batch, queries, -1)
    return {**out, "y": y, "scores": stages[c.get("scores_at", "raw")]}


@rule("rotary_embedding")
def rotary_embedding(c):
    x, cos, sin = wide(c["x"]), wide(c["cos"]), wide(c["sin"])
    if "position" in c:
        cos, sin = cos[c["position"].a], sin[c["position"].a]
    x4 = np.swapaxes(x.reshape(*x.shape[:2], c["heads"], -1), 1, 2) if x.ndim == 3 else x
    n, cos, sin = c.get("rotary_dim") or x4.shape[-1], cos[:, None], sin[:, None]
    re, im = (slice(0, n, 2), slice(1, n, 2)) if c.get("interleaved") else (slice(0, n // 2), slice(n // 2, n))
    y = x4.copy()
    y[..., re], y[..., im] = x4[..., re] * cos - x4[..., im] * sin, x4[..., re] * sin + x4[..., im] * cos
    return {"y": np.swapaxes(y, 1, 2).reshape(x.shape) if x.ndim == 3 else y}


@rule("linear_attention")
def linear_attention(c):
    of_q, of_k, kind = c["q_heads"], c["kv_heads"], c.get("rule", "gated_delta")
    q, k, v = (np.swapaxes(wide(c[n]).reshape(*c[n].a.shape[:2], h, -1), 1, 2)
               for n, h in (("q", of_q), ("k", of_k), ("v", of_k)))
    state = wide(c["past"]) if "past" in c else np.zeros((*k.shape[:2], k.shape[3], v.shape[3]))
    y = []
    for t in range(q.shape[2]):
        change = v[:, :, t]
        if "gated" in kind:
            decay = wide(c["decay"])[:, t].reshape(state.shape[0], of_k, -1, 1)
            state = state * np.exp(decay)
        if "delta" in kind:
            beta = wide(c["beta"])[:, t].reshape(state.shape[0], -1, 1)
            change = beta * (change - np.einsum("bhd,bhde->bhe", k[:, :, t], state))
        state = state + np.einsum("bhd,bhe->bhde", k[:, :, t], change)
        y.append(np.einsum("bhd,bhde->bhe", q[:, :, t], np.repeat(state, of_q // of_k, axis=1)))
    y = np.stack(y, axis=1) * (c.get("scale") or k.shape[3] ** -0.5)
    return {"y": y.reshape(*y.shape[:2], -1), "state": state}


# ---- Products

@rule("matmul", "matmul_integer")
def matmul(c):
    x, y = c["x"].a, c["y"].a
    if c["row"] == "matmul_integer":
        def zero(name, a, axis):
            if name not in c:
                return 0
            z = c[name].a.astype(np.int64)
            return np.expand_dims(z, axis) if z.ndim == 1 and axis is not None else z
        x = x.astype(np.int64) - zero("x_zero", x, 1)
        y = y.astype(np.int64) - zero("y_zero", y, 0)
    if c.get("transposeA"):
        x = np.swapaxes(x, -1, -2)
    if c.get("transposeB"):
        y = np.swapaxes(y, -1, -2)
    z = np.matmul(x, y)
    return {"z": z}


@rule("linear")
def linear(c):
    z = c.get("alpha", 1.0) * (wide(c["x"]) @ wide(c["filter"]).T)
    return {"y": z + c.get("beta", 1.0) * wide(c["bias"]) if "bias" in c else z}


@rule("einsum")
def einsum(c):
    equation = c["equation"].replace(" ", "")
    return {"y": np.einsum(equation, *[t.a for t in c["x"]])}


@rule("det")
def det(c):
    x = wide(c["x"])
    return {"y": np.rint(np.linalg.det(x)) if x.size else np.ones(x.shape[:-2])}


def murmur3(data, seed):
    def rotated(word, by):
        return (word << by | word >> 32 - by) & 0xFFFFFFFF

    value = seed & 0xFFFFFFFF
    for at in range(0, len(data), 4):
        word = int.from_bytes(data[at:at + 4], "little") * 0xCC9E2D51 & 0xFFFFFFFF
        value ^= rotated(word, 15) * 0x1B873593 & 0xFFFFFFFF
        if at + 4 <= len(data):
            value = rotated(value, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = (value ^ value >> shift) * factor & 0xFFFFFFFF
    return value


@rule("murmur_hash")
def murmur_hash(c):
    items = c["x"].a
    data = [item.encode() if c["x"].dtype == "str" else item.tobytes() for item in items.ravel()]
    hashes = np.array([murmur3(item, c.get("seed", 0)) for item in data], dtype=np.uint32)
    return {"y": hashes.view(np.int32 if c.get("result", "u32") == "i32" else np.uint32).reshape(items.shape)}


@rule("inverse")
def inverse(c):
    x = wide(c["x"])
    y = np.full(x.shape, np.nan)
    for at in np.ndindex(x.shape[:-2]):
        if np.linalg.det(x[at]) != 0:
            y[at] = np.linalg.inv(x[at])
    return {"y": y}


@rule("gather_matmul")
def gather_matmul(c):
    matrices = wide(c["w"])[c["index"].a.astype(int)]
    if c.get("transposeB", False):
        matrices = np.swapaxes(matrices, -1, -2)
    return {"y": np.einsum("...k,...kn->...n", wide(c["x"]), matrices)}


@rule("qlinear_matmul")
def qlinear_matmul(c):
    x = (c["x"].a.astype(float) - c["x_zero"].a) * wide(c["x_scale"])
    y = (c["y"].a.astype(float) - c["y_zero"].a) * wide(c["y_scale"])
    z = np.rint(x @ y / wide(c["z_scale"])) + c["z_zero"].a
    low, high = limits(c["z_zero"].dtype)
    return {"z": np.clip(z, low, high)}


# ---- Quantisation

def spread(scale, shape, axis, block):
    """A scale for every element: one, one along an axis, or one a block."""
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(()), shape)
    if scale.ndim == 1:
        return np.broadcast_to(scale.reshape([-1 if a == axis % len(shape) else 1 for a in range(len(shape))]), shape)
    out = scale
    for a in range(len(shape)):
        if out.shape[a] != shape[a]:
            n = block if block else -(-shape[a] // out.shape[a])
            out = np.take(out, np.arange(shape[a]) // n, axis=a)
    return out


@rule("quantize_linear")
def quantize(c):
    x = wide(c["x"])
    result = c.get("result") or (c["zero"].dtype if "zero" in c else "u8")
    scale = spread(wide(c["scale"]), x.shape, c.get("axis", 1), c.get("block_size", 0))
    zero = spread(c["zero"].a.astype(float), x.shape, c.get("axis", 1), c.get("block_size", 0)) if "zero" in c else 0
    low, high = limits(result)
    return {"y": np.clip(np.rint(x / scale) + zero, low, high)}


@rule("dequantize_linear")
def dequantize(c):
    x = wide(c["x"])
    scale = spread(wide(c["scale"]), x.shape, c.get("axis", 1), 0)
    return {"y": (x - (wide(c["zero"]) if "zero" in c else 0)) * scale}


@rule("dequantize_codebook")
def dequantize_codes(c):
    x, scale = c["x"].a.astype(int), wide(c["scale"])
    if scale.ndim == x.ndim and "block_size" in c:
        scale = np.repeat(scale, c["block_size"], axis=c.get("axis", 1))
    elif scale.size > 1:
        scale = spread(scale, x.shape, c.get("axis", 1), 0)
    return {"y": wide(c["codebook"])[x] * scale}


@rule("dynamic_quantize_linear")
def dynamic(c):
    x = c["x"].a.astype(np.float32)
    low, high = (float(f(np.append(x, np.float32(0)))) for f in (np.min, np.max))
    scale = np.float32(1 / 255) if high == low else np.float32((high - low) / 255)
    codes = lambda v: np.nan_to_num(np.clip(v, 0, 255), nan=0)
    with np.errstate(invalid="ignore"):
        zero = codes(np.rint(-low / float(scale)))
        return {"y": codes(np.rint(x / scale) + zero), "scale": scale, "zero": zero}


def whole_range(bits, signed, symmetric):
    if signed:
        return -(2 ** (bits - 1)) + (1 if symmetric else 0), 2 ** (bits - 1) - 1
    return 0, 2 ** bits - 1


def by_comparison(x, low, high):
    """NNEF's clamp, of a NaN too."""
    y = np.where(x < high, x, high)
    return np.where(y > low, y, low)


@rule("min_max_linear_quantize")
def min_max(c):
    x, low, high = wide(c["x"]), float(c["low"].a), float(c["high"].a)
    steps = 2 ** c["bits"] - 1 - (1 if c["signed"] and c["symmetric"] else 0)
    q = by_comparison(x, low, high)
    if high == low:
        return {"y": q}
    step = (high - low) / steps
    return {"y": np.floor((q - low) / step + 0.5) * step + low}


@rule("zero_point_linear_quantize")
def zero_point(c):
    x, zero, scale = wide(c["x"]), wide(c["zero"]), wide(c["scale"])
    low, high = whole_range(c["bits"], c["signed"], c["symmetric"])
    return {"y": (by_comparison(np.rint(x / scale) + zero, low, high) - zero) * scale}


@rule("logarithmic_quantize")
def logarithmic(c):
    x = wide(c["x"])
    top = math.ceil(math.log2(float(c["high"].a)))
    steps = 2 ** c["bits"] - 1
    e = np.clip(np.floor(np.log2(np.abs(np.where(x == 0, 1, x))) + 0.5), top - steps, top)
    return {"y": np.where(x == 0, 0, np.sign(x) * 2.0 ** e)}


# ---- Moving elements

def ints(c, name, otherwise=None):
    """A parameter port or a list attribute, as integers."""
    if name not in c:
        return otherwise
    v = c[name]
    return [int(e) for e in (np.ravel(v.a) if isinstance(v, T) else np.ravel(v))]


def index_of(c):
    """Indices, counted from the end where negative, clamped where the case says so."""
    return c["index"].a.astype(np.int64)


@rule("gather")
def gather(c):
    x, axis = c["x"].a, c.get("axis", 0)
    i = index_of(c)
    if c.get("outside") == "clamp":
        counted = np.where(i < 0, i + x.shape[axis], i) if c.get("from_end", True) else i
        i = np.clip(counted, 0, x.shape[axis] - 1)
    return {"y": np.take(x, i, axis=axis)}


RULES.update({
    "gather_elements": lambda c: {"y": np.take_along_axis(c["x"].a, index_of(c), c.get("axis", 0))},
    "transpose": lambda c: {"y": np.transpose(c["x"].a, c.get("axes"))},
    "tile": lambda c: {"y": np.tile(c["x"].a, ints(c, "repeats"))},
    "expand": lambda c: {"y": np.broadcast_to(c["x"].a, np.broadcast_shapes(c["x"].a.shape, ints(c, "shape")))},
    "repeat": lambda c: {"y": np.repeat(c["x"].a, c["repeats"], axis=c.get("axis", 0))},
    "reverse": lambda c: {"y": np.flip(c["x"].a, c.get("axes"))},
    "concat": lambda c: {"y": np.concatenate([t.a for t in c["x"]], axis=c["axis"])},
    "stack": lambda c: {"y": np.stack([t.a for t in c["x"]], axis=c["axis"])},
    "shape": lambda c: {"y": np.array(c["x"].a.shape[slice(c.get("start"), c.get("end"))], dtype=np.int64)},
    "size": lambda c: {"y": np.array(c["x"].a.size)},
    "unsqueeze": lambda c: {"y": np.expand_dims(c["x"].a, tuple(ints(c, "axes")))},
    "squeeze": lambda c: {"y": np.squeeze(c["x"].a, tuple(ints(c, "axes")) if "axes" in c else None)},
    "flatten": lambda c: {"y": c["x"].a.reshape(math.prod(c["x"].a.shape[:c.get("axis", 1)]), -1)},
    "range": lambda c: {"y": np.arange(c["start"].a, c["limit"].a, c["delta"].a)},
})


@rule("reshape")
def reshape(c):
    x, shape = c["x"].a, ints(c, "shape")
    if c.get("zero") == "copy":
        shape = [x.shape[i] if e == 0 else e for i, e in enumerate(shape)]
    return {"y": x.reshape(shape)}


@rule("gather_nd")
def gather_nd(c):
    x, i = c["x"].a, index_of(c)
    return {"y": np.array([x[tuple(row)] for row in i.reshape(-1, i.shape[-1])]).reshape(i.shape[:-1] + x.shape[i.shape[-1]:])}


@rule("one_hot")
def one_hot(c):
    i, depth = index_of(c), ints(c, "depth")[0]
    i = np.where(i < 0, i + depth, i)
    off, on = c["values"].a
    y = np.where(np.expand_dims(i, -1) == np.arange(depth), on, off)
    return {"y": np.moveaxis(y, -1, c.get("axis", -1))}


@rule("slice")
def slice_axes(c):
    x = c["x"].a
    begin, end = ints(c, "begin"), ints(c, "end")
    at = [slice(None)] * x.ndim
    for k, axis in enumerate(ints(c, "axes", range(len(begin)))):
        step = ints(c, "stride", [1] * len(begin))[k]
        n = x.shape[axis]
        stop = end[k]
        if step < 0 and stop < -n:
            stop = None  # past the first element
        at[axis] = slice(begin[k], stop, step)
    return {"y": x[tuple(at)]}


@rule("pad")
def pad(c):
    x, p = c["x"].a, ints(c, "padding")
    axes = [a % x.ndim for a in ints(c, "axes", range(x.ndim))]
    pads = [(0, 0)] * x.ndim
    for k, a in enumerate(axes):
        pads[a] = (p[k], p[k + len(axes)])
    more = [(max(b, 0), max(e, 0)) for b, e in pads]
    mode = {"constant": "constant", "replicate": "edge", "reflect": "reflect", "reflect_even": "symmetric", "wrap": "wrap"}
    mode = mode[c.get("border", "constant")]
    value = c["value"].a if "value" in c else 0
    y = np.pad(x, more, mode, constant_values=value) if mode == "constant" else np.pad(x, more, mode)
    for a, (before, after) in enumerate(pads):  # negative amounts crop
        y = y[(slice(None),) * a + (slice(max(-before, 0), y.shape[a] - max(-after, 0)),)]
    return {"y": y}


@rule("split")
def split(c):
    x, axis = c["x"].a, c.get("axis", 0)
    if "sizes" in c:
        return {"y": np.split(x, np.cumsum(ints(c, "sizes"))[:-1], axis)}
    return {"y": np.split(x, c["parts"], axis)}


@rule("unstack")
def unstack(c):
    return {"y": [np.take(c["x"].a, i, c["axis"]) for i in range(c["x"].a.shape[c["axis"]])]}


@rule("depth_to_space", "space_to_depth")
def blocks(c):
    x, b = c["x"].a, c["block"]
    n, ch, h, w = x.shape
    if c["row"] == "space_to_depth":
        y = x.reshape(n, ch, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
        return {"y": y.reshape(n, ch * b * b, h // b, w // b)}
    if c.get("order") == "crd":
        y = x.reshape(n, ch // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        y = x.reshape(n, b, b, ch // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return {"y": y.reshape(n, ch // (b * b), h * b, w * b)}


@rule("trilu")
def trilu(c):
    x = c["x"].a
    far = max(x.shape) + 1
    k = min(max(int(c["diagonal"].a) if "diagonal" in c else 0, -far), far)
    return {"y": np.triu(x, k) if c.get("upper", True) else np.tril(x, k)}


@rule("non_zero")
def non_zero(c):
    return {"y": np.array(np.nonzero(np.atleast_1d(c["x"].a)), dtype=np.int64)}


@rule("top_k")
def top_k(c):
    """A NaN is larger than every number; the first of equals comes first."""
    x, k, axis = c["x"].a, ints(c, "k")[0], c.get("axis", -1)
    key = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x.astype(object)
    order = np.argsort(-key if c.get("largest", True) else key, axis=axis, kind="stable")
    index = np.take(order, range(k), axis=axis).astype(np.int64)
    return {"value": np.take_along_axis(x, index, axis), "index": index}


def combined(how, old, new, dtype):
    if how == "none":
        return new
    if how in ("min", "max"):
        return nan_extreme(min if how == "min" else max)(old, new)
    value = old + new if how == "add" else old * new
    return wrapped(value, dtype) if dtype[0] in "iu" else value


@rule("scatter_elements")
def scatter_elements(c):
    y, axis = c["x"].a.astype(object), c.get("axis", 0)
    for at in np.ndindex(*c["index"].a.shape):
        i = int(c["index"].a[at])
        i += y.shape[axis] if i < 0 else 0
        to = list(at)
        to[axis] = min(max(i, 0), y.shape[axis] - 1) if c.get("outside") == "clamp" else i
        y[tuple(to)] = combined(c.get("reduction", "none"), y[tuple(to)], c["update"].a[at].item(), c["x"].dtype)
    return {"y": y}


@rule("scatter_nd")
def scatter_nd(c):
    y, index = c["x"].a.astype(object), c["index"].a
    for at in np.ndindex(*index.shape[:-1]):
        to = tuple(int(i) for i in index[at])
        rest = y.shape[len(to):]
        for inner in np.ndindex(*rest):
            y[to + inner] = combined(c.get("reduction", "none"), y[to + inner], c["update"].a[at + inner].item(), c["x"].dtype)
    return {"y": y}


@rule("tensor_scatter")
def tensor_scatter(c):
    y, update = c["cache"].a.copy(), c["update"].a
    axis = c.get("axis", -2)
    starts = ints(c, "start", [0] * y.shape[0])
    y, update = np.moveaxis(y, axis, 1), np.moveaxis(update, axis, 1)
    for b, start in enumerate(starts):
        for i in range(update.shape[1]):
            at = start + i
            y[b, at % y.shape[1] if c.get("mode") == "circular" else at] = update[b, i]
    return {"y": np.moveaxis(y, 1, axis)}


@rule("slice_like")
def slice_like(c):
    x, like = c["x"].a, c["like"].a
    axes = [a % x.ndim for a in c.get("axes") or range(like.ndim)]
    return {"y": x[tuple(slice(like.shape[a]) if a in axes else slice(None) for a in range(x.ndim))]}


@rule("center_crop_pad")
def center(c):
    y, shape = c["x"].a, ints(c, "shape")
    for n, a in zip(shape, c.get("axes") or range(y.ndim)):
        a %= y.ndim
        m = y.shape[a]
        if n < m:
            y = np.take(y, range((m - n) // 2, (m - n) // 2 + n), axis=a)
        else:
            y = np.pad(y, [((n - m) // 2, n - m - (n - m) // 2) if i == a else (0, 0) for i in range(y.ndim)])
    return {"y": y}


@rule("compress")
def compress(c):
    return {"y": np.compress(c["condition"].a.astype(bool), c["x"].a, axis=c.get("axis"))}


@rule("unique")
def unique(c):
    x = c["x"].a
    rows = [x.ravel()[i] for i in range(x.size)] if "axis" not in c else [np.take(x, i, c["axis"]) for i in range(x.shape[c["axis"]])]
    keys = [str(r.tolist()) for r in rows]
    order = sorted(set(keys), key=keys.index)
    if c.get("sorted", True):
        order.sort(key=lambda k: (k == "nan", rows[keys.index(k)]) if "axis" not in c else rows[keys.index(k)].tolist())
    picked = [rows[keys.index(k)] for k in order]
    y = np.array(picked, dtype=x.dtype) if "axis" not in c else np.stack(picked, axis=c["axis"])
    return {"y": y, "first": np.array([keys.index(k) for k in order], dtype=np.int64),
            "inverse": np.array([order.index(k) for k in keys], dtype=np.int64),
            "count": np.array([keys.count(k) for k in order], dtype=np.int64)}


@rule("non_max_suppression")
def non_max_suppression(c):
    """Boxes by falling score, each that overlaps a kept one by no more than the limit."""
    boxes, scores = wide(c["boxes"]), wide(c["scores"])
    most = ints(c, "max_per_class", [0])[0]
    limit, least = (float(np.ravel(c[n].a)[0]) if n in c else d for n, d in (("iou", 0.0), ("score", -math.inf)))
    kept = []
    def corners(b):
        if c.get("center"):
            return b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2
        return min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])
    def overlap(p, q):
        p, q = corners(p), corners(q)
        shared = max(min(p[2], q[2]) - max(p[0], q[0]), 0) * max(min(p[3], q[3]) - max(p[1], q[1]), 0)
        area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
        return shared / (area(p) + area(q) - shared) if shared else 0
    for n in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            mine = []
            for i in sorted(range(scores.shape[2]), key=lambda i: -scores[n, k, i]):
                if scores[n, k, i] > least and len(mine) < most and all(overlap(boxes[n, i], boxes[n, j]) <= limit for j in mine):
                    mine.append(i)
            kept += [(n, k, i) for i in mine]
    return {"y": np.array(kept, dtype=np.int64).reshape(-1, 3)}


# ---- Windows

def window_parameters(c, spatial, size):
    stride = c.get("stride") or [1] * spatial
    dilation = c.get("dilation") or [1] * spatial
    padding = c.get("padding") or [(0, 0)] * spatial
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    return stride, dilation, padding, reach


def taps(x, spatial, size, stride, dilation, padding, reach, fill):
    """Windows of the last `spatial` axes: [..., outputs..., size...]."""
    x = np.pad(x, [(0, 0)] * (x.ndim - spatial) + list(padding), constant_values=fill)
    out = [(x.shape[x.ndim - spatial + a] - reach[a]) // stride[a] + 1 for a in range(spatial)]
    y = np.empty(list(x.shape[:x.ndim - spatial]) + out + list(size), x.dtype)
    for o in np.ndindex(*out):
        for k in np.ndindex(*size):
            at = tuple(o[a] * stride[a] + k[a] * dilation[a] for a in range(spatial))
            y[(Ellipsis,) + o + k] = x[(Ellipsis,) + at]
    return y


MODES = {"constant": "constant", "replicate": "edge", "reflect": "reflect", "reflect_even": "symmetric"}


def bordered(x, pads, border):
    """x with its border written out; reflections go on beyond one extent."""
    return np.pad(x, pads, MODES[border])


def convolved(c, x, w):
    spatial, size = x.ndim - 2, w.shape[2:]
    stride, dilation, padding, reach = window_parameters(c, spatial, size)
    if c.get("auto_pad", "off") != "off":
        totals = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(x.shape[2:], stride, reach)]
        padding = [(t // 2, t - t // 2) if c["auto_pad"] == "same_upper" else (t - t // 2, t // 2) for t in totals]
    x = bordered(x, [(0, 0), (0, 0)] + [tuple(p) for p in padding], c.get("border", "constant"))
    windows = taps(x, spatial, size, stride, dilation, [(0, 0)] * spatial, reach, 0)
    groups = c.get("groups", 1)
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    out = []
    for o in range(w.shape[0]):
        g = o // per_out
        part = windows[:, g * per_in:(g + 1) * per_in]
        out.append(np.sum(part * w[o].reshape([1, per_in] + [1] * spatial + list(size)),
                          axis=(1,) + tuple(range(2 + spatial, 2 + 2 * spatial))))
    return np.stack(out, axis=1)


@rule("conv")
def conv(c):
    if c["x"].dtype[0] == "i":
        y = convolved(c, c["x"].a.astype(object), c["filter"].a.astype(object))
        return {"y": np.vectorize(lambda v: wrapped(v, c["x"].dtype), otypes=[object])(y)}
    y = convolved(c, wide(c["x"]), wide(c["filter"]))
    return {"y": y + channels(wide(c["bias"]), y) if "bias" in c else y}


@rule("conv_integer")
def conv_integer(c):
    """Places beyond the input hold the zero point, which counts as 0."""
    x = c["x"].a.astype(np.int64) - (c["x_zero"].a.astype(np.int64) if "x_zero" in c else 0)
    w = c["filter"].a.astype(np.int64)
    if "filter_zero" in c:
        w = w - c["filter_zero"].a.astype(np.int64).reshape([-1] + [1] * (w.ndim - 1))
    return {"y": convolved(c, x, w)}


@rule("separable_conv")
def separable_conv(c):
    x = wide(c["x"])
    plane = convolved({**c, "groups": x.shape[1]}, x, wide(c["plane_filter"]))
    y = convolved({}, plane, wide(c["point_filter"]))
    return {"y": y + channels(wide(c["bias"]), y) if "bias" in c else y}


@rule("deconv")
def deconv(c):
    """Each element of x adds its multiple of the filter; then the padding is cut off."""
    x, w = wide(c["x"]), wide(c["filter"])
    spatial, size = x.ndim - 2, w.shape[2:]
    stride, dilation, padding, reach = window_parameters(c, spatial, size)
    more = c.get("output_padding") or [0] * spatial
    full = [(x.shape[2 + a] - 1) * stride[a] + reach[a] + more[a] for a in range(spatial)]
    y = np.zeros([x.shape[0], w.shape[1]] + full)
    for i in np.ndindex(*x.shape[2:]):
        for k in np.ndindex(*size):
            at = tuple(i[a] * stride[a] + k[a] * dilation[a] for a in range(spatial))
            y[(slice(None), slice(None)) + at] += x[(slice(None), slice(None)) + i] @ w[(slice(None), slice(None)) + k]
    cut = tuple(slice(before, n - after) for (before, after), n in zip(padding, full))
    return {"y": y[(slice(None), slice(None)) + cut]}


@rule("box", "lp_pool")
def sums_of_windows(c):
    """The divisor counts the window, what of it lies in the padded input, or what of it lies inside the input."""
    x, size, axes = wide(c["x"]), c["size"], c["x"].a.ndim
    stride, dilation, padding, reach = window_parameters(c, axes, size)
    border = c.get("border", "constant")
    p = c.get("p", 2.0)
    v = np.abs(x) ** p if c["row"] == "lp_pool" else x
    value = np.pad(v, padding, "constant" if border == "ignore" else MODES[border])
    inside = np.pad(np.ones_like(v), padding)
    padded = np.ones_like(value)
    extra = [0] * axes
    for a in range(axes):
        n = value.shape[a]
        if c.get("ceil") and (n - reach[a]) % stride[a]:
            last = -(-(n - reach[a]) // stride[a]) * stride[a]
            if last < n - padding[a][1]:
                extra[a] = last + reach[a] - n
    grow = [(0, e) for e in extra]
    def windows(t):
        return taps(np.pad(t, grow), axes, size, stride, dilation, [(0, 0)] * axes, reach, 0).sum(
            axis=tuple(range(axes, 2 * axes)))
    total = windows(value)
    divisor = c.get("divisor", "one")
    if divisor == "window":
        count = windows(inside) if border == "ignore" else np.full_like(total, math.prod(size))
    else:
        count = {"one": np.ones_like(total), "padded": windows(padded), "inside": windows(inside)}[divisor]
    if c["row"] == "lp_pool":
        return {"y": (total / count) ** (1 / p)}
    return {"y": total / count}


@rule("max_pool")
def max_pool(c):
    x = wide(c["x"])
    size, spatial = c["size"], x.ndim
    fill = -np.inf if c.get("border") == "ignore" else 0
    windows = taps(x, spatial, size, *window_parameters(c, spatial, size), fill)
    return {"y": windows.max(axis=tuple(range(spatial, 2 * spatial)))}


# ---- Normalisation

def normal(x, axes, epsilon):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


def channels(v, x):
    return v.reshape([1, -1] + [1] * (x.ndim - 2))


@rule("batch_normalization")
def batch(c):
    x = wide(c["x"])
    m, v = wide(c["mean"]), wide(c["variance"])
    out = {}
    if c.get("training"):
        axes = (0,) + tuple(range(2, x.ndim))
        bm, bv, keep = x.mean(axis=axes), x.var(axis=axes), c["momentum"]
        out["new_mean"], out["new_variance"] = m * keep + bm * (1 - keep), v * keep + bv * (1 - keep)
        m, v = bm, bv
    y = (x - channels(m, x)) / np.sqrt(channels(v, x) + c.get("epsilon", 1e-5))
    if "scale" in c:
        y = y * channels(wide(c["scale"]), x)
    if "offset" in c:
        y = y + channels(wide(c["offset"]), x)
    return {"y": y, **out}


@rule("instance_normalization", "group_normalization")
def by_group(c):
    x = wide(c["x"])
    groups = c.get("groups", x.shape[1])
    g = x.reshape(x.shape[0], groups, -1)
    y = normal(g, 2, c.get("epsilon", 1e-5)).reshape(x.shape)
    return {"y": y * channels(wide(c["scale"]), x) + channels(wide(c["offset"]), x)}


@rule("layer_normalization")
def layer(c):
    x = wide(c["x"])
    axes = tuple(c.get("axes", [-1]))
    if not axes:  # each element alone: its own mean
        return {"y": 0 * x + wide(c["offset"])}
    m, v = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(v + c.get("epsilon", 1e-5))
    y = (x - m) * inverse
    y = y * wide(c["scale"]) if "scale" in c else y
    return {"y": y + wide(c["offset"]) if "offset" in c else y, "mean": m, "inv_std": inverse}


@rule("rms_normalization")
def rms(c):
    x = wide(c["x"])
    return {"y": x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + c.get("epsilon", 1e-5)) * wide(c["scale"])}


@rule("mean_variance_normalization")
def mean_variance(c):
    x = wide(c["x"])
    axes = tuple(c.get("axes", [0, 2, 3]))
    d = x - x.mean(axis=axes, keepdims=True)
    return {"y": d / (np.sqrt((d * d).mean(axis=axes, keepdims=True)) + c.get("epsilon", 1e-9))}


@rule("l1_normalization", "l2_normalization")
def by_norm(c):
    x = wide(c["x"])
    axes = tuple(c.get("axes", [-1]))
    n = np.abs(x).sum(axis=axes, keepdims=True) if c["row"][1] == "1" else np.sqrt((x * x).sum(axis=axes, keepdims=True))
    least = c.get("epsilon", 0.0)
    y = x / (n if c.get("at_zero") == "zero" else np.where(n > least, n, least))
    return {"y": np.where(n == 0, 0, y) if c.get("at_zero") == "zero" else y}


def window_sum(x, size):
    """The sum of a window around every element, zeros beyond; of an even window the longer side comes last."""
    out = x
    for axis, n in enumerate(size):
        before = (n - 1) // 2
        total = np.zeros_like(out)
        for k in range(-before, n - before):
            moved = np.zeros_like(out)
            for i in range(out.shape[axis]):
                if 0 <= i + k < out.shape[axis]:
                    moved[(slice(None),) * axis + (i,)] = out[(slice(None),) * axis + (i + k,)]
            total = total + moved
        out = total
    return out


@rule("local_response_normalization")
def local_response(c):
    x = wide(c["x"])
    n = math.prod(c["size"])
    return {"y": x / (c["bias"] + c["alpha"] * window_sum(x * x, c["size"]) / n) ** c["beta"]}


@rule("local_mean_normalization")
def local_mean(c):
    x = wide(c["x"])
    return {"y": x - window_sum(x, c["size"]) / math.prod(c["size"])}


@rule("local_variance_normalization")
def local_variance(c):
    x = wide(c["x"])
    s = np.sqrt(window_sum(x * x, c["size"]) / math.prod(c["size"]))
    return {"y": x / np.maximum(s + c.get("bias", 0.0), c.get("epsilon", 0.0))}


# ---- Training and chance

@rule("swiglu")
def swiglu(c):
    x = wide(c["x"])
    return {"z": x * sigmoid(c.get("alpha", 1.0) * x) * wide(c["y"])}


@rule("bernoulli")
def bernoulli(c):
    return {"y": c["x"].a} if set(c["x"].a.ravel()) <= {0, 1} else {}


@rule("multinomial")
def multinomial(c):
    x = c["x"].a
    certain = np.isneginf(x).sum(axis=1) == x.shape[1] - 1
    return {"y": np.repeat(np.argmax(x, axis=1)[:, None], c["samples"], axis=1)} if certain.all() else {}


@rule("dropout")
def dropout(c):
    if "training" not in c:
        return {"y": c["x"].a, "mask": np.ones(c["x"].a.shape, bool)}
    return {"y": 0 * c["x"].a} if float(c["ratio"].a) == 1 else {}


@rule("adagrad")
def adagrad(c):
    g = wide(c["g"]) + c.get("norm", 0.0) * wide(c["x"])
    h = wide(c["h"]) + g * g
    rate = wide(c["rate"]) / (1 + wide(c["step"]) * c.get("decay", 0.0))
    return {"x2": wide(c["x"]) - rate * g / (np.sqrt(h) + c["epsilon"]), "h2": h}


@rule("adam")
def adam(c):
    x, g, a, b = wide(c["x"]), wide(c["g"]), c["alpha"], c["beta"]
    v, h = a * wide(c["v"]) + (1 - a) * g, b * wide(c["h"]) + (1 - b) * g * g
    t = float(c["step"].a)
    rate = wide(c["rate"]) * (math.sqrt(1 - b ** t) / (1 - a ** t) if t > 0 else 1)
    return {"x2": x - rate * v / (np.sqrt(h) + c["epsilon"]), "v2": v, "h2": h}


@rule("momentum")
def momentum(c):
    x, g = wide(c["x"]), wide(c["g"]) + c["norm"] * wide(c["x"])
    v = c["alpha"] * wide(c["v"]) + (c["beta"] if float(c["step"].a) > 0 else 1) * g
    return {"x2": x - wide(c["rate"]) * (g + c["alpha"] * v if c.get("mode") == "nesterov" else v), "v2": v}


@rule("negative_log_likelihood_loss", "softmax_cross_entropy_loss")
def losses(c):
    x = wide(c["x"])
    out = {}
    if c["row"] == "softmax_cross_entropy_loss":
        s = x - x.max(axis=1, keepdims=True)
        x = s - np.log(np.exp(s).sum(axis=1, keepdims=True))
        out["log_prob"] = x
    target = c["target"].a
    weight = wide(c["weight"]) if "weight" in c else np.ones(x.shape[1])
    used = target != c.get("ignore", math.nan)
    at = np.where(used, target, 0)
    w = np.where(used, weight[at], 0)
    each_loss = -w * np.take_along_axis(x, np.expand_dims(at, 1), 1).squeeze(1)
    how = c.get("reduction", "mean")
    out["loss"] = each_loss if how == "none" else each_loss.sum() / (w.sum() if how == "mean" else 1)
    return out


# Functions of one real operand, by numpy's name or here.
for _name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil"):
    RULES[_name] = (lambda f: real(lambda x, c: f(x)))(getattr(np, _name))
for _name, _f in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("asinh", np.arcsinh),
                  ("acosh", np.arccosh), ("atanh", np.arctanh), ("rcp", np.reciprocal),
                  ("rsqrt", lambda x: x ** -0.5), ("rsqr", lambda x: 1 / (x * x))):
    RULES[_name] = (lambda f: real(lambda x, c: f(x)))(_f)
VARIADIC = ("add_n", "einsum", "concat", "stack")


# ---- Comparing

def agrees(expected, derived, near):
    e = expected.a
    d = np.asarray(derived)
    if list(d.shape) != list(e.shape):
        return f"shape {list(d.shape)}"
    for w, g in zip(e.ravel().tolist(), d.ravel().tolist()):
        if expected.dtype[0] in "iu" or expected.dtype in ("bool", "str"):
            if int(g) != int(w) if expected.dtype != "str" else g != w:
                return f"{g} where the case has {w}"
            continue
        t = TYPES[expected.dtype]
        g = float(t(g))
        if math.isnan(w) or math.isnan(g):
            if math.isnan(w) != math.isnan(g):
                return f"{g} where the case has {w}"
        elif w != g and not abs(w - g) <= near["ulp"] * float(np.spacing(t(abs(w)))) + near["abs"] + near["rel"] * abs(w):
            return f"{g!r} where the case has {w!r}"
    return ""


def main():
    agree, differ, unknown = 0, 0, []
    for path in sorted((pathlib.Path(__file__).parent / "ops").glob("*.case")):
        row = path.stem
        for case in read(path):
            label = f"{path.name} {case['name']}"
            if case["error"]:
                continue
            if row not in RULES or "strange" in case:
                unknown.append(label)
                continue
            # A tensor is an output when the rule gives one of its name.
            c = {"row": row, **case["attrs"], "parts": sum(n == "y" for n, _, _ in case["tensors"])}
            for name, t, _ in case["tensors"]:
                if name == "x" and row in VARIADIC:
                    c.setdefault("x", []).append(t)
                else:
                    c.setdefault(name, t)
            out = RULES[row](c)
            outputs, times = [(n, t, u) for n, t, u in case["tensors"] if n in out], {}
            if not outputs:
                unknown.append(label)
            for name, t, ulp in outputs:
                nth = times[name] = times.get(name, -1) + 1
                wrong = agrees(t, out[name][nth] if isinstance(out[name], list) else out[name], ulp)
                agree += not wrong
                differ += bool(wrong)
                if wrong:
                    print(f"{label}: {name}: derived {wrong}")
    for label in unknown:
        print(f"not derived: {label}")
    print(f"{agree} agree, {differ} differ, {len(unknown)} not derived")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
