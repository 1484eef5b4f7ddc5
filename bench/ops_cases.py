"""The single-operator models of bench/ops: realistic extents of networks people run, in the types they come in.

Each case is a model of one node. What a network would hold as weights is an initializer, the rest is fed.
"""
from onnx_bytes import (BFLOAT16, BOOL, DOUBLE, FLOAT, FLOAT16, INT16, INT32, INT64, INT8, NAMES, STRING, UINT16, UINT32, UINT64, UINT8, model, numbers,
                        port, tensor)

OPSET = 22
IMAGE = [1, 64, 56, 56]      # an inner activation of a convolutional network
TOKENS = [1, 128, 768]       # of a transformer
HEADS = [1, 12, 128, 128]    # its attention scores
FLOATS = (FLOAT, FLOAT16)
WIDE_FLOATS = (FLOAT, FLOAT16, DOUBLE)
INTEGERS = (INT32, INT64)
BYTES = (UINT8, INT8)


class Fed:
    """An input that a run is given. Without bounds it is random in the harnesses' own way; with them it is stored beside the model."""

    def __init__(self, dtype, dims, low=None, high=None, values=None):
        self.dtype, self.dims, self.low, self.high, self.values = dtype, list(dims), low, high, values

    def stored(self, name, seed):
        if self.values is None and self.low is None: return None
        values = self.values if self.values is not None else numbers(self.dtype, self.dims, self.low, self.high, seed)
        return tensor(self.dtype, self.dims, values, name)


class Held(Fed):
    """A weight: an initializer of the model."""

    def stored(self, name, seed):
        low, high = (self.low, self.high) if self.low is not None else (-1.0, 1.0) if self.dtype in (*WIDE_FLOATS, BFLOAT16) else (0, 100)
        return tensor(self.dtype, self.dims, self.values if self.values is not None else numbers(self.dtype, self.dims, low, high, seed), name)


class Case:
    def __init__(self, op, label, inputs, outputs, attributes=None, opset=OPSET, domain=''):
        self.op, self.label, self.inputs, self.outputs = op, label, inputs, outputs
        self.attributes, self.opset, self.domain = attributes or {}, opset, domain

    @property
    def name(self):
        return f'{self.op}.{self.label}'.replace(' ', '_')

    def write(self, folder):
        """The model, and beside it the inputs whose content matters."""
        order, fed, held, beside = [], [], [], []
        for i, value in enumerate(self.inputs):
            if value is None:
                order.append('')
                continue
            name = f'x{i}'
            order.append(name)
            if isinstance(value, Held):
                held.append(value.stored(name, i))
            else:
                fed.append((name, value.dtype, value.dims))
                beside.append(value.stored(name, i))
        folder.mkdir(parents=True)
        outputs = [(f'y{i}' if t is not None else '', t) for i, t in enumerate(self.outputs)]
        (folder / 'model.onnx').write_bytes(model(self.op, order, fed, outputs, self.attributes, held, self.opset, self.domain))
        if any(b is not None for b in beside):
            sets = folder / 'test_data_set_0'
            sets.mkdir()
            for i, (value, content) in enumerate(zip([v for v in self.inputs if v is not None and not isinstance(v, Held)], beside)):
                content = content or tensor(value.dtype, value.dims, numbers(value.dtype, value.dims, 0 if value.dtype not in FLOATS else -1.0, 1, i), order[i])
                (sets / f'input_{i}.pb').write_bytes(content)


def each(ops, types, dims, count=1, low=None, high=None, out=None, label='', attributes=None):
    for op in ops:
        for t in types:
            yield Case(op, NAMES[t] + label, [Fed(t, dims, low, high) for _ in range(count)], [t if out is None else out], attributes)


