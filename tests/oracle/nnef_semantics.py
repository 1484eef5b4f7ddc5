"""The operations of NNEF 1.0.5 in numpy, each from its formula in the standard's text, in double precision and one element at
a time. Nothing here was taken from the engine: where both agree, two readings of the text agree.

A function takes its tensors, then its attributes by name, and gives one array, or a tuple of them. It raises Invalid where the
text forbids the call and Undefined where it says nothing (a mean of no elements): nobody can be wrong there.
"""
import math

import numpy as np

from nnef_windows import *


# ---- Broadcasting: extents meet from dimension 0, missing ones at the end are 1


def broadcast(*arrays):
    rank = max(a.ndim for a in arrays)
    arrays = [a.reshape(a.shape + (1,) * (rank - a.ndim)) for a in arrays]
    for extents in zip(*(a.shape for a in arrays)):
        need(len({e for e in extents if e != 1}) <= 1, "O-BIN-1")
    return np.broadcast_arrays(*arrays)


def select(condition, true_value, false_value):
    c, t, f = broadcast(condition, true_value, false_value)
    return np.where(c, t, f)


def minimum(x, y):
    x, y = broadcast(x, y)
    return np.where(x < y, x, y)


def maximum(x, y):
    x, y = broadcast(x, y)
    return np.where(x > y, x, y)


def clamp(x, a, b):
    return maximum(minimum(x, b), a)


def two(f):
    return lambda x, y: f(*broadcast(x, y))


def round_half_up(x):
    return np.floor(x + 0.5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- Reductions


def over(x, axes, f):
    need(len(set(axes)) == len(axes) and all(0 <= a < x.ndim for a in axes), "O-RED-1")
    return f(x, tuple(axes)) if axes else f(x.reshape(*x.shape, 1), (x.ndim,))[..., 0]


def sum_reduce(x, axes, normalize):
    y = over(x, axes, lambda v, a: v.sum(a, keepdims=True))
    return y / math.prod(x.shape[a] for a in axes) if normalize else y


def max_reduce(x, axes):
    return over(x, axes, lambda v, a: v.max(a, keepdims=True))


def min_reduce(x, axes):
    return over(x, axes, lambda v, a: v.min(a, keepdims=True))


def any_reduce(x, axes):
    return over(x, axes, lambda v, a: v.any(a, keepdims=True))


def all_reduce(x, axes):
    return over(x, axes, lambda v, a: v.all(a, keepdims=True))


def argmax_reduce(x, axes):
    """Of several axes the row-major place among them in their order; the first of equals."""
    def first(v, a):
        rest = [i for i in range(v.ndim) if i not in a]
        lines = v.transpose(*rest, *sorted(a)).reshape(*(v.shape[i] for i in rest), -1)
        return lines.argmax(-1).reshape([1 if i in a else v.shape[i] for i in range(v.ndim)])
    return over(x, axes, first)


def argmin_reduce(x, axes):
    return argmax_reduce(-x, axes)


def moments(x, axes):
    mean = sum_reduce(x, axes, True)
    return mean, sum_reduce((x - mean) ** 2, axes, True)


# ---- Shapes


def reshape(x, shape, axis_start, axis_count):
    need(0 <= axis_start <= x.ndim, "O-RESH-1")
    count = x.ndim - axis_start if axis_count == -1 else axis_count
    need(axis_count >= -1 and axis_start + count <= x.ndim, "O-RESH-2")
    own = x.shape[axis_start:axis_start + count]
    items = list(shape)
    need(all(n >= -1 for n in items) and items.count(-1) <= 1, "O-RESH-3")
    for i, n in enumerate(items):
        if n == 0:
            need(i < len(own), "O-RESH-3")
            items[i] = own[i]
    if -1 in items:
        known = -math.prod(items)
        need(known and math.prod(own) % known == 0, "O-RESH-3")
        items[items.index(-1)] = math.prod(own) // known
    need(math.prod(items) == math.prod(own), "O-RESH-3")
    return x.reshape(x.shape[:axis_start] + tuple(items) + x.shape[axis_start + count:])


def squeeze(x, axes):
    need(len(set(axes)) == len(axes) and all(0 <= a < x.ndim and x.shape[a] == 1 for a in axes), "O-SQZ-1")
    return x.reshape([e for i, e in enumerate(x.shape) if i not in axes])


def unsqueeze(x, axes):
    rank = x.ndim + len(axes)
    need(len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes), "O-SQZ-2")
    rest = iter(x.shape)
    return x.reshape([1 if i in axes else next(rest) for i in range(rank)])


