"""Draws operations with windows, factors and regions, with whatever attributes they may have."""
import math

import numpy as np

import nnef_semantics as nnef
from nnef_document import Literal, draws

RELU = lambda x: nnef.maximum(x, np.array(0.0))


def pairs(d, rank, spatial_only=False):
    if d.chance(0.3):
        return []
    return [(d.pick(0, 0, 1, 2, 3, -1, -2), d.pick(0, 0, 1, 2, 3, -1, -2)) if d.chance(0.6) else (0, 0) for _ in range(rank)]


def window(d, rank, borders):
    ones = lambda most: [] if d.chance(0.4) else [d.some(1, most) if d.chance(0.6) else 1 for _ in range(rank)]
    return {"border": d.pick(*borders), "padding": pairs(d, rank), "stride": ones(3), "dilation": ones(3)}


def sizes(d, rank):
    return [d.some(1, 3) if d.chance(0.6) else 1 for _ in range(rank)]


def asked(d, x, size, w):
    """An output_shape of reversed windows: one that leads back to x, or nearly."""
    if d.chance(0.5):
        return []
    out = []
    for k, (e, f) in enumerate(zip(x, size)):
        s = w["stride"][k] if w["stride"] else 1
        fd = (f - 1) * (w["dilation"][k] if w["dilation"] else 1) + 1
        least = (e - 1) * s + fd - sum(w["padding"][k]) if w["padding"] else (e - 1) * s + 1
        out.append(least + d.some(0, s - 1) + (0 if d.chance(0.95) else d.pick(-1, 1)))
    return out


ALL = (*nnef.BORDERS, "ignore")


@draws("conv", "deconv")
def convolution(d, op):
    spatial = d.pick(1, 1, 2, 2, 3)
    groups = d.pick(1, 1, 2, 3, 0)
    taken, per = d.some(1, 3), d.some(1, 3)
    size = sizes(d, spatial)
    w = window(d, spatial, nnef.BORDERS)
    extents = tuple(d.some(1, (d.pick(7, 40), 7, 4)[spatial - 1]) for _ in range(spatial))
    batch = d.some(1, 2)
    if op == "conv":
        C = groups * taken if groups else taken
        filter = ((groups or C) * per, taken if groups else 1, *size)
        x, out = (batch, C, *extents), (groups or C) * per
    else:
        c = (groups or d.some(1, 3)) * taken
        filter, x, out = (c, per, *size), (batch, c, *extents), (groups or c) * per
    attrs = {**w, "groups": groups}
    if op == "deconv":
        shape = asked(d, extents, size, w)
        attrs["output_shape"] = [batch, out, *shape] if shape else []
    d.wild = d.chance(0.1)
    tensor = d.new("scalar", x)
    d.wild = False  # filters and biases are finite
    operands = [tensor, d.new("scalar", filter)]
    bias = d.pick(None, (1, out), (1, 1), (), (1, out, *(1,) * spatial))
    if bias == () and d.chance(0.5):
        operands.append(Literal(d.some(-8, 8) / 8))
    elif bias is not None:
        operands.append(d.new("scalar", bias))
    f = nnef.conv if op == "conv" else nnef.deconv
    made = d.call(op, operands, attrs, f=lambda x, k, b=np.array(0.0), **a: f(x, k, b, **a), exact=True)
    if d.chance(0.4):
        d.call("relu", [made[0]], f=RELU, exact=True)


@draws("separable_conv", "separable_deconv")
def separable(d, op):
    spatial, C, multiplier, out = d.pick(1, 2), d.some(1, 3), d.some(1, 2), d.some(1, 3)
    size = sizes(d, spatial)
    w = window(d, spatial, nnef.BORDERS)
    extents = tuple(d.some(1, 6) for _ in range(spatial))
    ones = (1,) * spatial
    if op == "separable_conv":
        x, plane, point, made = (1, C, *extents), (C * multiplier, 1, *size), (out, C * multiplier, *ones), out
        attrs = {**w, "groups": 1}
    else:
        x, plane, point, made = (1, C, *extents), (out, 1, *size), (C, out, *ones), out
        shape = asked(d, extents, size, w)
        attrs = {**w, "groups": 1, "output_shape": [1, out, *shape] if shape else []}
    operands = [d.new("scalar", s, -2, 2) for s in (x, plane, point)]
    if d.chance(0.5):
        operands.append(d.new("scalar", (1, made)))
    f = getattr(nnef, op)
    d.call(op, operands, attrs, f=lambda x, k, p, b=np.array(0.0), **a: f(x, k, p, b, **a))