def elementwise():
    any_number = 'Abs Neg Sign'.split()
    yield from each(any_number, (*WIDE_FLOATS, *INTEGERS, INT8), IMAGE)
    yield from each('Relu Sigmoid Tanh Exp HardSigmoid HardSwish Elu Selu LeakyRelu Softplus Softsign Gelu Mish Celu ThresholdedRelu Erf Floor Ceil Round '
                    'Reciprocal'.split(), FLOATS, IMAGE)
    yield from each('Relu Sigmoid Tanh Exp Erf Sqrt'.split(), (DOUBLE,), IMAGE, low=0.01, high=2)
    yield from each('Sqrt Log'.split(), FLOATS, IMAGE, low=0.01, high=10)
    yield from each('Sin Cos Tan Atan Sinh Asinh'.split(), (FLOAT,), IMAGE)
    yield from each('Acos Asin Atanh'.split(), (FLOAT,), IMAGE, low=-0.99, high=0.99)
    yield from each(('Acosh',), (FLOAT,), IMAGE, low=1.01, high=5)
    yield from each(('Cosh',), (FLOAT,), IMAGE)
    yield from each('Add Sub Mul Div'.split(), (*WIDE_FLOATS, *INTEGERS), IMAGE, 2, 1, 9)
    yield from each('Add Mul'.split(), (UINT8, INT8), IMAGE, 2, 0, 9)
    yield from each('Max Min'.split(), (*WIDE_FLOATS, *INTEGERS), IMAGE, 2, 0, 9)
    yield from each(('Pow',), FLOATS, IMAGE, 2, 0.1, 2)
    yield Case('Pow', 'f32 square', [Fed(FLOAT, IMAGE), Held(FLOAT, [], values=[2.0])], [FLOAT])
    yield Case('Pow', 'f32 cube root', [Fed(FLOAT, IMAGE, 0.1, 9), Held(FLOAT, [], values=[1 / 3])], [FLOAT])
    yield from each(('Mod',), INTEGERS, IMAGE, 2, 1, 90)
    yield Case('Mod', 'f32 fmod', [Fed(FLOAT, IMAGE, 1, 90), Fed(FLOAT, IMAGE, 1, 9)], [FLOAT], {'fmod': 1})
    yield from each('Equal Less Greater GreaterOrEqual'.split(), (FLOAT, INT32, INT64), IMAGE, 2, 0, 3, BOOL)
    yield from each('And Or Xor'.split(), (BOOL,), IMAGE, 2, 0, 1)
    yield from each(('Not',), (BOOL,), IMAGE, 1, 0, 1)
    yield from each('BitwiseAnd BitwiseOr BitwiseXor'.split(), (INT32, UINT8), IMAGE, 2, 0, 100)
    yield from each(('BitwiseNot',), (INT32, UINT8), IMAGE, 1, 0, 100)
    yield from each(('BitShift',), (UINT32, UINT8), IMAGE, 2, 0, 7, attributes={'direction': 'LEFT'})
    yield from each('IsNaN IsInf'.split(), (FLOAT,), IMAGE, out=BOOL)
    for t in (*FLOATS, INT64):
        yield Case('Where', NAMES[t], [Fed(BOOL, IMAGE, 0, 1), Fed(t, IMAGE, 0, 9), Fed(t, IMAGE, 0, 9)], [t])
        yield Case('Clip', NAMES[t], [Fed(t, IMAGE, 0, 9), Held(t, [], values=[1]), Held(t, [], values=[6])], [t])
    yield Case('Where', 'f32 mask of scores', [Fed(BOOL, [1, 1, 128, 128], 0, 1), Fed(FLOAT, HEADS), Held(FLOAT, [], values=[-1e9])], [FLOAT])
    yield Case('PRelu', 'f32', [Fed(FLOAT, IMAGE), Held(FLOAT, [64, 1, 1])], [FLOAT])
    for t in FLOATS:
        yield Case('Add', f'{NAMES[t]} channels', [Fed(t, IMAGE), Held(t, [64, 1, 1])], [t])
        yield Case('Mul', f'{NAMES[t]} rows', [Fed(t, TOKENS), Held(t, [768])], [t])
        yield Case('Mul', f'{NAMES[t]} column', [Fed(t, TOKENS), Fed(t, [1, 128, 1])], [t])
        yield Case('Sum', NAMES[t], [Fed(t, IMAGE), Fed(t, IMAGE), Fed(t, IMAGE)], [t])
        yield Case('Mean', NAMES[t], [Fed(t, IMAGE), Fed(t, IMAGE), Fed(t, IMAGE)], [t])
    pairs = [(FLOAT, FLOAT16), (FLOAT16, FLOAT), (FLOAT, BFLOAT16), (FLOAT, INT64), (INT64, FLOAT), (FLOAT, INT32), (INT32, FLOAT), (FLOAT, UINT8), (UINT8, FLOAT),
             (FLOAT, BOOL), (BOOL, FLOAT), (INT64, INT32), (INT32, INT64), (INT64, BOOL), (BOOL, INT64), (FLOAT, DOUBLE), (DOUBLE, FLOAT), (FLOAT16, INT32), (UINT8, INT32)]
    for source, to in pairs:
        yield Case('Cast', f'{NAMES[source]} to {NAMES[to]}', [Fed(source, IMAGE, 0, 1 if source == BOOL else 100)], [to], {'to': to})


def products():
    for t in WIDE_FLOATS:
        yield Case('MatMul', f'{NAMES[t]} weights', [Fed(t, TOKENS), Held(t, [768, 768])], [t])
        yield Case('MatMul', f'{NAMES[t]} fed', [Fed(t, [256, 256]), Fed(t, [256, 256])], [t])
        yield Case('Gemm', f'{NAMES[t]} one row', [Fed(t, [1, 1024]), Held(t, [1000, 1024]), Held(t, [1000])], [t], {'transB': 1})
    for t in FLOATS:
        yield Case('MatMul', f'{NAMES[t]} scores', [Fed(t, [1, 12, 128, 64]), Fed(t, [1, 12, 64, 128])], [t])
        yield Case('MatMul', f'{NAMES[t]} context', [Fed(t, HEADS), Fed(t, [1, 12, 128, 64])], [t])
        yield Case('Gemm', f'{NAMES[t]} 64 rows', [Fed(t, [64, 512]), Held(t, [512, 512]), Held(t, [512])], [t])
        yield Case('MatMul', f'{NAMES[t]} one token', [Fed(t, [1, 1, 768]), Held(t, [768, 3072])], [t])
    yield Case('MatMul', 'i32', [Fed(INT32, [128, 256], -9, 9), Fed(INT32, [256, 128], -9, 9)], [INT32])
    for label, equation, a, b in (('matmul', 'bij,bjk->bik', [8, 128, 64], [8, 64, 128]), ('scores', 'bqhd,bkhd->bhqk', [1, 128, 12, 64], [1, 128, 12, 64]),
                                  ('outer', 'i,j->ij', [1024], [1024]), ('positions', 'bhwc,hkc->bhwk', [8, 14, 14, 64], [14, 14, 64])):
        yield Case('Einsum', f'f32 {label}', [Fed(FLOAT, a), Fed(FLOAT, b)], [FLOAT], {'equation': equation})
    yield Case('Einsum', 'f32 transpose', [Fed(FLOAT, [8, 128, 256])], [FLOAT], {'equation': 'bij->bji'})
    yield Case('Einsum', 'f32 sum', [Fed(FLOAT, [8, 128, 256])], [FLOAT], {'equation': 'bij->bi'})
    for a, b in ((UINT8, UINT8), (UINT8, INT8)):
        yield Case('MatMulInteger', f'{NAMES[a]} {NAMES[b]}', [Fed(a, [128, 768], 0, 99), Held(b, [768, 768])], [INT32])
    yield Case('QLinearMatMul', 'u8', [Fed(UINT8, [128, 768], 0, 99), Held(FLOAT, [], values=[0.02]), Held(UINT8, [], values=[128]), Held(INT8, [768, 768]),
                                      Held(FLOAT, [], values=[0.01]), Held(INT8, [], values=[0]), Held(FLOAT, [], values=[0.5]), Held(UINT8, [], values=[128])], [UINT8])


