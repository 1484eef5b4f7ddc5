"""Random NNEF documents of a few operations."""
import math

import numpy as np

import nnef_semantics as nnef
from nnef_document import GENERATORS, KINDS, Document, Literal, draws
from nnef_draw_windows import by_index, convolution, pools, resampling, separable, sizes

EXACT = {"neg": lambda x: -x, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": nnef.round_half_up,
         "sqr": lambda x: x * x, "copy": lambda x: x, "relu": lambda x: nnef.maximum(x, np.array(0.0)),
         "sign": np.sign}
SMOOTH = {"exp": np.exp, "sin": np.sin, "cos": np.cos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
          "asinh": np.arcsinh, "sigmoid": nnef.sigmoid, "gelu": lambda x: x * nnef.sigmoid(1.702 * x),
          "silu": lambda x: x * nnef.sigmoid(x), "softplus": lambda x: np.log(np.exp(x) + 1)}
# where the function is real, and what it does there
PARTIAL = {"rcp": (lambda x: 1 / x, lambda x: x != 0), "log": (np.log, lambda x: x > 0), "tan": (np.tan, lambda x: np.abs(x) < 1.5),
           "asin": (np.arcsin, lambda x: np.abs(x) <= 1), "acos": (np.arccos, lambda x: np.abs(x) <= 1),
           "acosh": (np.arccosh, lambda x: x >= 1), "atanh": (np.arctanh, lambda x: np.abs(x) < 1),
           "sqrt": (np.sqrt, lambda x: x >= 0), "rsqr": (lambda x: x ** -2.0, lambda x: x != 0),
           "rsqrt": (lambda x: x ** -0.5, lambda x: x > 0), "log2": (np.log2, lambda x: x > 0)}


@draws(*EXACT)
def exact_unary(d, op):
    d.wild = op not in ("floor", "ceil", "round", "sign") and d.chance(0.2)
    d.call(op, [d.tensor(exact=True, empty=True)], f=EXACT[op], exact=True)


@draws(*SMOOTH)
def smooth_unary(d, op):
    if d.chance(0.15):
        d.wild = True
        return d.call(op, [d.new("scalar", d.shape())], f=SMOOTH[op])
    return d.call(op, [d.tensor(least=-4, most=4)], f=SMOOTH[op])


@draws(*PARTIAL)
def partial_unary(d, op):
    f, domain = PARTIAL[op]
    shape = d.shape()
    inside = 1.0 if op in ("acosh", "rcp") else 0.5
    array = np.array([x if domain(x) else inside for x in d.numbers("scalar", shape).reshape(-1)]).reshape(shape)
    if op == "rsqrt" and d.chance(0.2) and array.size:
        array.reshape(-1)[0] = d.pick(math.inf, -math.inf, 0.0, -0.0)
        d.wild = True
    d.call(op, [d.introduce(array)], f=f)


@draws("not", "and", "or")
def logic(d, op):
    x = d.tensor(kind="logical")
    if op == "not":
        d.call(op, [x], f=np.logical_not)
    else:
        f = np.logical_and if op == "and" else np.logical_or
        d.call(op, [x, d.meeting(d.values[x].shape, "logical")], f=nnef.two(f))


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "lt": np.less, "gt": np.greater, "le": np.less_equal,
          "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


@draws(*BINARY, "min", "max")
def binary(d, op):
    d.wild = d.chance(0.4)
    x = d.tensor(exact=True, empty=True)
    y = d.meeting([e or 1 for e in d.values[x].shape])
    f = {"min": nnef.minimum, "max": nnef.maximum}.get(op) or nnef.two(BINARY[op])
    d.call(op, [x, y] if d.chance(0.7) else [y, x], f=f, exact=True)


@draws("div", "pow")
def division(d, op):
    x = d.tensor(least=1, most=4) if op == "pow" else d.tensor()
    y = d.new("scalar", d.values[x].shape, 1, 4) if d.chance(0.5) else Literal(d.pick(0.5, 2.0, 3.0, -1.0, -2.5))
    d.call(op, [x, y], f=nnef.two(np.divide if op == "div" else np.power))


@draws("select")
def choose(d, op):
    d.wild = d.chance(0.3)
    kind = d.pick("scalar", "scalar", "integer", "logical")
    c = d.tensor(kind="logical")
    shape = d.values[c].shape
    d.call(op, [c, d.meeting(shape, kind), d.meeting(shape, kind)], f=nnef.select, exact=True)


