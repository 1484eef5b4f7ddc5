"""A random NNEF document while it grows: its text, and the values that nnef_semantics.py gives it."""
import math

import numpy as np

import nnef_semantics as nnef

KINDS = {np.dtype(np.float64): "scalar", np.dtype(np.int64): "integer", np.dtype(np.bool_): "logical"}
TYPES = {"scalar": np.float64, "integer": np.int64, "logical": np.bool_}


def literal(v):
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, (int, np.integer)):
        return str(int(v))
    if isinstance(v, (float, np.floating)):
        return repr(float(v))
    if isinstance(v, str):
        return f"'{v}'"
    if isinstance(v, tuple):
        return "(" + ",".join(map(literal, v)) + ")"
    return "[" + ",".join(map(literal, v)) + "]"


class Name(str):
    """An operand as the text has it: a name, or a number."""


class Document:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.inputs, self.values = [], {}, {}
        self.exact = set()   # tensors that float32 holds exactly, whatever came before
        self.wild = False    # zeros, infinities and NaN among the numbers
        self.externals = []
        self.results = []

    # ---- Drawing

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *items):
        return self.rng.choice(items)

    def some(self, low, high):
        return self.rng.randint(low, high)

    def shape(self, low=0, high=4, most=120):
        while True:
            e = tuple(self.some(1, self.pick(1, 3, 3, 6, 6, 40)) for _ in range(self.some(low, high)))
            if math.prod(e) <= most:
                return e

    def numbers(self, kind, shape, low=-4, high=4):
        n = math.prod(shape)
        if kind == "scalar":
            v = [self.some(low * 8, high * 8) / 8 for _ in range(n)]
            if self.wild:
                odd = [0.0, -0.0, math.inf, -math.inf, math.nan]
                v = [self.pick(*odd) if self.chance(0.25) else x for x in v]
        elif kind == "integer":
            v = [self.some(low, high) for _ in range(n)]
        else:
            v = [self.chance(0.5) for _ in range(n)]
        return np.array(v, TYPES[kind]).reshape(shape)

    def introduce(self, array):
        """A tensor that the document does not compute: an external, or a constant."""
        if array.size == 0:
            raise nnef.Undefined("extents of 0 are computed, not introduced")
        name = Name(f"t{len(self.values)}")
        kind = KINDS[array.dtype]
        tag = "" if kind == "scalar" else f"<{kind}>"
        finite = kind != "scalar" or np.isfinite(array).all()
        if finite and array.size <= 40 and self.chance(0.3) and self.externals:
            flat = array.reshape(-1)
            same = len(set(flat.tolist())) == 1
            shown = flat[:1] if same and self.chance(0.5) else flat
            self.lines.append(f"{name} = constant{tag}(shape = {literal(list(array.shape))}, value = {literal(list(shown))});")
        else:
            self.lines.append(f"{name} = external{tag}(shape = {literal(list(array.shape))});")
            self.externals.append(name)
            self.inputs[name] = array
        self.values[name] = array
        self.exact.add(name)
        return name

    def new(self, kind, shape, low=-4, high=4):
        return self.introduce(self.numbers(kind, shape, low, high))

    def tensor(self, low=0, high=4, kind="scalar", exact=False, fits=lambda a: True, least=-4, most=4,
               empty=False):
        """A tensor of the document that fits, or a new one; `empty`: it may have no elements."""
        known = [n for n, a in self.values.items() if KINDS[a.dtype] == kind and low <= a.ndim <= high and a.size <= 200
                 and (a.size > 0 or empty) and (n in self.exact or not exact) and fits(a)
                 and (least == -4 or (a >= least).all() and (a <= most).all())]
        if known and self.chance(0.75):
            return Name(self.pick(*known))
        for _ in range(100):
            array = self.numbers(kind, self.shape(low, high), least, most)
            if fits(array):
                return self.introduce(array)
        raise nnef.Undefined("nothing fits")

    def meeting(self, shape, kind="scalar", low=-4, high=4, exact=False):
        """A tensor that broadcasts with extents: they meet from dimension 0."""
        if kind == "scalar" and self.chance(0.2) and not self.wild:
            return self.literal_operand(low, high)
        mine = [e if self.chance(0.7) else 1 for e in shape]
        mine = mine[:self.some(0, len(mine))] if self.chance(0.4) else mine
        if kind == "scalar" and self.chance(0.1):
            mine = [e if e != 1 or self.chance(0.7) else self.some(1, 3) for e in mine]
        return self.new(kind, tuple(mine), low, high)

    def literal_operand(self, low, high):
        v = self.some(low * 8, high * 8) / 8
        return Literal(v)

    def of(self, operand):
        return operand.array if isinstance(operand, Literal) else self.values[operand]

    # ---- Writing

    def call(self, op, operands, attrs=None, f=None, generic="", exact=False, results=1):
        """One line; the names of its results. `f` takes arrays and attributes."""
        attrs = attrs or {}
        arrays = [[self.of(n) for n in o] if isinstance(o, list) else self.of(o) for o in operands]
        words = ["[" + ",".join(map(str, o)) + "]" if isinstance(o, list) else str(o) for o in operands]
        words += [f"{k} = {literal(v)}" for k, v in attrs.items() if not (v == DEFAULTS.get((op, k), DEFAULTS.get(k))
                                                                          and self.chance(0.5))]
        right = f"{op}{generic}({', '.join(words)});"
        try:
            got = f(*arrays, **attrs)
        except nnef.Invalid:
            if results == "list":
                raise nnef.Undefined("a list of nobody knows how many results")
            left = [Name(f"t{len(self.values) + i}") for i in range(results)]
            self.lines.append(f"{', '.join(left)} = {right}")
            self.results += left
            raise
        got = list(got) if isinstance(got, tuple) else [got]
        names = [Name(f"t{len(self.values) + i}") for i in range(len(got))]
        left = "[" + ", ".join(names) + "]" if results == "list" else ", ".join(names)
        self.lines.append(f"{left} = {right}")
        flat = [n for o in operands for n in (o if isinstance(o, list) else [o])]
        finite = all(np.isfinite(self.of(n)).all() for n in flat)
        for name, array in zip(names, got):
            array = np.asarray(array)
            if array.dtype not in KINDS:
                array = array.astype(np.float64)
            if array.dtype == np.float64 and finite and not self.wild and not (np.abs(array) < 1e4).all():
                raise nnef.Undefined("numbers that float32 keeps badly")
            self.values[name] = array
            if exact and all(isinstance(n, Literal) or n in self.exact for n in flat) and keeps(array):
                self.exact.add(name)
            self.results.append(name)
        return names

    def text(self):
        return "version 1.0;\n\ngraph net({}) -> ({})\n{{\n{}\n}}\n".format(
            ", ".join(self.externals), ", ".join(self.results), "\n".join("    " + s for s in self.lines))