def convolutions():
    rows = [('3x3', [1, 64, 56, 56], [64, 64, 3, 3], {'pads': [1] * 4}), ('1x1', [1, 256, 28, 28], [128, 256, 1, 1], {}),
            ('7x7 stride 2', [1, 3, 224, 224], [64, 3, 7, 7], {'pads': [3] * 4, 'strides': [2, 2]}),
            ('depthwise', [1, 144, 56, 56], [144, 1, 3, 3], {'pads': [1] * 4, 'group': 144}),
            ('depthwise stride 2', [1, 144, 56, 56], [144, 1, 3, 3], {'pads': [1] * 4, 'group': 144, 'strides': [2, 2]}),
            ('groups', [1, 128, 28, 28], [128, 4, 3, 3], {'pads': [1] * 4, 'group': 32}),
            ('dilated', [1, 64, 28, 28], [64, 64, 3, 3], {'pads': [2] * 4, 'dilations': [2, 2]}),
            ('1 axis', [1, 80, 1000], [256, 80, 3], {'pads': [1, 1]}), ('3 axes', [1, 16, 16, 28, 28], [16, 16, 3, 3, 3], {'pads': [1] * 6}),
            ('small', [1, 16, 20, 20], [16, 16, 3, 3], {'pads': [1] * 4})]
    for t in FLOATS:
        for label, x, w, attributes in rows:
            yield Case('Conv', f'{NAMES[t]} {label}', [Fed(t, x), Held(t, w), Held(t, w[:1])], [t], attributes)
    yield Case('Conv', 'f64 3x3', [Fed(DOUBLE, [1, 32, 28, 28]), Held(DOUBLE, [32, 32, 3, 3])], [DOUBLE], {'pads': [1] * 4})
    yield Case('Conv', 'f32 fed', [Fed(FLOAT, [1, 64, 28, 28]), Fed(FLOAT, [64, 64, 3, 3])], [FLOAT], {'pads': [1] * 4})
    for t in FLOATS:
        yield Case('ConvTranspose', f'{NAMES[t]} 2x2', [Fed(t, [1, 64, 28, 28]), Held(t, [64, 32, 2, 2])], [t], {'strides': [2, 2]})
        yield Case('ConvTranspose', f'{NAMES[t]} 4x4', [Fed(t, [1, 64, 28, 28]), Held(t, [64, 32, 4, 4])], [t], {'strides': [2, 2], 'pads': [1] * 4})
    quant = lambda y: [Held(FLOAT, [], values=[0.02]), Held(UINT8, [], values=[128]), Held(INT8, [64, 64, 3, 3]), Held(FLOAT, [], values=[0.01]),
                       Held(INT8, [], values=[0]), Held(FLOAT, [], values=[y]), Held(UINT8, [], values=[128])]
    yield Case('QLinearConv', 'u8 3x3', [Fed(UINT8, [1, 64, 28, 28], 0, 255), *quant(0.5)], [UINT8], {'pads': [1] * 4})
    yield Case('ConvInteger', 'u8 3x3', [Fed(UINT8, [1, 64, 28, 28], 0, 255), Held(UINT8, [64, 64, 3, 3])], [INT32], {'pads': [1] * 4})
    yield Case('DeformConv', 'f32', [Fed(FLOAT, [1, 32, 28, 28]), Held(FLOAT, [32, 32, 3, 3]), Fed(FLOAT, [1, 18, 28, 28], -1, 1)], [FLOAT], {'pads': [1] * 4})
    yield Case('Col2Im', 'f32', [Fed(FLOAT, [1, 32 * 9, 28 * 28]), Held(INT64, [2], values=[30, 30]), Held(INT64, [2], values=[3, 3])], [FLOAT])


