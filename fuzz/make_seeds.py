#!/usr/bin/python3
"""Writes seed corpora: small models of a few nodes each, in writers of its own."""
import json
import pathlib
import struct


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def value_info(name, extents, element=1):
    dims = b"".join(field(1, field(2, e) if isinstance(e, str) else field(1, e)) for e in extents)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, dims)))


def node(op, inputs, outputs, attributes=b""):
    return b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + attributes


def ints(name, values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7))


def floats(name, extents, values):
    return b"".join(field(1, e) for e in extents) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(values)}f", *values))


def longs(name, values):
    return field(1, len(values)) + field(2, 7) + field(8, name) + field(9, struct.pack(f"<{len(values)}q", *values))


def model(nodes, inputs, outputs, weights=(), opset=17, domain=""):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, w) for w in weights)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    domains = field(8, field(1, domain) + field(2, 1)) if domain else b""
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset)) + domains


SEEDS = {
    "add": model([node("Add", ["a", "b"], ["c"])], [value_info("a", ["N", 3]), value_info("b", [3])], [value_info("c", ["N", 3])]),
    "conv": model(
        [node("Conv", ["x", "w"], ["y"], ints("pads", [1, 1, 1, 1]) + ints("strides", [2, 2])), node("Relu", ["y"], ["z"]), node("MaxPool", ["z"], ["p"], ints("kernel_shape", [2, 2]))],
        [value_info("x", [1, 2, 6, 6])], [value_info("p", [1, 3, 2, 2])], [floats("w", [3, 2, 3, 3], [0.1] * 54)]),
    "shapes": model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["n"]), node("Concat", ["n", "m"], ["t"], field(5, field(1, "axis") + field(3, 0) + field(20, 2))), node("Reshape", ["x", "t"], ["y"])],
        [value_info("x", ["N", 2, 3])], [value_info("y", ["N", 6])], [longs("i", [0]), longs("m", [-1])]),
    "slice": model([node("Slice", ["x", "b", "e"], ["y"]), node("Softmax", ["y"], ["z"])], [value_info("x", [4, 5])], [value_info("z", [2, 5])], [longs("b", [1]), longs("e", [3])]),
}


def octets(name, extents, values):
    return b"".join(field(1, e) for e in extents) + field(2, 2) + field(8, name) + field(9, bytes(values))


def number(name, value):
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def block(name, nodes, inputs, outputs):
    graph = b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(5, field(1, name) + field(6, graph) + field(20, 5))


ONNX_WRITE_SEEDS = {
    **SEEDS,
    "blocks": model(
        [node("ReduceSum", ["x"], ["s"], number("keepdims", 0)), node("Greater", ["s", "zero"], ["c"]),
         node("If", ["c"], ["y"], block("then_branch", [node("Neg", ["x"], ["a"])], [], [value_info("a", ["N"])]) + block("else_branch", [node("Add", ["x", "s"], ["b"])], [], [value_info("b", ["N"])]))],
        [value_info("x", ["N"])], [value_info("y", ["N"])], [floats("zero", [], [0.0])]),
    "rows": model(
        [node("cvm_right_shift", ["x"], ["t"], number("precision", 8) + number("shift_bit", 3) + field(7, "nnex")), node("debox", ["f"], ["y"], ints("size", [1, 1, 2, 2]) + ints("stride", [1, 1, 2, 2]) + field(7, "nnex"))],
        [value_info("x", [2, 3], 6), value_info("f", [1, 1, 2, 2])], [value_info("t", [2, 3], 6), value_info("y", [1, 1, 4, 4])]),
    "old": model([node("Softmax", ["x"], ["y"], number("axis", 1))], [value_info("x", [2, 3, 4])], [value_info("y", [2, 3, 4])], opset=11),
}

