"""Borders and sliding windows of NNEF 1.0.5: convolutions, boxes, pools, sampling, resampling."""
import itertools
import math

import numpy as np


class Invalid(Exception):
    """The text forbids it."""


class Undefined(Exception):
    """The text leaves it open."""


def need(condition, rule):
    if not condition:
        raise Invalid(rule)


# ---- Borders


def border_index(i, n, border):
    """The element of [0, n) that place i shows; None: the constant, or nothing at all."""
    while not 0 <= i < n:
        if border in ("constant", "ignore") or n == 0:
            return None
        if border == "replicate":
            i = 0 if i < 0 else n - 1
        elif border == "reflect":
            i = 0 if n == 1 else -i if i < 0 else 2 * (n - 1) - i
        else:
            i = -i - 1 if i < 0 else 2 * n - 1 - i
    return i


def look(x, place, border):
    """The element at a place that may lie beyond x; None: nothing there."""
    at = tuple(border_index(i, n, border) for i, n in zip(place, x.shape))
    if None in at:
        return 0.0 if border == "constant" else None
    return x[at]


BORDERS = ("constant", "replicate", "reflect", "reflect-even")


# ---- Sliding windows: each a list of (f, d, s, p), one a dimension, of the up-scaled and of the down-scaled extents


def lists(rank, padding, stride, dilation, rule):
    for items in (padding, stride, dilation):
        need(len(items) in (0, rank), rule)
    stride, dilation = list(stride) or [1] * rank, list(dilation) or [1] * rank
    need(all(s > 0 for s in stride), "O-SW-2")
    need(all(d > 0 for d in dilation), "O-SW-3")
    return stride, dilation


