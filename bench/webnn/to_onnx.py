#!/usr/bin/python3
"""to_onnx.py FOLDER: beside each benchmark program NAME.webnn of make_graphs.py the same network as NAME.onnx, for engines
that read ONNX. It knows the operations of those programs alone (python3-onnx)."""
import json
import pathlib
import sys

from onnx import TensorProto, helper, save

PLAIN = {"matmul": "MatMul", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "sqrt": "Sqrt", "erf": "Erf"}


class Network:
    def __init__(self, program, weights):
        self.program, self.nodes, self.tensors = program, [], {}
        for c in program["constants"]:
            size = 4
            for extent in c["shape"]: size *= extent
            self.put(c["name"], c["shape"], weights[c["offset"]:c["offset"] + size])

    def put(self, name, shape, values, kind=TensorProto.FLOAT):
        self.tensors[name] = helper.make_tensor(name, kind, shape, values, raw=isinstance(values, bytes))
        return name

    def add(self, op, inputs, outputs, **attributes): self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))

    def operation(self, op, args, options, y):
        x = args.get("input", args.get("a"))
        if op in PLAIN:
            self.add(PLAIN[op], [x] + [args[k] for k in "b" if k in args], y)
        elif op == "softmax":
            self.add("Softmax", [x], y, axis=args["axis"])
        elif op == "clamp":
            limits = [self.put(f"{y[0]}_{k}", [], [options[k]]) for k in ("minValue", "maxValue")]
            self.add("Clip", [x, *limits], y)
        elif op == "gemm":
            self.add("Gemm", [x, args["b"], options["c"]], y, transB=int(options.get("bTranspose", False)))
        elif op == "conv2d":
            top, bottom, left, right = options.get("padding", [0, 0, 0, 0])
            self.add("Conv", [x, args["filter"], options["bias"]], y, group=options.get("groups", 1),
                     strides=options.get("strides", [1, 1]), pads=[top, left, bottom, right])
        elif op == "averagePool2d":
            self.add("GlobalAveragePool", [x], y)
        elif op == "reshape":
            shape = args["newShape"]
            self.add("Reshape", [x, self.put(f"{y[0]}_shape", [len(shape)], shape, TensorProto.INT64)], y)
        elif op == "transpose":
            self.add("Transpose", [x], y, perm=options["permutation"])
        elif op == "reduceMean":
            self.add("ReduceMean", [x], y, axes=options["axes"], keepdims=1)
        elif op == "layerNormalization":
            self.add("LayerNormalization", [x, options["scale"], options["bias"]], y, axis=options["axes"][0], epsilon=1e-5)
        elif op == "lstm":  # both have their gates in the order i, o, f, g; ONNX adds a second bias
            bias, hidden = self.tensors[options["bias"]], args["hiddenSize"]
            self.put(bias.name, [1, 8 * hidden], bias.raw_data + bytes(len(bias.raw_data)))
            self.add("LSTM", [x, args["weight"], args["recurrentWeight"], bias.name], ["", *y], hidden_size=hidden)
        else:
            sys.exit(f"to_onnx: no rule for {op}")

    def model(self):
        for o in self.program["operations"]: self.operation(o["op"], o["args"], o["options"], o["results"])
        inputs = [helper.make_tensor_value_info(i["name"], TensorProto.FLOAT, i["shape"]) for i in self.program["inputs"]]
        outputs = [helper.make_empty_tensor_value_info(v) for v in self.program["outputs"].values()]
        for o in outputs: o.type.tensor_type.elem_type = TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, self.program["name"], inputs, outputs, list(self.tensors.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.webnn")):
        program = json.loads(path.read_text())
        weights = path.with_suffix(".weights").read_bytes() if "weights" in program else b""
        save(Network(program, weights).model(), str(path.with_suffix(".onnx")))