@draws("clamp")
def limits(d, op):
    d.wild = d.chance(0.4)
    x = d.tensor(exact=True)
    shape = d.values[x].shape
    d.call(op, [x, d.meeting(shape), d.meeting(shape)], f=nnef.clamp, exact=True)


@draws("elu", "selu", "leaky_relu", "prelu")
def slopes(d, op):
    d.wild = d.chance(0.2)
    x = d.new("scalar", d.shape()) if d.wild else d.tensor()
    d.wild = False
    if op == "prelu":
        a = d.meeting(d.values[x].shape)
        return d.call(op, [x, a], f=lambda x, a: nnef.select(x < 0, nnef.two(np.multiply)(a, x), x))
    alpha = d.some(-8, 16) / 8
    if op == "leaky_relu":
        return d.call(op, [x], {"alpha": alpha}, f=lambda x, alpha: np.where(x < 0, alpha * x, x))
    if op == "elu":
        return d.call(op, [x], {"alpha": alpha}, f=lambda x, alpha: np.where(x < 0, alpha * (np.exp(x) - 1), x))
    k = d.pick(1.05070102, 2.0)
    return d.call(op, [x], {"alpha": alpha, "lambda": k},
                  f=lambda x, **a: a["lambda"] * np.where(x < 0, a["alpha"] * (np.exp(x) - 1), x))


def axes_of(d, rank, allow_none=True):
    n = d.some(0 if allow_none and d.chance(0.3) else min(1, rank), rank)
    return d.rng.sample(range(rank), n)


@draws("sum_reduce", "mean_reduce", "max_reduce", "min_reduce", "argmax_reduce", "argmin_reduce", "any_reduce", "all_reduce",
       "moments")
def reductions(d, op):
    logical = op in ("any_reduce", "all_reduce")
    x = d.tensor(0, 4, kind="logical" if logical else "scalar", exact="arg" in op)
    attrs = {"axes": axes_of(d, d.values[x].ndim)}
    if op == "sum_reduce":
        attrs["normalize"] = d.chance(0.4)
    if "arg" in op:
        attrs["axes"] = sorted(attrs["axes"])
    f = (lambda x, axes: nnef.sum_reduce(x, axes, True)) if op == "mean_reduce" else getattr(nnef, op)
    d.call(op, [x], attrs, f=f, exact=op in ("sum_reduce", "max_reduce", "min_reduce"), results=2 if op == "moments" else 1)


def any_kind(d, low, high, **more):
    d.wild = d.chance(0.1)
    return d.tensor(low, high, kind=d.pick("scalar", "scalar", "integer", "logical"), empty=True, **more)


@draws("reshape")
def reshape(d, op):
    x = any_kind(d, 0, 4)
    e = d.values[x].shape
    start = d.some(0, len(e))
    count = d.some(0, len(e) - start)
    n, shape = math.prod(e[start:start + count]), []
    while n > 1 and d.chance(0.7):
        k = d.pick(*[k for k in range(1, n + 1) if n % k == 0])
        shape.append(k)
        n //= k
    shape.append(n)
    if d.chance(0.3):
        shape[d.some(0, len(shape) - 1)] = -1
    for i in range(min(len(shape), count)):
        if shape[i] == e[start + i] and d.chance(0.3):
            shape[i] = 0
    if start + count == len(e) and d.chance(0.6):
        count = -1
    d.call(op, [x], {"shape": shape, "axis_start": start, "axis_count": count}, f=nnef.reshape, exact=True)


@draws("squeeze", "unsqueeze", "transpose")
def axes_moves(d, op):
    x = any_kind(d, 0, 4)
    a = d.values[x]
    if op == "squeeze":
        attrs = {"axes": [i for i, e in enumerate(a.shape) if e == 1 and d.chance(0.7)]}
    elif op == "unsqueeze":
        attrs = {"axes": d.rng.sample(range(a.ndim + 2), 2) if d.chance(0.8) else []}
    else:
        n = d.some(0, a.ndim)
        attrs = {"axes": d.rng.sample(range(n), n)}
    d.call(op, [x], attrs, f=getattr(nnef, op), exact=True)


@draws("split", "unstack")
def taking_apart(d, op):
    x = any_kind(d, 1, 4)
    e = d.values[x].shape
    axis = d.some(0, len(e) - 1)
    if op == "unstack":
        return d.call(op, [x], {"axis": axis}, f=nnef.unstack, exact=True, results="list")
    ratios = [d.some(1, 2) for _ in range(d.some(1, 3))]
    for i, n in enumerate(e):
        if n % sum(ratios) == 0:
            axis = i
    return d.call(op, [x], {"axis": axis, "ratios": ratios}, f=nnef.split, exact=True, results="list")