def automatic(X, f, d, s):
    x = -(-X // s)
    t = max((x - 1) * s + (f - 1) * d + 1 - X, 0)
    return t // 2, t - t // 2


def basic_windows(extents, size, padding, stride, dilation, rule):
    need(len(size) == len(extents), rule)
    need(all(f > 0 for f in size), "O-SW-1")
    stride, dilation = lists(len(extents), padding, stride, dilation, rule)
    windows, out = [], []
    for k, (X, f, s, d) in enumerate(zip(extents, size, stride, dilation)):
        p, q = padding[k] if padding else automatic(X, f, d, s)
        need(p + X + q >= (f - 1) * d + 1, "O-SW-4")
        windows.append((f, d, s, p))
        out.append((p + X + q - (f - 1) * d - 1) // s + 1)
    return windows, out


def reverse_windows(extents, size, padding, stride, dilation, output_shape, rule):
    need(len(size) == len(extents), rule)
    need(all(f > 0 for f in size), "O-SW-1")
    stride, dilation = lists(len(extents), padding, stride, dilation, rule)
    need(len(output_shape) in (0, len(extents)), "O-SW-7")
    windows, out = [], []
    for k, (x, f, s, d) in enumerate(zip(extents, size, stride, dilation)):
        fd = (f - 1) * d + 1
        X = output_shape[k] if output_shape else x * s if not padding else (x - 1) * s + fd - sum(padding[k])
        need(X > 0, "O-SW-4")
        p, q = padding[k] if padding else automatic(X, f, d, s)
        if output_shape:
            need(p + X + q >= fd and (p + X + q - fd) // s + 1 == x, "O-SW-7")
        windows.append((f, d, s, p))
        out.append(X)
    return windows, out


def taps(windows, at):
    """Places that the window of result `at` reads, row-major, with their offsets in the window."""
    for j in itertools.product(*(range(w[0]) for w in windows)):
        yield j, tuple(i * s + t * d - p for i, t, (_, d, s, p) in zip(at, j, windows))


def reverse_taps(windows, at):
    """Places of the down-scaled side that meet place `at` of the up-scaled one."""
    for j in itertools.product(*(range(w[0]) for w in windows)):
        from_ = [i + p - t * d for i, t, (_, d, s, p) in zip(at, j, windows)]
        if all(n % w[2] == 0 for n, w in zip(from_, windows)):
            yield j, tuple(n // w[2] for n, w in zip(from_, windows))


def places(extents):
    return itertools.product(*(range(n) for n in extents))


def check_bias(bias, rank, channels):
    need(bias.ndim <= rank, "O-CONV-5")
    for i, e in enumerate(bias.shape):
        need(e == 1 or (i == 1 and e == channels), "O-CONV-5")
    return bias.reshape(-1) if bias.size > 1 else np.full(channels, bias.reshape(-1)[0])


def conv(x, filter, bias, border, padding, stride, dilation, groups):
    need(filter.ndim == x.ndim and x.ndim > 2, "O-CONV-1")
    need(border in BORDERS, "O-CONV-6")
    need(groups >= 0, "O-CONV-3")
    G = groups or x.shape[1]
    need(filter.shape[0] % G == 0, "O-CONV-3")
    need(filter.shape[1] * G == x.shape[1], "O-CONV-4")
    windows, out = basic_windows(x.shape[2:], filter.shape[2:], padding, stride, dilation, "O-CONV-2")
    c, taken = filter.shape[0], filter.shape[1]
    b = check_bias(bias, x.ndim, c)
    y = np.zeros((x.shape[0], c, *out))
    for n, k, *at in places(y.shape):
        first = k // (c // G) * taken
        y[(n, k, *at)] = b[k] + sum(look(x[n, first + m], place, border) * filter[(k, m, *j)]
                                    for j, place in taps(windows, at) for m in range(taken))
    return y


def deconv(x, filter, bias, border, padding, stride, dilation, output_shape, groups):
    need(filter.ndim == x.ndim and x.ndim > 2, "O-CONV-1")
    need(border in BORDERS, "O-CONV-6")
    need(filter.shape[0] == x.shape[1], "O-CONV-4")
    need(groups >= 0, "O-CONV-3")
    need(len(output_shape) in (0, x.ndim), "O-SW-7")
    G = groups or (output_shape[1] if output_shape else x.shape[1])
    need(G > 0 and filter.shape[0] % G == 0, "O-CONV-3")
    C = filter.shape[1] * G
    if output_shape:
        need(output_shape[0] == x.shape[0] and output_shape[1] == C, "O-SW-7")
    windows, out = reverse_windows(x.shape[2:], filter.shape[2:], padding, stride, dilation, output_shape[2:], "O-CONV-2")
    b = check_bias(bias, x.ndim, C)
    y = np.zeros((x.shape[0], C, *out))
    per = filter.shape[0] // G
    for n, k, *at in places(y.shape):
        g = k // filter.shape[1]
        y[(n, k, *at)] = b[k] + sum(look(x[n, g * per + m], place, border) * filter[(g * per + m, k % filter.shape[1], *j)]
                                    for j, place in reverse_taps(windows, at) for m in range(per))
    return y


def separable_filters(plane, point, groups):
    need(plane.shape[1] == 1 and all(e == 1 for e in point.shape[2:]), "O-SEP-1")


def separable_conv(x, plane_filter, point_filter, bias, border, padding, stride, dilation, groups):
    separable_filters(plane_filter, point_filter, groups)
    planes = conv(x, plane_filter, np.array(0.0), border, padding, stride, dilation, 0)
    ones = [(0, 0)] * (x.ndim - 2)
    return conv(planes, point_filter, bias, "constant", ones, [], [], groups)


def separable_deconv(x, plane_filter, point_filter, bias, border, padding, stride, dilation, output_shape, groups):
    separable_filters(plane_filter, point_filter, groups)
    ones = [(0, 0)] * (x.ndim - 2)
    planes = deconv(x, point_filter, np.array(0.0), "constant", ones, [], [], [], groups)
    return deconv(planes, plane_filter, bias, border, padding, stride, dilation, output_shape, 0)


def box(x, size, border, padding, stride, dilation, normalize):
    need(border in (*BORDERS, "ignore"), "O-SW-6")
    windows, out = basic_windows(x.shape, size, padding, stride, dilation, "O-BOX-1")
    y = np.zeros(out)
    for at in places(out):
        found = [look(x, place, border) for _, place in taps(windows, at)]
        there = [v for v in found if v is not None]
        if normalize and not there:
            raise Undefined("a mean of nothing")
        y[at] = sum(there) / (len(there) if normalize else 1)
    return y


def debox(x, size, border, padding, stride, dilation, output_shape, normalize):
    need(border in (*BORDERS, "ignore"), "O-SW-6")
    windows, out = reverse_windows(x.shape, size, padding, stride, dilation, output_shape, "O-BOX-1")
    if normalize and border == "ignore":
        raise Undefined("the divisor of a reversed window at an ignored border")
    y = np.zeros(out)
    for at in places(out):
        found = [look(x, place, border) for _, place in reverse_taps(windows, at)]
        y[at] = sum(v for v in found if v is not None) / (math.prod(size) if normalize else 1)
    return y


def argmax_pool(x, size, border, padding, stride, dilation):
    need(border in (*BORDERS, "ignore"), "O-SW-6")
    windows, out = basic_windows(x.shape, size, padding, stride, dilation, "O-BOX-1")
    index = np.zeros(out, np.int64)
    for at in places(out):
        best = None
        for n, (_, place) in enumerate(taps(windows, at)):
            v = look(x, place, border)
            if v is not None and (best is None or v > best):
                best, index[at] = v, n
        if best is None:
            raise Undefined("a maximum of nothing")
    return index


def tap_of(n, size):
    return np.unravel_index(n, size)


def sample(x, index, size, border, padding, stride, dilation):
    need(border in (*BORDERS, "ignore"), "O-SAMPLE-2")
    windows, out = basic_windows(x.shape, size, padding, stride, dilation, "O-BOX-1")
    need(index.shape == tuple(out), "O-SAMPLE-1")
    y = np.zeros(out)
    for at in places(out):
        j = tap_of(index[at], size)
        y[at] = look(x, tuple(i * s + t * d - p for i, t, (_, d, s, p) in zip(at, j, windows)), border)
    return y


def desample(x, index, size, border, padding, stride, dilation, output_shape):
    need(border == "constant", "O-SAMPLE-2")
    windows, out = reverse_windows(x.shape, size, padding, stride, dilation, output_shape, "O-BOX-1")
    need(index.shape == x.shape, "O-SAMPLE-1")
    y = np.zeros(out)
    for at in places(x.shape):
        j = tap_of(index[at], size)
        to = tuple(i * s + t * d - p for i, t, (_, d, s, p) in zip(at, j, windows))
        if all(0 <= i < n for i, n in zip(to, out)):
            y[to] += x[at]
    return y


def max_pool_with_index(x, size, border, padding, stride, dilation):
    index = argmax_pool(x, size, border, padding, stride, dilation)
    return sample(x, index, size, border, padding, stride, dilation), index


def rms_pool(x, size, border, padding, stride, dilation):
    return np.sqrt(box(x * x, size, border, padding, stride, dilation, True))


# ---- Up- and down-sampling


def factors(x, factor):
    need(x.ndim > 1 and len(factor) == x.ndim - 2 and all(f > 0 for f in factor), "O-UPS-1")
    return [1, 1, *factor]


def nearest_downsample(x, factor):
    f = factors(x, factor)
    need(all(e % n == 0 for e, n in zip(x.shape, f)), "O-UPS-1")
    return x[tuple(slice(None, None, n) for n in f)]


def area_downsample(x, factor):
    f = factors(x, factor)
    need(all(e % n == 0 for e, n in zip(x.shape, f)), "O-UPS-1")
    return box(x, f, "constant", [(0, 0)] * x.ndim, f, [], True)


def nearest_upsample(x, factor):
    for axis, n in enumerate(factors(x, factor)):
        x = np.repeat(x, n, axis)
    return x


def multilinear_upsample(x, factor, method, border):
    need(method in ("symmetric", "asymmetric", "aligned") and border in BORDERS, "O-UPS-2")
    for axis, f in enumerate(factors(x, factor)):
        n = x.shape[axis]
        x = np.moveaxis(x, axis, 0)
        y = np.zeros((n * f, *x.shape[1:]))
        for i in range(n * f):
            if method == "symmetric":
                r = (i - (f - 1) / 2) / f
            elif method == "asymmetric":
                r = i / f
            else:
                r = 0.0 if n == 1 else i * (n - 1) / (n * f - 1)
            j = math.floor(r)
            for place, weight in ((j, 1 - (r - j)), (j + 1, r - j)):
                at = border_index(place, n, border)
                if at is not None and weight:
                    y[i] += weight * x[at]
        x = np.moveaxis(y, 0, axis)
    return x