def windows():
    for t in FLOATS:
        yield Case('MaxPool', f'{NAMES[t]} 3x3 stride 2', [Fed(t, [1, 64, 112, 112])], [t], {'kernel_shape': [3, 3], 'strides': [2, 2], 'pads': [1] * 4})
        yield Case('AveragePool', f'{NAMES[t]} 3x3', [Fed(t, IMAGE)], [t], {'kernel_shape': [3, 3], 'pads': [1] * 4})
        yield Case('GlobalAveragePool', NAMES[t], [Fed(t, [1, 1280, 7, 7])], [t])
        yield Case('GlobalMaxPool', NAMES[t], [Fed(t, IMAGE)], [t])
    yield Case('MaxPool', 'f32 2x2', [Fed(FLOAT, IMAGE)], [FLOAT], {'kernel_shape': [2, 2], 'strides': [2, 2]})
    yield Case('MaxPool', 'f32 5x5 stride 1', [Fed(FLOAT, [1, 256, 20, 20])], [FLOAT], {'kernel_shape': [5, 5], 'pads': [2] * 4})
    yield Case('MaxPool', 'f32 indices', [Fed(FLOAT, IMAGE)], [FLOAT, INT64], {'kernel_shape': [2, 2], 'strides': [2, 2]})
    yield Case('MaxPool', 'u8', [Fed(UINT8, IMAGE, 0, 255)], [UINT8], {'kernel_shape': [2, 2], 'strides': [2, 2]})
    yield Case('MaxPool', 'f32 1 axis', [Fed(FLOAT, [1, 64, 4000])], [FLOAT], {'kernel_shape': [4], 'strides': [4]})
    yield Case('AveragePool', 'f32 3 axes', [Fed(FLOAT, [1, 16, 16, 28, 28])], [FLOAT], {'kernel_shape': [2, 2, 2], 'strides': [2, 2, 2]})
    yield Case('LpPool', 'f32', [Fed(FLOAT, IMAGE)], [FLOAT], {'kernel_shape': [2, 2], 'strides': [2, 2]})
    places = [c * 56 * 56 + 2 * h * 56 + 2 * w for c in range(64) for h in range(28) for w in range(28)]
    yield Case('MaxUnpool', 'f32', [Fed(FLOAT, [1, 64, 28, 28]), Fed(INT64, [1, 64, 28, 28], values=places)], [FLOAT], {'kernel_shape': [2, 2], 'strides': [2, 2]})
    for t in (FLOAT, FLOAT16, UINT8):
        values = (0, 255) if t == UINT8 else (None, None)
        for mode in ('nearest', 'linear'):
            yield Case('Resize', f'{NAMES[t]} {mode} x2', [Fed(t, [1, 32, 64, 64], *values), None, Held(FLOAT, [4], values=[1, 1, 2, 2])], [t], {'mode': mode})
    yield Case('Resize', 'f32 linear down', [Fed(FLOAT, [1, 3, 480, 640]), None, None, Held(INT64, [4], values=[1, 3, 224, 224])], [FLOAT], {'mode': 'linear'})
    yield Case('Resize', 'f32 cubic x2', [Fed(FLOAT, [1, 3, 128, 128]), None, Held(FLOAT, [4], values=[1, 1, 2, 2])], [FLOAT], {'mode': 'cubic'})
    yield Case('Resize', 'f32 align corners', [Fed(FLOAT, [1, 32, 64, 64]), None, None, Held(INT64, [4], values=[1, 32, 127, 127])], [FLOAT],
               {'mode': 'linear', 'coordinate_transformation_mode': 'align_corners'})
    for mode in ('linear', 'nearest', 'cubic'):
        yield Case('GridSample', f'f32 {mode}', [Fed(FLOAT, [1, 16, 64, 64]), Fed(FLOAT, [1, 64, 64, 2], -1, 1)], [FLOAT], {'mode': mode})
    boxes = [v for i in range(50) for v in (i % 7, i % 5, 10 + i % 17, 12 + i % 13)]
    yield Case('RoiAlign', 'f32', [Fed(FLOAT, [1, 64, 50, 50]), Fed(FLOAT, [50, 4], values=boxes), Fed(INT64, [50], values=[0] * 50)], [FLOAT],
               {'output_height': 7, 'output_width': 7, 'sampling_ratio': 2})
    rois = [v for i in range(50) for v in (0, i % 7, i % 5, 10 + i % 17, 12 + i % 13)]
    yield Case('MaxRoiPool', 'f32', [Fed(FLOAT, [1, 64, 50, 50]), Fed(FLOAT, [50, 5], values=rois)], [FLOAT], {'pooled_shape': [7, 7]})
    corners = [v for i in range(1000) for v in (i * 7 % 90, i * 11 % 90, i * 7 % 90 + 10 + i % 9, i * 11 % 90 + 10 + i % 7)]
    yield Case('NonMaxSuppression', 'f32', [Fed(FLOAT, [1, 1000, 4], values=corners), Fed(FLOAT, [1, 1, 1000], 0, 1), Held(INT64, [1], values=[100]),
                                           Held(FLOAT, [1], values=[0.5]), Held(FLOAT, [1], values=[0.1])], [INT64])


def norms():
    for t in FLOATS:
        yield Case('LayerNormalization', NAMES[t], [Fed(t, TOKENS), Held(t, [768]), Held(t, [768])], [t])
        yield Case('RMSNormalization', NAMES[t], [Fed(t, TOKENS), Held(t, [768])], [t], opset=23)
        yield Case('InstanceNormalization', NAMES[t], [Fed(t, IMAGE), Held(t, [64]), Held(t, [64])], [t])
        yield Case('GroupNormalization', NAMES[t], [Fed(t, IMAGE), Held(t, [64]), Held(t, [64])], [t], {'num_groups': 8})
        yield Case('BatchNormalization', NAMES[t], [Fed(t, IMAGE), *[Held(t, [64], 0.5, 1.5) for _ in range(4)]], [t])
        yield Case('Softmax', f'{NAMES[t]} scores', [Fed(t, HEADS)], [t], {'axis': -1})
        yield Case('Softmax', f'{NAMES[t]} channels', [Fed(t, IMAGE)], [t], {'axis': 1})
        yield Case('LogSoftmax', NAMES[t], [Fed(t, [64, 1000])], [t])
    yield Case('Softmax', 'f32 small rows', [Fed(FLOAT, [2000, 8])], [FLOAT])
    yield Case('LRN', 'f32', [Fed(FLOAT, IMAGE)], [FLOAT], {'size': 5})
    yield Case('LpNormalization', 'f32', [Fed(FLOAT, TOKENS)], [FLOAT])
    yield Case('MeanVarianceNormalization', 'f32', [Fed(FLOAT, IMAGE)], [FLOAT])


def reductions():
    for op in 'ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp'.split():
        yield Case(op, 'f32 rows', [Fed(FLOAT, TOKENS, 0.5, 1.5), Held(INT64, [1], values=[-1])], [FLOAT])
    for op in ('ReduceSum', 'ReduceMean', 'ReduceMax'):
        yield Case(op, 'f32 channels', [Fed(FLOAT, IMAGE), Held(INT64, [1], values=[1])], [FLOAT])
        yield Case(op, 'f32 image', [Fed(FLOAT, IMAGE), Held(INT64, [2], values=[2, 3])], [FLOAT])
        yield Case(op, 'f16 rows', [Fed(FLOAT16, TOKENS), Held(INT64, [1], values=[-1])], [FLOAT16])
        yield Case(op, 'f64 rows', [Fed(DOUBLE, TOKENS), Held(INT64, [1], values=[-1])], [DOUBLE])
        for t in INTEGERS:
            yield Case(op, f'{NAMES[t]} rows', [Fed(t, TOKENS, -9, 9), Held(INT64, [1], values=[-1])], [t])
    yield Case('ReduceSum', 'f32 all', [Fed(FLOAT, IMAGE)], [FLOAT], {'keepdims': 0})
    yield Case('ReduceSum', 'f32 short rows', [Fed(FLOAT, [20000, 8]), Held(INT64, [1], values=[-1])], [FLOAT])
    for op in ('ArgMax', 'ArgMin'):
        yield Case(op, 'f32 rows', [Fed(FLOAT, [128, 1000])], [INT64], {'axis': -1})
    yield Case('ArgMax', 'f32 channels', [Fed(FLOAT, [1, 21, 128, 128])], [INT64], {'axis': 1})
    for t in (FLOAT, DOUBLE, INT64):
        yield Case('CumSum', NAMES[t], [Fed(t, [128, 1024], 0, 3), Held(INT64, [], values=[1])], [t])
    yield Case('TopK', 'f32 5 of 1000', [Fed(FLOAT, [128, 1000]), Held(INT64, [1], values=[5])], [FLOAT, INT64])
    yield Case('TopK', 'f32 300 of 8400', [Fed(FLOAT, [1, 8400]), Held(INT64, [1], values=[300])], [FLOAT, INT64])
    yield Case('TopK', 'i64', [Fed(INT64, [64, 1000], 0, 9999), Held(INT64, [1], values=[10])], [INT64, INT64])
    yield Case('NonZero', 'f32', [Fed(FLOAT, [256, 256], -1, 1)], [INT64])
    yield Case('NonZero', 'bool', [Fed(BOOL, [256, 256], 0, 1)], [INT64])
    yield Case('Unique', 'i64', [Fed(INT64, [10000], 0, 500)], [INT64], {'sorted': 1})


