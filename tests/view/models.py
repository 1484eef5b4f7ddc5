"""models.py FOLDER: ONNX models for view.sh, written field by field."""
import struct
import sys


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def num(field, value):
    return varint(field << 3) + varint(value)


def msg(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def value(name, extents):
    return msg(1, name) + msg(2, msg(1, num(1, 1) + msg(2, b"".join(msg(1, num(1, e)) for e in extents))))


def tensor(name, extents, numbers):
    return b"".join(num(1, e) for e in extents) + num(2, 1) + msg(8, name) + msg(9, struct.pack(f"<{len(numbers)}f", *numbers))


def node(op, inputs, outputs, name="", more=b""):
    return b"".join(msg(1, i) for i in inputs) + b"".join(msg(2, o) for o in outputs) + (msg(3, name) if name else b"") + msg(4, op) + more


def graph(nodes, inputs, outputs, weights=()):
    return (b"".join(msg(1, n) for n in nodes) + msg(2, "g") + b"".join(msg(5, w) for w in weights) + b"".join(msg(11, i) for i in inputs)
            + b"".join(msg(12, o) for o in outputs))


def save(name, *parts):
    with open(f"{sys.argv[1]}/{name}.onnx", "wb") as file:
        file.write(num(1, 8) + msg(7, graph(*parts)) + msg(8, msg(1, "") + num(2, 17)))


# Twelve equal layers with weights of their own.
nodes, weights, last = [], [], "x"
for i in range(12):
    weights += [tensor(f"w{i}", [8, 8], [((k * 7 + i) % 11 - 5) / 10 for k in range(64)]), tensor(f"b{i}", [8], [0.0, i + 1.0] + [0.5] * 6)]
    nodes += [node("MatMul", [last, f"w{i}"], [f"m{i}"], f"layer{i}/matmul"), node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], f"layer{i}/bias"),
              node("Relu", [f"a{i}"], [f"r{i}"], f"layer{i}/relu"), node("Softmax", [f"r{i}"], [f"s{i}"], f"layer{i}/softmax"),
              node("Mul", [f"s{i}", f"r{i}"], [f"u{i}"], f"layer{i}/gate"), node("Add", [f"u{i}", last], [f"y{i}"], f"layer{i}/residual")]
    last = f"y{i}"
save("layers", nodes, [value("x", [4, 8])], [value(last, [4, 8])], weights)

# Names that mean something to HTML, XML, SVG, JSON, JavaScript and DOT.
evil = ["</script><script>window.broken=1</script>", "<img src=x onerror=window.broken=1>", "\"'><svg onload=window.broken=1>", "]]>&amp;&lt;",
        "\\\"};alert(1)//", "</title></svg><b>", "line\nbreak\ttab\x01\x1b[31m\x7f", "\u202egnihtyreve\u2066", "名前と" * 20, "${window.broken=1}", "\\l\\n\\", "<!--", "-->"]
nodes, last = [], "x</style><script>window.broken=1</script>"
first = last
for i, name in enumerate(evil):
    nodes.append(node("Sigmoid" if i % 2 else "Softmax", [last], [f"{name}{i}"], name))
    last = f"{name}{i}"
save("hostile", nodes, [value(first, [4])], [value(last, [4])])

# One node reads what nobody makes, one has a wrong attribute.
save("broken", [node("Relu", ["x"], ["a"], "fine"), node("Add", ["a", "nowhere"], ["b"], "reads_nothing"),
                node("Flatten", ["b"], ["c"], "wrong_axis", msg(5, msg(1, "axis") + msg(4, "two") + num(20, 3))), node("Relu", ["c"], ["y"], "last")],
     [value("x", [4, 4])], [value("y", [4, 4])])

# A choice between two blocks.
inner = [msg(1, which) + msg(6, graph([node(op, ["x"], [f"{which}_y"], f"{which}_{op}")], [], [value(f"{which}_y", [4])])) + num(20, 5)
         for which, op in [("then_branch", "Relu"), ("else_branch", "Neg")]]
save("choice", [node("If", ["c"], ["y"], "choose", b"".join(msg(5, i) for i in inner))],
     [msg(1, "c") + msg(2, msg(1, num(1, 9) + msg(2, b""))), value("x", [4])], [value("y", [4])])