DOMAIN = "com.microsoft"
MICROSOFT = field(7, DOMAIN)
MICROSOFT_SEEDS = {
    "weights_of_bits": model(
        [node("MatMulNBits", ["x", "w", "s", "z"], ["t"], number("K", 16) + number("N", 2) + number("block_size", 16) + MICROSOFT),
         node("GatherBlockQuantized", ["w2", "i", "s"], ["y"], number("bits", 4) + number("block_size", 16) + number("gather_axis", 0) + number("quantize_axis", 1) + MICROSOFT)],
        [value_info("x", [1, 16]), value_info("i", [2], 7)], [value_info("t", [1, 2]), value_info("y", [2, 16])],
        [octets("w", [2, 1, 8], range(16)), octets("w2", [2, 8], range(16)), floats("s", [2, 1], [1.0, 2.0]), octets("z", [2, 1], [8, 7])], domain=DOMAIN),
    "groups": model(
        [node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "n", "t", "c", "c"], ["y", "key", "value"], number("num_heads", 2) + number("kv_num_heads", 1) + number("do_rotary", 1) + MICROSOFT)],
        [value_info("q", [1, 1, 4]), value_info("k", [1, 1, 2]), value_info("v", [1, 1, 2]), value_info("pk", [1, 1, 2, 2]), value_info("pv", [1, 1, 2, 2]), value_info("n", [1], 6), value_info("t", [], 6)],
        [value_info("y", [1, 1, 4]), value_info("key", [1, 1, "N", 2]), value_info("value", [1, 1, "N", 2])], [floats("c", [4, 1], [1.0, 0.5, 0.0, -0.5])], domain=DOMAIN),
    "heads": model(
        [node("MultiHeadAttention", ["q", "k", "k", "b", "m"], ["t"], number("num_heads", 2) + MICROSOFT), node("SkipLayerNormalization", ["t", "q", "g"], ["y", "", "", "u"], MICROSOFT),
         node("Attention", ["y", "w", "b"], ["z"], number("num_heads", 2) + MICROSOFT)],
        [value_info("q", [1, 2, 2]), value_info("k", [1, 2, 2]), value_info("m", [1, 2], 6)], [value_info("u", [1, 2, 2]), value_info("z", [1, 2, 2])],
        [floats("b", [6], [0.5] * 6), floats("g", [2], [1.0, 2.0]), floats("w", [2, 6], [0.25] * 12)], domain=DOMAIN),
    "fused": model(
        [node("FusedConv", ["x", "w"], ["t"], field(5, field(1, "activation") + field(4, "Relu") + field(20, 3)) + MICROSOFT), node("FusedMatMul", ["t", "t"], ["u"], number("transB", 1) + MICROSOFT),
         node("QuickGelu", ["u"], ["y"], MICROSOFT)],
        [value_info("x", [1, 1, 3, 3])], [value_info("y", [1, 1, 2, 2])], [floats("w", [1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0])], domain=DOMAIN),
}

NNEF_ROW_SEEDS = {
    "shift": """version 1.0;
extension KHR_enable_fragment_definitions;

fragment nnex_cvm_right_shift(in0: tensor<integer>, precision: integer, shift_bit: integer, is_sign: logical, element_types: string) -> (out0: tensor<integer>);
fragment nnex_stack(in0: tensor<scalar>, in1: tensor<scalar>, axis: integer) -> (out0: tensor<scalar>);

graph net(x, f) -> (y, g)
{
    x = external<integer>(shape = [2, 3]);
    f = external(shape = [2, 3]);
    y = nnex_cvm_right_shift(x, precision = 8, shift_bit = 3, is_sign = true, element_types = 'i32 -> i32');
    g = nnex_stack(f, f, axis = 1);
}
""",
    "pool": """version 1.0;
extension KHR_enable_fragment_definitions;

fragment nnex_one_hot(in0: tensor<integer>, in1: tensor<integer>, in2: tensor<scalar>, axis: integer, from_end: logical) -> (out0: tensor<scalar>);

graph net(x) -> (y)
{
    x = external<integer>(shape = [4]);
    d = constant<integer>(shape = [], value = [3]);
    v = constant(shape = [2], value = [0.0, 1.0]);
    y = nnex_one_hot(x, d, v, axis = -1, from_end = true);
}
""",
}


def cvm_symbol(variables, operators, heads, version="cvm_1.0.0", postprocess=""):
    """variables: (name, extents, bits); operators: (function, [(node, output)], attributes, [extents of outputs])."""
    nodes, shapes, rows, texts, bits = [], [], [], [], []
    for name, extents, precision in variables:
        rows.append(len(shapes))
        nodes.append({"op": "null", "name": name, "inputs": []})
        shapes.append(extents), texts.append("{}"), bits.append(precision)
    for function, inputs, attributes, outputs in operators:
        rows.append(len(shapes))
        nodes.append({"op": "cvm_op", "name": f"n{len(nodes)}", "attrs": {"func_name": function}, "inputs": [[n, o, 0] for n, o in inputs]})
        shapes += outputs
        texts.append(json.dumps(attributes))
        bits += [-1] * len(outputs)
    n = len(shapes)
    attrs = {"op_attrs": ["list_str", texts], "dltype": ["list_str", ["int32"] * n], "precision": ["list_int", bits], "storage_id": ["list_int", list(range(n))], "shape": ["list_shape", shapes]}
    graph = {"nodes": nodes, "arg_nodes": list(range(len(variables))), "node_row_ptr": rows + [n], "heads": [[a, b, 0] for a, b in heads], "attrs": attrs, "version": version}
    if postprocess:
        graph["postprocess"] = postprocess
    return json.dumps(graph).encode()