def moves():
    kinds = (FLOAT, FLOAT16, INT64, UINT8)
    bounds = lambda t: (None, None) if t in FLOATS else (0, 99)
    for t in kinds:
        yield Case('Transpose', f'{NAMES[t]} heads', [Fed(t, [1, 128, 12, 64], *bounds(t))], [t], {'perm': [0, 2, 1, 3]})
        yield Case('Transpose', f'{NAMES[t]} to channels last', [Fed(t, IMAGE, *bounds(t))], [t], {'perm': [0, 2, 3, 1]})
        yield Case('Concat', f'{NAMES[t]} channels', [Fed(t, IMAGE, *bounds(t)) for _ in range(3)], [t], {'axis': 1})
        yield Case('Concat', f'{NAMES[t]} rows', [Fed(t, [1000, 16], *bounds(t)) for _ in range(3)], [t], {'axis': 1})
        yield Case('Slice', NAMES[t], [Fed(t, IMAGE, *bounds(t)), Held(INT64, [2], values=[3, 3]), Held(INT64, [2], values=[51, 51]), Held(INT64, [2], values=[2, 3])], [t])
        yield Case('Slice', f'{NAMES[t]} steps', [Fed(t, IMAGE, *bounds(t)), Held(INT64, [2], values=[0, 0]), Held(INT64, [2], values=[56, 56]),
                                                 Held(INT64, [2], values=[2, 3]), Held(INT64, [2], values=[2, 2])], [t])
        yield Case('Gather', f'{NAMES[t]} rows', [Held(t, [3000, 256]), Fed(INT64, [1, 128], 0, 2999)], [t])
        yield Case('Expand', NAMES[t], [Fed(t, [1, 64, 1, 1], *bounds(t)), Held(INT64, [4], values=IMAGE)], [t])
        yield Case('Tile', NAMES[t], [Fed(t, [1, 64, 28, 28], *bounds(t)), Held(INT64, [4], values=[1, 1, 2, 2])], [t])
        yield Case('Pad', f'{NAMES[t]} constant', [Fed(t, IMAGE, *bounds(t)), Held(INT64, [8], values=[0, 0, 1, 1, 0, 0, 1, 1])], [t])
        yield Case('Split', NAMES[t], [Fed(t, IMAGE, *bounds(t))], [t, t], {'axis': 1, 'num_outputs': 2})
    for mode in ('reflect', 'edge', 'wrap'):
        yield Case('Pad', f'f32 {mode}', [Fed(FLOAT, [1, 32, 64, 64]), Held(INT64, [8], values=[0, 0, 2, 2, 0, 0, 2, 2])], [FLOAT], {'mode': mode})
    for t in (FLOAT, INT64):
        index = lambda *dims, high: Fed(INT64, dims, 0, high)
        yield Case('GatherElements', NAMES[t], [Fed(t, [128, 1000], *bounds(t)), index(128, 500, high=999)], [t], {'axis': 1})
        yield Case('GatherND', NAMES[t], [Fed(t, [100, 100, 16], *bounds(t)), index(1000, 2, high=99)], [t])
        yield Case('ScatterElements', NAMES[t], [Fed(t, [128, 1000], *bounds(t)), index(128, 500, high=999), Fed(t, [128, 500], *bounds(t))], [t], {'axis': 1})
        yield Case('ScatterND', NAMES[t], [Fed(t, [1000, 64], *bounds(t)), Fed(INT64, [500, 1], values=list(range(500))), Fed(t, [500, 64], *bounds(t))], [t])
    yield Case('ScatterElements', 'f32 add', [Fed(FLOAT, [128, 1000]), Fed(INT64, [128, 500], 0, 999), Fed(FLOAT, [128, 500])], [FLOAT], {'axis': 1, 'reduction': 'add'})
    yield Case('DepthToSpace', 'f32', [Fed(FLOAT, [1, 64, 64, 64])], [FLOAT], {'blocksize': 2})
    yield Case('SpaceToDepth', 'f32', [Fed(FLOAT, [1, 16, 128, 128])], [FLOAT], {'blocksize': 2})
    yield Case('ReverseSequence', 'f32', [Fed(FLOAT, [128, 16, 256]), Fed(INT64, [16], 1, 128)], [FLOAT])
    yield Case('Compress', 'f32', [Fed(FLOAT, [1000, 64]), Fed(BOOL, [1000], 0, 1)], [FLOAT], {'axis': 0})
    yield Case('OneHot', 'f32', [Fed(INT64, [1000], 0, 99), Held(INT64, [1], values=[100]), Held(FLOAT, [2], values=[0, 1])], [FLOAT])
    yield Case('Trilu', 'f32', [Fed(FLOAT, [8, 256, 256])], [FLOAT])
    yield Case('EyeLike', 'f32', [Fed(FLOAT, [512, 512])], [FLOAT])
    yield Case('ConstantOfShape', 'f32', [Fed(INT64, [2], values=[512, 512])], [FLOAT])
    yield Case('Range', 'i64', [Fed(INT64, [], values=[0]), Fed(INT64, [], values=[100000]), Fed(INT64, [], values=[1])], [INT64])
    yield Case('Range', 'f32', [Fed(FLOAT, [], values=[0]), Fed(FLOAT, [], values=[100000]), Fed(FLOAT, [], values=[1])], [FLOAT])
    yield Case('Shape', 'f32', [Fed(FLOAT, IMAGE)], [INT64])