class Literal(str):
    """A number that stands in the text itself."""
    def __new__(cls, v):
        s = super().__new__(cls, literal(float(v)))
        s.array = np.array(float(v))
        return s


def keeps(array):
    """Whether float32 holds it with room for exact sums."""
    if array.dtype != np.float64:
        return True
    scaled = array * 1024
    return bool((scaled == np.floor(scaled)).all() and (np.abs(array) < 512).all())


DEFAULTS = {"border": "constant", "padding": [], "stride": [], "dilation": [], "groups": 1, "output_shape": [],
            "normalize": False, "method": "symmetric", "axis_start": 0, "axis_count": -1, "value": 0.0, "axis": 0,
            "transposeA": False, "transposeB": False, "alpha": 1.0, ("local_response_normalization", "beta"): 0.5,
            ("local_response_normalization", "bias"): 1.0, "bias": 0.0, "epsilon": 0.0, "resize_method": "symmetric",
            ("selu", "alpha"): 1.67326319, "lambda": 1.05070102, ("multilinear_upsample", "border"): "replicate",
            ("softmax", "axes"): [1],
            # no defaults in the standard
            ("pad", "padding"): None, ("batch_normalization", "epsilon"): None, ("leaky_relu", "alpha"): None, ("concat", "axis"): None,
            ("stack", "axis"): None, ("split", "axis"): None, ("unstack", "axis"): None}


# ---- Operations, each drawn by a function of the document

GENERATORS = {}


def draws(*names):
    def add(f):
        for n in names:
            GENERATORS[n] = f
        return f
    return add