def cvm_params(tensors):
    """tensors: (name, extents, bits of an element, values)."""
    out = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(tensors))
    for name, _, _, _ in tensors:
        out += struct.pack("<Q", len(name)) + name.encode()
    out += struct.pack("<Q", len(tensors))
    for _, extents, width, values in tensors:
        data = struct.pack(f"<{len(values)}{'b' if width == 8 else 'i'}", *values)
        out += struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, len(extents), 0, width, 1)
        out += struct.pack(f"<{len(extents)}qq", *extents, len(data)) + data
    return out


CVM_SEEDS = {
    "chain": (
        cvm_symbol(
            [("data", [1, 2, 4, 4], 8), ("w", [3, 2, 3, 3], 8), ("b", [3], 16)],
            [("conv2d", [(0, 0), (1, 0), (2, 0)], {"channels": "3", "kernel_size": "(3, 3)", "padding": "(1, 1)"}, [[1, 3, 4, 4]]), ("relu", [(3, 0)], {}, [[1, 3, 4, 4]]),
             ("cvm_right_shift", [(4, 0)], {"precision": "8", "shift_bit": "7"}, [[1, 3, 4, 4]]), ("max_pool2d", [(5, 0)], {"pool_size": "(2, 2)", "strides": "(2, 2)"}, [[1, 3, 2, 2]]),
             ("flatten", [(6, 0)], {}, [[1, 12]]), ("max", [(7, 0)], {"axis": "(1,)"}, [[1]])],
            [(7, 0), (8, 0)]),
        cvm_params([("w", [3, 2, 3, 3], 8, [i % 7 - 3 for i in range(54)]), ("b", [3], 32, [1, -2, 300])])),
    "boxes": (
        cvm_symbol(
            [("data", [1, 3, 6], 12)],
            [("get_valid_counts", [(0, 0)], {"score_threshold": "2"}, [[1], [1, 3, 6]]), ("non_max_suppression", [(1, 1), (1, 0)], {"top_k": "2"}, [[1, 3, 6]]),
             ("strided_slice", [(2, 0)], {"begin": "(0, 0, 1)", "end": "(1, 3, 6)"}, [[1, 3, 5]])],
            [(3, 0)], "cvm_1.1.0", "detection"),
        cvm_params([])),
    "moves": (
        cvm_symbol(
            [("data", [2, 3], 8), ("t", [4], 8)],
            [("cvm_lut", [(0, 0), (1, 0)], {"in_dim": "4"}, [[2, 3]]), ("transpose", [(2, 0)], {}, [[3, 2]]), ("reshape", [(3, 0)], {"shape": "(-1,)"}, [[6]]),
             ("tile", [(4, 0)], {"reps": "(2, 1)"}, [[2, 6]]), ("concatenate", [(5, 0), (5, 0)], {}, [[2, 12]]), ("sum", [(6, 0)], {"axis": "(0,)", "keepdims": "True"}, [[1, 12]])],
            [(7, 0)]),
        cvm_params([("t", [4], 8, [5, -6, 7, -8])])),
}

def webnn_program(inputs, constants, operations, outputs):
    """inputs: name -> (type, extents); constants: name -> (type, extents, content); operations: (op, args, options, results)."""
    operand = lambda name, kind, extents: {"name": name, "dataType": kind, "shape": extents}
    return json.dumps({
        "format": "nnex.webnn/1", "name": "seed", "weights": "w",
        "inputs": [operand(n, *d) for n, d in inputs.items()],
        "constants": [{**operand(n, k, e), **c} for n, (k, e, c) in constants.items()],
        "operations": [{"op": op, "args": args, "options": options, "results": results} for op, args, options, results in operations],
        "outputs": outputs}).encode()