@draws("concat", "stack")
def joining(d, op):
    x = any_kind(d, 0 if op == "stack" else 1, 4)
    a = d.values[x]
    kind, axis = KINDS[a.dtype], d.some(0, a.ndim - (op == "concat"))
    parts = [x]
    for _ in range(d.some(0, 2)):
        e = list(a.shape)
        if op == "concat":
            e[axis] = d.some(1, 3)
        parts.append(d.new(kind, tuple(e)))
    d.call(op, [parts], {"axis": axis}, f=getattr(nnef, op), exact=True)


@draws("slice")
def slices(d, op):
    x = any_kind(d, 1, 4)
    e = d.values[x].shape
    attrs = {"axes": axes_of(d, len(e)), "begin": [], "end": [], "stride": []}
    strided = d.chance(0.5)
    for a in attrs["axes"]:
        attrs["begin"].append(d.some(-e[a] - 1, e[a] + 1))
        attrs["end"].append(d.some(-e[a] - 2, e[a] + 1))
        if strided:
            attrs["stride"].append(d.pick(1, 2, 3, -1, -2))
    d.call(op, [x], attrs, f=nnef.slice_, exact=True)


@draws("pad")
def padding(d, op):
    d.wild = d.chance(0.1)
    x = d.tensor(0, 4)
    rank = d.values[x].ndim
    attrs = {"padding": [(d.some(-4, 5), d.some(-4, 5)) if d.chance(0.7) else (0, 0) for _ in range(rank)],
             "border": d.pick(*nnef.BORDERS), "value": d.pick(0.0, -1.5)}
    d.call(op, [x], attrs, f=nnef.pad, exact=True)


@draws("tile")
def tiling(d, op):
    x = any_kind(d, 0, 4)
    d.call(op, [x], {"repeats": [d.pick(1, 1, 2, 3) for _ in d.values[x].shape]}, f=nnef.tile, exact=True)


@draws("gather")
def gathering(d, op):
    x = any_kind(d, 1, 3)
    e = d.values[x].shape
    axis = d.some(0, len(e) - 1)
    d.call(op, [x, d.new("integer", d.shape(0, 2, 12), 0, e[axis] - 1)], {"axis": axis}, f=nnef.gather, exact=True)


@draws("cast")
def casting(d, op):
    x = d.tensor(0, 4, kind=d.pick("scalar", "integer", "logical"), exact=True)
    to = d.pick("scalar", "integer", "logical")
    d.call(op, [x], {}, generic=f"<{to}>", f=lambda x: nnef.cast(x, to), exact=True)


@draws("matmul", "linear")
def products(d, op):
    m, k, n = d.some(1, 5), d.some(1, 5), d.some(1, 5)
    batch = [d.some(1, 3) for _ in range(d.pick(0, 0, 1, 2))]
    first, second = ([e if d.chance(0.8) else 1 for e in batch] for _ in range(2))
    if op == "linear":
        operands = [d.new("scalar", (*first, m, k)), d.new("scalar", (*second, n, k))]
        if d.chance(0.7):
            bias = (1,) * (len(batch) + 1) + (n,) if d.chance(0.7) else ()
            operands.append(d.new("scalar", bias) if bias or d.chance(0.5) else Literal(1.5))
        return d.call(op, operands, f=lambda x, w, b=np.array(0.0): nnef.linear(x, w, b), exact=True)
    attrs = {"transposeA": d.chance(0.5), "transposeB": d.chance(0.5)}
    a = (*first, k, m) if attrs["transposeA"] else (*first, m, k)
    b = (*second, n, k) if attrs["transposeB"] else (*second, k, n)
    return d.call(op, [d.new("scalar", a), d.new("scalar", b)], attrs, f=nnef.matmul, exact=True)


@draws("softmax", "l1_normalization", "l2_normalization")
def over_axes(d, op):
    d.wild = d.chance(0.15)
    low = 2 if op == "softmax" else 0
    x = d.new("scalar", d.shape(low, 4)) if d.wild else d.tensor(low, 4)
    attrs = {"axes": axes_of(d, d.values[x].ndim)}
    if op != "softmax":
        attrs.update(bias=d.some(0, 8) / 8, epsilon=d.some(1, 8) / 8)
    d.call(op, [x], attrs, f=getattr(nnef, op))


@draws("local_response_normalization", "local_mean_normalization", "local_variance_normalization",
       "local_contrast_normalization")