def transpose(x, axes):
    need(len(axes) <= x.ndim and sorted(axes) == list(range(len(axes))), "O-TRANS-1")
    return x.transpose(*axes, *range(len(axes), x.ndim))


def split(x, axis, ratios):
    need(0 <= axis < x.ndim and ratios and all(r > 0 for r in ratios), "O-SPLIT-1")
    need(x.shape[axis] % sum(ratios) == 0, "O-SPLIT-1")
    unit = x.shape[axis] // sum(ratios)
    return tuple(np.split(x, np.cumsum(ratios)[:-1] * unit, axis))


def concat(values, axis):
    first = values[0]
    need(0 <= axis < first.ndim and all(v.ndim == first.ndim for v in values), "O-CONCAT-1")
    need(all(v.shape[i] == e for v in values for i, e in enumerate(first.shape) if i != axis), "O-CONCAT-1")
    return np.concatenate(values, axis)


def stack(values, axis):
    need(0 <= axis <= values[0].ndim and all(v.shape == values[0].shape for v in values), "O-STACK-1")
    return np.stack(values, axis)


def unstack(x, axis):
    need(0 <= axis < x.ndim, "O-STACK-2")
    return tuple(np.moveaxis(x, axis, 0))


def slice_(x, axes, begin, end, stride):
    need(len(axes) == len(begin) == len(end) and len(stride) in (0, len(axes)), "O-SLICE-1")
    need(len(set(axes)) == len(axes) and all(0 <= a < x.ndim for a in axes), "O-SLICE-1")
    need(0 not in stride, "O-SLICE-2")
    ends_at_last = all(s == 1 for s in stride)
    for k, axis in enumerate(axes):
        X, s = x.shape[axis], stride[k] if stride else 1
        b, e = begin[k], end[k]
        if e == 0 and ends_at_last:
            e = X
        b, e = (max(min(n + X if n < 0 else n, X), -1) for n in (b, e))
        need(e >= b if s > 0 else b >= e, "O-SLICE-4")
        indices = list(range(b, e, s))
        if any(not 0 <= i < X for i in indices):
            raise Undefined("a slice that begins beyond the axis")
        x = np.take(x, indices, axis)
    return x


def pad(x, padding, border, value):
    need(len(padding) == x.ndim and border in BORDERS, "O-PAD-1")
    out = [e + p + q for e, (p, q) in zip(x.shape, padding)]
    need(all(e > 0 for e in out), "O-PAD-1")
    y = np.zeros(out)
    for at in places(out):
        place = tuple(i - p for i, (p, _) in zip(at, padding))
        found = look(x, place, border)
        outside = any(not 0 <= i < n for i, n in zip(place, x.shape))
        y[at] = value if outside and border == "constant" else found
    return y


def tile(x, repeats):
    need(len(repeats) == x.ndim and all(r > 0 for r in repeats), "O-TILE-1")
    return np.tile(x, repeats) if x.ndim else x


def gather(x, indices, axis):
    need(0 <= axis < x.ndim, "O-GATHER-1")
    return np.take(x, indices, axis)


def cast(x, to):
    if to == "logical":
        return x != 0
    if to == "integer":
        return (np.floor(x) if x.dtype == np.float64 else x).astype(np.int64)
    return x.astype(np.float64)


# ---- Regions: rows of first corner, last corner; cells begin at the region's first corner, wherever the text forgets it


def regions(x, rois, batch_index, output_size):
    M = x.ndim - 2
    need(M > 0 and rois.ndim == 2 and rois.shape[1] == 2 * M and len(output_size) == M, "O-ROI-1")
    need(batch_index.shape in ((rois.shape[0], 1), (rois.shape[0],)), "O-ROI-1")
    need(all(n > 0 for n in output_size), "O-ROI-1")
    for r, b in enumerate(batch_index.reshape(-1)):
        yield r, x[b], rois[r, :M], rois[r, M:]