@draws("box", "debox", "avg_pool", "rms_pool", "max_pool", "argmax_pool", "max_pool_with_index")
def pools(d, op):
    exact = "max" in op
    x = d.tensor(1, 4, exact=exact)
    rank = d.values[x].ndim
    size = sizes(d, rank)
    attrs = {"size": size, **window(d, rank, ALL)}
    if op == "debox":
        attrs["output_shape"] = asked(d, d.values[x].shape, size, attrs)
    if op in ("box", "debox"):
        attrs["normalize"] = d.chance(0.5)
    f = {"avg_pool": lambda x, **a: nnef.box(x, normalize=True, **a),
         "max_pool": lambda x, **a: nnef.max_pool_with_index(x, **a)[0]}.get(op) or getattr(nnef, op)
    d.call(op, [x], attrs, f=f, exact=op != "rms_pool", results=2 if op == "max_pool_with_index" else 1)


@draws("sample", "desample")
def by_index(d, op):
    x = d.tensor(1, 4)
    extents = d.values[x].shape
    size = sizes(d, len(extents))
    attrs = {"size": size, **window(d, len(extents), nnef.BORDERS if op == "sample" else ("constant",))}
    if op == "desample":
        attrs["output_shape"] = asked(d, extents, size, attrs)
        index = extents
    else:
        w = {k: v for k, v in attrs.items() if k not in ("border", "size")}
        try:
            index = tuple(nnef.basic_windows(extents, size, **w, rule="O-BOX-1")[1])
        except nnef.Invalid:
            raise nnef.Undefined("no extents for the index")
        if math.prod(index) > 300:
            raise nnef.Undefined("too large")
    d.call(op, [x, d.new("integer", index, 0, math.prod(size) - 1)], attrs, f=getattr(nnef, op), exact=True)


@draws("nearest_downsample", "area_downsample", "nearest_upsample", "multilinear_upsample")
def resampling(d, op):
    x = d.tensor(2, 4)
    e = d.values[x].shape[2:]
    factor = [d.pick(*[n for n in range(1, k + 1) if k % n == 0]) if "down" in op and d.chance(0.95) else d.some(1, 3)
              for k in e]
    attrs = {"factor": factor}
    if op == "multilinear_upsample":
        attrs.update(method=d.pick("symmetric", "asymmetric", "aligned"), border=d.pick(*nnef.BORDERS))
    d.call(op, [x], attrs, f=getattr(nnef, op), exact="nearest" in op)


@draws("avg_roi_pool", "max_roi_pool", "roi_resample", "avg_roi_align", "max_roi_align")
def rois(d, op):
    spatial = d.pick(1, 2)
    e = tuple(d.some(2, 7) for _ in range(spatial))
    x = d.new("scalar", (d.some(1, 2), d.some(1, 2), *e))
    rows = []
    for _ in range(d.some(1, 3)):
        low = [d.some(0, 8 * (n - 1)) / 8 for n in e]
        rows.append(low + [d.some(math.ceil(8 * (v + 0.5)), 8 * n) / 8 for v, n in zip(low, e)])
    roi = d.introduce(np.array(rows))
    n = len(rows)
    batch = d.new("integer", d.pick((n, 1), (n,)), 0, d.values[x].shape[0] - 1)
    attrs = {"output_size": [d.some(1, 3) for _ in e]}
    if "align" in op:
        attrs.update(sampling_rate=[d.some(1, 2) for _ in e], resize_method=d.pick("symmetric", "asymmetric", "aligned"))
    elif op == "roi_resample":
        attrs["method"] = d.pick("symmetric", "asymmetric", "aligned")
    f = {"avg_roi_pool": lambda *t, **a: nnef.roi_pool(*t, **a, meet=lambda v, ax: v.mean(ax)),
         "max_roi_pool": lambda *t, **a: nnef.roi_pool(*t, **a, meet=lambda v, ax: v.max(ax)),
         "roi_resample": nnef.roi_resample,
         "avg_roi_align": lambda *t, **a: nnef.roi_align(*t, **a, border="constant", normalize=True),
         "max_roi_align": lambda *t, **a: nnef.roi_align(*t, **a, border="constant", normalize=False)}[op]
    d.call(op, [x, roi, batch], attrs, f=f)