def local_norms(d, op):
    d.wild = d.chance(0.15)
    x = d.new("scalar", d.shape(1, 4)) if d.wild else d.tensor(1, 4)
    attrs = {"size": sizes(d, d.values[x].ndim)}
    if "response" in op:
        attrs.update(alpha=d.some(1, 8) / 8, beta=d.pick(0.5, 0.75, 1.0), bias=d.some(4, 16) / 8)
    elif "mean" not in op:
        attrs.update(bias=d.some(0, 8) / 8, epsilon=d.some(1, 8) / 8)
    d.call(op, [x], attrs, f=getattr(nnef, op))


@draws("batch_normalization")
def batch_norm(d, op):
    x = d.tensor(1, 4)
    e = d.values[x].shape
    shape = lambda: d.pick((1, e[1]) if len(e) > 1 else (1,), (1, 1), (), e)
    low = lambda: (d.new("scalar", shape(), -4, 4))
    operands = [x, low(), d.new("scalar", shape(), 1, 4), low(), low()]
    if any(len(d.values[o].shape) > len(e) for o in operands[1:]):
        raise nnef.Undefined("parameters of more dimensions than the input")
    d.call(op, operands, {"epsilon": d.some(1, 8) / 8}, f=nnef.batch_normalization)


@draws("min_max_linear_quantize", "linear_quantize", "zero_point_linear_quantize", "logarithmic_quantize")
def quantisation(d, op):
    d.wild = d.chance(0.15)
    x = d.new("scalar", d.shape(0, 3)) if d.wild else d.tensor(0, 3, exact=True)
    d.wild = False
    shape = d.values[x].shape
    bits = d.pick(2, 3, 4, 8)
    part = lambda: tuple(e if d.chance(0.5) else 1 for e in shape) if d.chance(0.5) else ()
    if "logarithmic" in op:
        return d.call(op, [x, d.new("scalar", part(), 1, 6)], {"bits": bits}, f=nnef.logarithmic_quantize)
    attrs = {"bits": bits, "signed": d.chance(0.5), "symmetric": d.chance(0.5)}
    if op == "zero_point_linear_quantize":
        scale = d.introduce(2.0 ** d.numbers("integer", part(), -4, 0))
        return d.call(op, [x, d.new("integer", part(), -3, 3), scale], attrs, f=nnef.zero_point_linear_quantize)
    # a range of a power of two over the codes: ties fall where both precisions see them
    r = 2 ** bits - 1 - (1 if op == "min_max_linear_quantize" and attrs["signed"] and attrs["symmetric"] else 0)
    low = d.some(-32, 0) / 8
    ends = [d.introduce(np.full(part(), v)) for v in (low, low + r * 2.0 ** d.some(-6, -1))]
    if op == "linear_quantize":
        return d.call(op, [x, *ends], {"bits": bits},
                      f=lambda *t, bits: nnef.min_max_linear_quantize(*t, bits=bits, signed=False, symmetric=False))
    return d.call(op, [x, *ends], attrs, f=nnef.min_max_linear_quantize)


@draws("copy_n", "add_n")
def lists(d, op):
    x = any_kind(d, 0, 4) if op == "copy_n" else d.tensor(0, 4)
    if op == "copy_n":
        n = d.some(1, 3)
        return d.call(op, [x], {"times": n}, f=lambda x, times: (x,) * times, exact=True, results="list")
    items = [x] + [d.meeting(d.values[x].shape) for _ in range(d.some(0, 3))]

    def total(values):
        y = np.array(0.0)
        for v in values:
            y = nnef.two(np.add)(y, v)
        return y
    return d.call(op, [items], {}, f=total, exact=True)


OFTEN = (convolution, separable, pools, by_index, resampling, slices, padding, binary, limits)


def document(rng):
    """A document of one to three operations; raises Undefined where its text or float32 would not decide the values.
    The rule that it breaks, too: None where it is valid."""
    d = Document(rng)
    names = sorted(GENERATORS) + [n for n in GENERATORS if GENERATORS[n] in OFTEN] * 2
    try:
        for _ in range(rng.choice((1, 1, 2, 3))):
            op = rng.choice(names)
            d.wild = False
            with np.errstate(all="ignore"):
                GENERATORS[op](d, op)
            d.ops = getattr(d, "ops", []) + [op]
            if any(not np.isfinite(a).all() for a in d.values.values() if a.dtype == np.float64):
                break  # what follows a NaN would tell nothing new
    except nnef.Invalid as e:
        d.invalid, d.attempt = str(e), op
        return d
    d.invalid = None
    return d