def roi_pool(x, rois, batch_index, output_size, meet):
    y = np.zeros((rois.shape[0], x.shape[1], *output_size))
    for r, image, low, high in regions(x, rois, batch_index, output_size):
        for at in places(output_size):
            cell = [slice(None)]
            for i, n, a, b, extent in zip(at, output_size, round_half_up(low), round_half_up(high), image.shape[1:]):
                size = int(b - a)
                begin = int(a) + i * (size // n)
                if size < 1 or begin < 0 or begin + -(-size // n) > extent:
                    raise Undefined("a cell of nothing, or beyond the image")
                cell.append(slice(begin, begin + -(-size // n)))
            y[(r, slice(None), *at)] = meet(image[tuple(cell)], tuple(range(1, x.ndim - 1)))
    return y


def roi_resample(x, rois, batch_index, output_size, method):
    need(method in ("symmetric", "asymmetric", "aligned"), "O-ROI-1")
    y = np.zeros((rois.shape[0], x.shape[1], *output_size))
    for r, image, low, high in regions(x, rois, batch_index, output_size):
        for at in places(output_size):
            value = image
            for i, n, a, b in zip(at, output_size, low, high):
                size = b - a
                if method == "symmetric":
                    place = a + (i + 0.5) * size / n - 0.5
                elif method == "asymmetric":
                    place = a + i * size / n
                else:
                    place = a + i * (size - 1) / (n - 1) if n > 1 else a
                j, extent = math.floor(place), value.shape[1]
                u = place - j
                value = (1 - u) * value[:, border_index(j, extent, "replicate")] \
                    + u * value[:, border_index(j + 1, extent, "replicate")]
            y[(r, slice(None), *at)] = value
    return y


def roi_align(x, rois, batch_index, output_size, sampling_rate, resize_method, border, normalize):
    need(len(sampling_rate) == x.ndim - 2 and all(n > 0 for n in sampling_rate), "O-ROI-1")
    fine = roi_resample(x, rois, batch_index, [n * r for n, r in zip(output_size, sampling_rate)], resize_method)
    window = [1, 1, *sampling_rate]
    none = [(0, 0)] * x.ndim
    if normalize:
        return box(fine, window, border, none, window, [], True)
    return max_pool_with_index(fine, window, border, none, window, [])[0]


# ---- Products, normalisations, quantisation


def matmul(A, B, transposeA, transposeB):
    need(A.ndim == B.ndim and A.ndim >= 2, "O-MATMUL-1")
    A, B = (np.swapaxes(A, -1, -2) if transposeA else A), (np.swapaxes(B, -1, -2) if transposeB else B)
    need(A.shape[-1] == B.shape[-2], "O-MATMUL-1")
    need(all(a == b or 1 in (a, b) for a, b in zip(A.shape[:-2], B.shape[:-2])), "O-MATMUL-1")
    return A @ B


def linear(x, filter, bias):
    y, b = broadcast(matmul(x, filter, False, True), bias)
    return y + b


def softmax(x, axes):
    e = np.exp(x - max_reduce(x, axes))
    return e / sum_reduce(e, axes, False)


def window_mean(x, size):
    need(len(size) == x.ndim and all(n > 0 for n in size), "O-NORM-1")
    return box(x, size, "constant", [], [], [], True)


def local_response_normalization(x, size, alpha, beta, bias):
    return x / (bias + alpha * window_mean(x * x, size)) ** beta


def local_mean_normalization(x, size):
    return x - window_mean(x, size)


def local_variance_normalization(x, size, bias, epsilon):
    return x / maximum(np.sqrt(window_mean(x * x, size)) + bias, np.array(epsilon))


def local_contrast_normalization(x, size, bias, epsilon):
    return local_variance_normalization(local_mean_normalization(x, size), size, bias, epsilon)


def l1_normalization(x, axes, bias, epsilon):
    return x / maximum(sum_reduce(np.abs(x), axes, False) + bias, np.array(epsilon))


def l2_normalization(x, axes, bias, epsilon):
    return x / maximum(np.sqrt(sum_reduce(x * x, axes, False)) + bias, np.array(epsilon))


def batch_normalization(x, mean, variance, offset, scale, epsilon):
    x, mean, variance, offset, scale = broadcast(x, mean, variance, offset, scale)
    return offset + scale * (x - mean) / np.sqrt(variance + epsilon)


def min_max_linear_quantize(x, min, max, bits, signed, symmetric):
    x, low, high = broadcast(x, min, max)
    r = 2 ** bits - 1 - (1 if signed and symmetric else 0)
    p = 2 ** (bits - 1) - (1 if symmetric else 0) if signed else 0
    q = round_half_up((clamp(x, low, high) - low) / (high - low) * r) - p
    return (q + p) / r * (high - low) + low


def zero_point_linear_quantize(x, zero_point, scale, bits, signed, symmetric):
    x, z, scale = broadcast(x, zero_point.astype(np.float64), scale)
    r = 2 ** (bits - 1) - 1 if signed else 2 ** bits - 1
    low = 0 if not signed else -r if symmetric else -r - 1
    return (clamp(round_half_up(x / scale) + z, np.array(float(low)), np.array(float(r))) - z) * scale


def logarithmic_quantize(x, max, bits):
    x, most = broadcast(x, max)
    m = np.ceil(np.log2(most))
    r = 2.0 ** bits - 1
    q = round_half_up(clamp(np.log2(np.abs(x)), m - r, m))
    return np.sign(x) * 2.0 ** q
