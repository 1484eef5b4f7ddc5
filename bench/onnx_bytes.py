"""ONNX models of one node as bytes: what bench/ops needs of the format, without a library."""
import math
import random
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
BFLOAT16 = 16
NAMES = {FLOAT: 'f32', UINT8: 'u8', INT8: 'i8', UINT16: 'u16', INT16: 'i16', INT32: 'i32', INT64: 'i64', BOOL: 'bool', FLOAT16: 'f16',
         DOUBLE: 'f64', UINT32: 'u32', UINT64: 'u64', BFLOAT16: 'bf16'}
PACKED = {FLOAT: 'f', UINT8: 'B', INT8: 'b', UINT16: 'H', INT16: 'h', INT32: 'i', INT64: 'q', BOOL: '?', FLOAT16: 'e', DOUBLE: 'd', UINT32: 'I', UINT64: 'Q'}


def varint(n):
    n &= 2**64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, content):
    """A field of a message: a whole number, a float, a text, or the bytes of a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack('<f', content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(dtype, dims, values, name=''):
    if dtype == BFLOAT16:
        raw = b''.join(struct.pack('<f', v)[2:] for v in values)
    else:
        raw = struct.pack('<%d%s' % (len(values), PACKED[dtype]), *values)
    return b''.join(field(1, d) for d in dims) + field(2, dtype) + (field(8, name) if name else b'') + field(9, raw)


def attribute(name, value):
    """ints, floats, strings, lists of them, and the bytes of a tensor."""
    if isinstance(value, bytes):
        return field(1, name) + field(5, value) + field(20, 4)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    kind, number = (6, 7) if value and isinstance(value[0], float) else (9, 8) if value and isinstance(value[0], str) else (7, 8)
    return field(1, name) + b''.join(field({6: 7, 7: 8, 9: 9}[kind], v) for v in value) + field(20, {6: 6, 7: 7, 9: 8}[kind])


def port(name, dtype, dims):
    shape = b'' if dims is None else field(2, b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims))
    return field(1, name) + field(2, field(1, field(1, dtype) + shape))


def numbers(dtype, dims, low=-1.0, high=1.0, seed=1):
    """Seeded values: reals between the bounds, whole numbers from the lower to the higher."""
    rng = random.Random(seed)
    count = math.prod(dims)
    if dtype in (FLOAT, FLOAT16, DOUBLE, BFLOAT16):
        return [low + (high - low) * rng.random() for _ in range(count)]
    if dtype == BOOL:
        return [rng.random() < 0.5 for _ in range(count)]
    return [rng.randint(int(low), int(high)) for _ in range(count)]


def model(op, order, fed, outputs, attributes, initializers, opset, domain=''):
    """A model of one node, which reads the names `order` ('': absent). fed: (name, type, dims) of what a run is given; outputs: (name, type),
    '' where nobody wants one; initializers: of tensor()."""
    node = b''.join(field(1, name) for name in order) + b''.join(field(2, name) for name, _ in outputs)
    node += field(4, op) + b''.join(field(5, attribute(n, v)) for n, v in attributes.items()) + (field(7, domain) if domain else b'')
    graph = field(1, node) + field(2, 'g') + b''.join(field(5, t) for t in initializers)
    graph += b''.join(field(11, port(*p)) for p in fed) + b''.join(field(12, port(name, dtype, None)) for name, dtype in outputs if name)
    imports = field(8, field(1, '') + field(2, opset)) + (field(8, field(1, domain) + field(2, 1)) if domain else b'')
    return field(1, 9) + field(7, graph) + imports
