"""Loads a model of any standard, feeds zeros, prints what comes out and which nodes took longest.

    python3 run.py model.onnx
"""

import sys

import numpy
import nnex


def main(path):
    seen = nnex.inspect(path)
    print(f"{path}: {seen.format}, {seen.nodes} nodes, {seen.parameters} parameters, {seen.multiply_adds} multiply-adds")

    model = nnex.load(path)
    feeds = {}
    for port in model.inputs:
        print(f"input  {port.name}  {port.type}")
        shape = [extent if isinstance(extent, int) else 1 for extent in port.shape or ()]  # a symbol: one of it
        feeds[port.name] = numpy.full(shape, "", object) if port.dtype == "str" else numpy.zeros(shape, port.dtype)
    for name, array in model.run(feeds).items():
        print(f"output {name}  {array.dtype}{list(array.shape)}", *array.ravel()[:8])
    for node in sorted(model.profile(feeds), key=lambda node: -node.us)[:5]:
        print(f"{node.us:9.1f} us  {node.place or node.op} ({node.kernel})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 run.py MODEL")
    try:
        main(sys.argv[1])
    except nnex.Error as error:
        sys.exit(f"{error.code}: {error}")