def quantisation():
    scale, zero = Held(FLOAT, [], values=[0.02]), {UINT8: 128, INT8: 0, UINT16: 32768, INT16: 0}
    for t in (UINT8, INT8, UINT16, INT16):
        yield Case('QuantizeLinear', NAMES[t], [Fed(FLOAT, IMAGE), scale, Held(t, [], values=[zero[t]])], [t])
        yield Case('DequantizeLinear', NAMES[t], [Fed(t, IMAGE, 0, 100), scale, Held(t, [], values=[zero[t]])], [FLOAT])
    yield Case('QuantizeLinear', 'i8 channels', [Fed(FLOAT, IMAGE), Held(FLOAT, [64], 0.01, 0.02), Held(INT8, [64], values=[0] * 64)], [INT8], {'axis': 1})
    yield Case('DequantizeLinear', 'i8 channels', [Fed(INT8, IMAGE, -99, 99), Held(FLOAT, [64], 0.01, 0.02), Held(INT8, [64], values=[0] * 64)], [FLOAT], {'axis': 1})
    yield Case('QuantizeLinear', 'f16 u8', [Fed(FLOAT16, IMAGE), Held(FLOAT16, [], values=[0.02]), Held(UINT8, [], values=[128])], [UINT8])
    yield Case('DynamicQuantizeLinear', 'f32', [Fed(FLOAT, IMAGE)], [UINT8, FLOAT, UINT8])


def recurrences():
    for op, gates in (('LSTM', 4), ('GRU', 3), ('RNN', 1)):
        for label, hidden, both in (('', 128, False), (' both ways', 64, True)):
            directions = 2 if both else 1
            inputs = [Fed(FLOAT, [50, 1, 128]), Held(FLOAT, [directions, gates * hidden, 128]), Held(FLOAT, [directions, gates * hidden, hidden]),
                      Held(FLOAT, [directions, 2 * gates * hidden])]
            yield Case(op, f'f32{label}', inputs, [FLOAT], {'hidden_size': hidden, **({'direction': 'bidirectional'} if both else {})})
    yield Case('LSTM', 'f32 batch', [Fed(FLOAT, [20, 16, 64]), Held(FLOAT, [1, 512, 64]), Held(FLOAT, [1, 512, 128])], [FLOAT], {'hidden_size': 128})
    for label, q, k in (('prefill', 128, 128), ('one token', 1, 512)):
        for t in FLOATS:
            yield Case('Attention', f'{NAMES[t]} {label}', [Fed(t, [1, 12, q, 64]), Fed(t, [1, 12, k, 64]), Fed(t, [1, 12, k, 64])], [t], opset=23)
    yield Case('RotaryEmbedding', 'f32', [Fed(FLOAT, [1, 12, 128, 64]), Held(FLOAT, [1, 128, 32]), Held(FLOAT, [1, 128, 32])], [FLOAT], opset=23)
    yield Case('SoftmaxCrossEntropyLoss', 'f32', [Fed(FLOAT, [128, 1000]), Fed(INT64, [128], 0, 999)], [FLOAT])
    yield Case('NegativeLogLikelihoodLoss', 'f32', [Fed(FLOAT, [128, 1000]), Fed(INT64, [128], 0, 999)], [FLOAT])
    yield Case('DFT', 'f32', [Fed(FLOAT, [8, 1024, 1]), None, Held(INT64, [], values=[1])], [FLOAT])
    yield Case('Hardmax', 'f32', [Fed(FLOAT, [128, 1000])], [FLOAT])