WEBNN_SEEDS = {
    "chain": webnn_program(
        {"x": ("float32", [1, 2, 4, 4])}, {"w": ("float32", [2, 2, 3, 3], {"offset": 64}), "c": ("float32", [], {"data": ["-Infinity"]})},
        [("conv2d", {"input": "x", "filter": "w"}, {"padding": [1, 1, 1, 1], "label": "first"}, ["a"]), ("max", {"a": "a", "b": "c"}, {}, ["b"]),
         ("clamp", {"input": "b"}, {"minValue": 0, "maxValue": 6.5}, ["r"]), ("averagePool2d", {"input": "r"}, {"windowDimensions": [2, 2], "strides": [2, 2], "layout": "nchw"}, ["y"])],
        {"y": "y"}),
    "lists": webnn_program(
        {"x": ("int64", [4, 6])}, {},
        [("split", {"input": "x", "splits": [2, 4]}, {"axis": 1}, ["a", "b"]), ("split", {"input": "a", "splits": 2}, {}, ["d", "e"]), ("concat", {"inputs": ["b", "a"], "axis": 1}, {}, ["f"]),
         ("clamp", {"input": "f"}, {"maxValue": "9223372036854775807n"}, ["g"]), ("cast", {"input": "g", "dataType": "float16"}, {}, ["y"])],
        {"y": "y", "d": "d", "e": "e"}),
    "layer": webnn_program(
        {"x": ("float32", [2, 1, 3])}, {"w": ("float32", [1, 8, 3], {"offset": 0}), "r": ("float32", [1, 8, 2], {"offset": 128})},
        [("lstm", {"input": "x", "weight": "w", "recurrentWeight": "r", "steps": 2, "hiddenSize": 2}, {"returnSequence": True, "activations": ["relu", "tanh", "sigmoid"], "direction": "backward"},
          ["h", "c", "s"]), ("softmax", {"input": "s", "axis": 3}, {}, ["y"])],
        {"y": "y", "h": "h"}),
}

ONNX_TEXT_SEEDS = {
    "example": """<ir_version: 10, producer_name: "a \\"b\\"", opset_import: ["" : 21, "f" : 1], metadata_props: ["k": "v"]>  # said
g (float[N, 3, ?] x, float[2] b = {0, -1e0}) => (seq(map(int64, string)) s, optional(float[]) o, sparse_tensor(double[4]) p, opaque(a.b, C) q)
<float8e4m3fn[2] w = {0, 255}, string[1] t = {"a"}, double r = {nan}, float[9] e = ["location": "w"], uint64[1] u = {18446744073709551615}, int8[] info>
{
  [label] a, "", "b c" = ai.onnx.ml.Op:over <i = -1, f: float = 2, is: ints = [], fs = [1, 2.5, inf], ss = ["a"], t = float[2] {1, 2}, ty: type_proto = float[?]> (x, , w)
  y = If (t) <then_branch = h () => (float z) { z = Identity (x) }>
}
<domain: "f", opset_import: ["" : 21]> body <alpha, beta: float = 1.5> (a, float[] b) => (c) <float[N] c> { c = LeakyRelu <alpha: float = @alpha> (a) }
""",
}

if __name__ == "__main__":
    corpus = pathlib.Path(__file__).parent / "corpus"
    for target in ("fuzz_onnx_run", "fuzz_cvm_symbol", "fuzz_cvm_params", "fuzz_cvm_run", "fuzz_webnn_program", "fuzz_onnx_write", "fuzz_onnx_text", "fuzz_nnef_rows"):
        (corpus / target).mkdir(parents=True, exist_ok=True)
    for name, content in {**SEEDS, **MICROSOFT_SEEDS}.items():
        (corpus / "fuzz_onnx_run" / f"{name}.onnx").write_bytes(content)
    for name, (symbol, params) in CVM_SEEDS.items():
        (corpus / "fuzz_cvm_symbol" / name).write_bytes(symbol)
        (corpus / "fuzz_cvm_params" / name).write_bytes(params)
        (corpus / "fuzz_cvm_run" / name).write_bytes(symbol + b"\0" + params)
    for name, content in WEBNN_SEEDS.items():
        (corpus / "fuzz_webnn_program" / name).write_bytes(content)
    for name, content in ONNX_WRITE_SEEDS.items():
        (corpus / "fuzz_onnx_write" / f"{name}.onnx").write_bytes(content)
    for name, content in ONNX_TEXT_SEEDS.items():
        (corpus / "fuzz_onnx_text" / f"{name}.onnxtxt").write_text(content)
    for name, content in NNEF_ROW_SEEDS.items():
        (corpus / "fuzz_nnef_rows" / f"{name}.nnef").write_text(content)
