"""Gives the nine graphs of onnx/onnx's `light` set pseudo-random weights made by a fixed rule, and a stored input.

    python3 bench/light_seeded.py LIGHT_TAR_XZ OUTPUT [--expected FOLDER] [--only WORD]

Upstream every weight of these graphs is the constant 0.02, so a wrong network can still give the right answer. Here each
ConstantOfShape node becomes a weight: element i of node k is lo + (hi - lo) * u(i, k), where u hashes i and k into [0, 1)
and the bounds follow from what the first reader of the weight does with it (`bounds`). Written are OUTPUT/NAME/model.onnx
and OUTPUT/NAME/test_data_set_0/input_0.pb. With --expected, the folder of NAME_logits.pb, a network ends before its
final Softmax (where it has one) and the logits are stored beside the input as output_0.pb. Needs python3-onnx, python3-numpy.
"""
import argparse
import math
import tarfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

INPUT_SHAPE, INPUT_NUMBER = (1, 3, 224, 224), 1_000_000


def mix(h):
    """The finalizer of MurmurHash3 on unsigned 32-bit numbers, which wrap."""
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> np.uint32(13))
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def values(shape, k, lo, hi):
    """The float32 tensor of number k, computed in double and rounded once."""
    result = np.empty(math.prod(shape), np.float32)
    key = mix(np.array([k + 1], np.uint32))
    for start in range(0, result.size, 1 << 20):  # in pieces, so that 100 million weights need no gigabytes besides
        i = np.arange(start, min(start + (1 << 20), result.size), dtype=np.uint32)
        result[start:start + i.size] = lo + (hi - lo) * ((mix(i ^ key) >> np.uint32(8)) * 2.0**-24)
    return result.reshape(shape)


def bounds(shape, reader, port, reader_of):
    """(lo, hi) of a weight that node `reader` reads as its input `port`."""
    if reader.op_type == "Unsqueeze":
        return {"Mul": (0.5, 1.5), "Add": (-0.2, 0.2)}[reader_of(reader.output[0])[0].op_type]
    if reader.op_type == "BatchNormalization":
        return {1: (0.5, 1.5), 2: (-0.2, 0.2), 3: (-0.2, 0.2), 4: (0.5, 1.5)}[port]
    if reader.op_type in ("Conv", "Gemm") and port == 2:
        return -0.1, 0.1
    if reader.op_type == "Gemm":
        transposed = any(a.name == "transB" and a.i for a in reader.attribute)
        terms = shape[1] if transposed else shape[0]
    elif reader.op_type in ("Conv", "Reshape"):
        terms = math.prod(shape[1:])
    else:
        raise ValueError(f"no rule for a weight that {reader.op_type} reads as input {port}")
    return -math.sqrt(6 / terms), math.sqrt(6 / terms)


def seed_weights(graph):
    """Replaces the ConstantOfShape nodes by initializers; other inputs than the picture become constants too."""
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def reader_of(name):
        return next((n, list(n.input).index(name)) for n in graph.node if name in n.input)

    makers = [n for n in graph.node if n.op_type == "ConstantOfShape"]
    for k, maker in enumerate(makers):
        shape = tuple(int(d) for d in constants[maker.input[0]])
        weight = values(shape, k, *bounds(shape, *reader_of(maker.output[0]), reader_of))
        if k == 0: print(f"  first weight {list(shape)}:", *(f"{v:.9g}" for v in weight.flat[:3]))
        graph.initializer.append(numpy_helper.from_array(weight, maker.output[0]))
    for maker in makers: graph.node.remove(maker)

    used = {name for n in graph.node for name in n.input}
    for t in [t for t in graph.initializer if t.name not in used]: graph.initializer.remove(t)
    fixed = {t.name for t in graph.initializer}
    for i in [i for i in graph.input if i.name in fixed or i.name not in used]: graph.input.remove(i)
    assert len(graph.input) == 1, [i.name for i in graph.input]
    return len(makers)


def end_before_softmax(graph):
    """Makes the input of a final Softmax the output of the graph; returns the output's name."""
    maker = next(n for n in graph.node if graph.output[0].name in n.output)
    if maker.op_type == "Softmax":
        graph.node.remove(maker)
        graph.output[0].name = maker.input[0]
    return graph.output[0].name


def write(model, name, args):
    graph, folder = model.graph, args.output / name
    print(name)
    count = seed_weights(graph)
    model.ir_version = 4  # the first in which an initializer need not be an input as well
    picture = values(INPUT_SHAPE, INPUT_NUMBER, -1, 1)
    print(f"  {count} weights; input {graph.input[0].name}:", *(f"{v:.9f}" for v in picture.flat[:3]))
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    tensors = {"input_0": numpy_helper.from_array(picture, graph.input[0].name)}
    if args.expected:
        logits = numpy_helper.to_array(onnx.load_tensor(args.expected / f"{name}_logits.pb"))
        tensors["output_0"] = numpy_helper.from_array(logits, end_before_softmax(graph))
    for file, tensor in tensors.items():
        (folder / "test_data_set_0" / f"{file}.pb").write_bytes(tensor.SerializeToString())
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="light.tar.xz")
    parser.add_argument("output", type=Path)
    parser.add_argument("--expected", type=Path, help="folder of NAME_logits.pb; ends each network at its logits")
    parser.add_argument("--only", default="", help="only networks whose name holds this word")
    args = parser.parse_args()
    with tarfile.open(args.archive) as archive:
        for member in sorted(archive.getnames()):
            if member.endswith(".onnx") and args.only in member:
                write(onnx.load_model_from_string(archive.extractfile(member).read()), Path(member).stem, args)


if __name__ == "__main__":
    main()