def other_shapes():
    """Extents beyond the usual ones, at which a kernel may fall from its best way: `bench/ops shape`."""
    f = FLOAT
    same = lambda k, axes=2: {'pads': [k // 2] * (2 * axes)}
    step = lambda k, s, axes=2: {**same(k, axes), 'strides': [s] * axes}
    convs = [('1 to 1 3x3', [1, 1, 256, 256], [1, 1, 3, 3], same(3)), ('1 to 32 3x3', [1, 1, 128, 128], [32, 1, 3, 3], same(3)),
             ('3 to 16 step 2', [1, 3, 224, 224], [16, 3, 3, 3], step(3, 2)), ('3 to 32 step 2', [1, 3, 224, 224], [32, 3, 3, 3], step(3, 2)),
             ('3 to 96 4x4 step 4', [1, 3, 224, 224], [96, 3, 4, 4], {'strides': [4, 4]}), ('3 to 768 16x16 step 16', [1, 3, 224, 224], [768, 3, 16, 16], {'strides': [16, 16]}),
             ('64 to 1', [1, 64, 112, 112], [1, 64, 3, 3], same(3)), ('64 to 3', [1, 64, 112, 112], [3, 64, 3, 3], same(3)), ('64 to 1 1x1', [1, 64, 160, 160], [1, 64, 1, 1], {}),
             ('32 to 21 1x1', [1, 32, 128, 128], [21, 32, 1, 1], {}), ('512 to 512 7x7', [1, 512, 7, 7], [512, 512, 3, 3], same(3)),
             ('2048 to 512 1x1 7x7', [1, 2048, 7, 7], [512, 2048, 1, 1], {}), ('24 to 144 1x1', [1, 24, 56, 56], [144, 24, 1, 1], {}),
             ('144 to 24 1x1', [1, 144, 56, 56], [24, 144, 1, 1], {}), ('16 to 96 1x1', [1, 16, 112, 112], [96, 16, 1, 1], {}),
             ('128 step 2', [1, 128, 56, 56], [128, 128, 3, 3], step(3, 2)), ('256 to 512 1x1 step 2', [1, 256, 56, 56], [512, 256, 1, 1], {'strides': [2, 2]}),
             ('1x7', [1, 128, 17, 17], [128, 128, 1, 7], {'pads': [0, 3, 0, 3]}), ('7x1', [1, 128, 17, 17], [128, 128, 7, 1], {'pads': [3, 0, 3, 0]}),
             ('5x5', [1, 48, 35, 35], [64, 48, 5, 5], same(5)), ('9x9 of 3', [1, 3, 224, 224], [32, 3, 9, 9], same(9)), ('groups of 16', [1, 256, 28, 28], [256, 16, 3, 3], {**same(3), 'group': 16}),
             ('groups of 48', [1, 192, 28, 28], [192, 48, 3, 3], {**same(3), 'group': 4}), ('groups of 2', [1, 64, 56, 56], [64, 2, 3, 3], {**same(3), 'group': 32}),
             ('2 groups', [1, 96, 27, 27], [256, 48, 5, 5], {**same(5), 'group': 2}), ('groups 1x1', [1, 240, 28, 28], [60, 80, 1, 1], {'group': 3}),
             ('depthwise 7x7', [1, 96, 56, 56], [96, 1, 7, 7], {**same(7), 'group': 96}), ('depthwise 5x5', [1, 240, 28, 28], [240, 1, 5, 5], {**same(5), 'group': 240}),
             ('depthwise 5x5 step 2', [1, 72, 56, 56], [72, 1, 5, 5], {**step(5, 2), 'group': 72}), ('depthwise of 7x7', [1, 960, 7, 7], [960, 1, 3, 3], {**same(3), 'group': 960}),
             ('depthwise of 14x14', [1, 576, 14, 14], [576, 1, 3, 3], {**same(3), 'group': 576}), ('depthwise of 112x112', [1, 32, 112, 112], [32, 1, 3, 3], {**same(3), 'group': 32}),
             ('depthwise dilated', [1, 64, 56, 56], [64, 1, 3, 3], {'pads': [2] * 4, 'dilations': [2, 2], 'group': 64}),
             ('depthwise 1 axis', [1, 512, 200], [512, 1, 31], {'pads': [15, 15], 'group': 512}), ('multiplied by 2', [1, 32, 56, 56], [64, 1, 3, 3], {**same(3), 'group': 32}),
             ('1 axis 1x1', [1, 256, 400], [256, 256, 1], {}), ('1 axis of 1', [1, 1, 16000], [64, 1, 10], {'strides': [5]}), ('1 axis long', [1, 1, 16000], [258, 1, 256], {'strides': [128]}),
             ('1 axis dilated', [1, 64, 1000], [64, 64, 3], {'pads': [8, 8], 'dilations': [8]}), ('1 axis of batch', [32, 64, 128], [64, 64, 5], {'pads': [2, 2]}),
             ('3 axes of 1', [1, 1, 32, 64, 64], [16, 1, 3, 3, 3], same(3, 3)), ('3 axes step 2', [1, 16, 16, 32, 32], [32, 16, 3, 3, 3], step(3, 2, 3)),
             ('3 axes 1x1x1', [1, 64, 8, 28, 28], [32, 64, 1, 1, 1], {}), ('batch of 16', [16, 32, 14, 14], [32, 32, 3, 3], same(3)), ('batch of 64 small', [64, 16, 8, 8], [32, 16, 3, 3], same(3)),
             ('17 to 23', [1, 17, 33, 35], [23, 17, 3, 3], same(3)), ('dilated 18', [1, 256, 33, 33], [64, 256, 3, 3], {'pads': [18] * 4, 'dilations': [18, 18]})]
    for label, x, w, attributes in convs:
        yield Case('Conv', f'shape {label}', [Fed(f, x), Held(f, w), Held(f, w[:1])], [f], attributes)
    for label, x, w, attributes in [('16 to 1 4x4', [1, 16, 64, 64], [16, 1, 4, 4], {'pads': [1] * 4, 'strides': [2, 2]}), ('64 to 3 4x4', [1, 64, 64, 64], [64, 3, 4, 4], {'pads': [1] * 4, 'strides': [2, 2]}),
                                    ('256 to 128 3x3', [1, 256, 14, 14], [256, 128, 3, 3], {'pads': [1] * 4, 'strides': [2, 2], 'output_padding': [1, 1]}),
                                    ('32 to 32 step 1', [1, 32, 28, 28], [32, 32, 3, 3], same(3)), ('depthwise', [1, 64, 32, 32], [64, 1, 4, 4], {'pads': [1] * 4, 'strides': [2, 2], 'group': 64}),
                                    ('1 axis step 8', [1, 128, 200], [128, 64, 16], {'strides': [8], 'pads': [4, 4]}), ('21 to 21 16x16', [1, 21, 32, 32], [21, 21, 16, 16], {'strides': [8, 8], 'pads': [4] * 4}),
                                    ('3 axes', [1, 32, 8, 14, 14], [32, 16, 2, 2, 2], {'strides': [2, 2, 2]})]:
        yield Case('ConvTranspose', f'shape {label}', [Fed(f, x), Held(f, w)], [f], attributes)
    for op in ('MaxPool', 'AveragePool'):
        for label, x, k, s, p in (('2x2 step 2', [1, 96, 55, 55], [2, 2], [2, 2], 0), ('3x3 step 1', [1, 192, 28, 28], [3, 3], [1, 1], 1), ('7x7 step 7', [1, 512, 14, 14], [7, 7], [7, 7], 0),
                                  ('1 axis', [1, 128, 1000], [3], [2], 1), ('3 axes', [1, 32, 16, 28, 28], [2, 2, 2], [2, 2, 2], 0), ('13x13', [1, 128, 20, 20], [13, 13], [1, 1], 6),
                                  ('3x3 step 2 small', [1, 256, 13, 13], [3, 3], [2, 2], 0)):
            yield Case(op, f'shape {label}', [Fed(f, x)], [f], {'kernel_shape': k, 'strides': s, 'pads': [p] * (2 * len(k))})
    for m, k, n in ((1, 512, 512), (1, 4096, 1000), (2, 768, 768), (4, 512, 2048), (8, 256, 256), (16, 64, 10), (100, 100, 100), (197, 768, 768), (1000, 16, 16), (3136, 96, 288), (4096, 3, 64), (7, 2048, 1)):
        yield Case('MatMul', f'shape {m} {k} {n}', [Fed(f, [m, k]), Held(f, [k, n])], [f])
    for label, a, b in (('batch of small', [512, 4, 4], [512, 4, 4]), ('windows', [64, 3, 49, 32], [64, 3, 32, 49]), ('vector', [12, 128, 64], [64]), ('one column', [64, 256, 256], [64, 256, 1]),
                        ('one row', [64, 1, 256], [64, 256, 256]), ('broadcast', [8, 64, 64], [64, 64]), ('rotations', [1000, 3, 3], [1000, 3, 1])):
        yield Case('MatMul', f'shape {label}', [Fed(f, a), Fed(f, b)], [f])
    for op in ('Softmax', 'LogSoftmax'):
        for label, x, axis in (('rows of 10', [1000, 10], 1), ('rows of 49', [64, 3, 49, 49], 3), ('rows of 30000', [8, 30000], 1), ('channels', [1, 21, 128, 128], 1), ('rows of 2', [8000, 2], 1)):
            yield Case(op, f'shape {label}', [Fed(f, x)], [f], {'axis': axis})
    for op in ('ReduceSum', 'ReduceMax', 'ReduceMean'):
        for label, x, axes in (('channels', [1, 64, 56, 56], [1]), ('middle', [16, 128, 96], [1]), ('rows of 4', [10000, 4], [1]), ('first', [64, 4096], [0]), ('two apart', [8, 32, 16, 32], [0, 2]), ('all', [256, 1024], [0, 1])):
            yield Case(op, f'shape {label}', [Fed(f, x), Held(INT64, [len(axes)], values=axes)], [f])
    for label, x, perm in (('heads', [1, 128, 12, 64], [0, 2, 1, 3]), ('windows', [8, 7, 8, 7, 96], [0, 1, 3, 2, 4]), ('last two', [16, 128, 128], [0, 2, 1]), ('reversed', [32, 48, 64], [2, 1, 0]), ('channels last', [1, 3, 224, 224], [0, 2, 3, 1]),
                           ('channels first', [1, 224, 224, 3], [0, 3, 1, 2]), ('2 columns', [10000, 2], [1, 0]), ('time first', [4, 250, 80], [1, 0, 2]), ('six axes', [1, 2, 2, 64, 28, 28], [0, 3, 4, 1, 5, 2])):
        for t in (FLOAT, UINT8):
            yield Case('Transpose', f'shape {NAMES[t]} {label}', [Fed(t, x, 0, 9)], [t], {'perm': perm})
    for label, xs, axis in (('channels', [[1, 32, 56, 56]] * 4, 1), ('last', [[128, 64], [128, 32], [128, 16]], 1), ('columns', [[4096, 1]] * 3, 1), ('32 of one', [[1, 64]] * 32, 0), ('cache', [[1, 12, 511, 64], [1, 12, 1, 64]], 2)):
        yield Case('Concat', f'shape {label}', [Fed(f, x) for x in xs], [f], {'axis': axis})
    for label, x, axis, parts in (('channels', [1, 128, 56, 56], 1, 2), ('last', [128, 2304], 1, 3), ('columns', [8400, 4], 1, 4)):
        yield Case('Split', f'shape {label}', [Fed(f, x)], [f] * parts, {'axis': axis, 'num_outputs': parts})
    for mode in ('nearest', 'linear', 'cubic'):
        for label, x, y in (('twice', [1, 64, 28, 28], [1, 64, 56, 56]), ('picture down', [1, 3, 480, 640], [1, 3, 224, 224]), ('by 1.5', [1, 16, 64, 64], [1, 16, 96, 96]), ('few to many', [1, 256, 1, 1], [1, 256, 33, 33])):
            yield Case('Resize', f'shape {mode} {label}', [Fed(f, x), None, None, Held(INT64, [4], values=y)], [f], {'mode': mode, 'coordinate_transformation_mode': 'half_pixel'})
    for op in ('Add', 'Mul', 'Sub', 'Greater'):
        for label, a, b in (('scalar', [64, 3136], []), ('row', [3136, 64], [64]), ('column', [3136, 64], [3136, 1]), ('outer', [512, 1], [1, 512]), ('middle', [8, 64, 49], [8, 1, 49]), ('ten', [10], [10]), ('channels', [8, 64, 28, 28], [1, 64, 1, 1])):
            yield Case(op, f'shape {label}', [Fed(f, a), Fed(f, b)], [BOOL if op == 'Greater' else f])
    for label, x, axis, count in (('rows', [30522, 128], 0, 128), ('columns', [128, 1000], 1, 64), ('one', [1000, 64], 0, 1), ('elements', [100000], 0, 5000)):
        yield Case('Gather', f'shape {label}', [Fed(f, x), Fed(INT64, [count], 0, x[axis] - 1)], [f], {'axis': axis})
    for label, x, axis in (('rows of 64', [1000, 64], -1), ('rows of 2048', [64, 2048], -1), ('rows of 8', [5000, 8], -1)):
        yield Case('LayerNormalization', f'shape {label}', [Fed(f, x), Held(f, x[-1:]), Held(f, x[-1:])], [f], {'axis': axis})
    for label, x, k, axis in (('1 of 1000', [64, 1000], 1, 1), ('100 of 20000', [1, 20000], 100, 1), ('300 of 25200', [25200], 300, 0), ('5 of columns', [1000, 64], 5, 0)):
        yield Case('TopK', f'shape {label}', [Fed(f, x), Held(INT64, [1], values=[k])], [f, INT64], {'axis': axis})
    for label, x, axis in (('rows of 1000', [64, 1000], 1), ('channels', [1, 21, 128, 128], 1), ('rows of 4', [8400, 4], 1)):
        yield Case('ArgMax', f'shape {label}', [Fed(f, x)], [INT64], {'axis': axis})


def all_cases():
    for family in (elementwise, products, convolutions, windows, norms, reductions, moves, quantisation, recurrences, other_shapes):
        yield from family()
