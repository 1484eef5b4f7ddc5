"""A model with an operator that no engine knows, computed by NumPy: what nnex lacks need not stop a model.

    python3 custom_operator.py model.onnx com.example:Rotate
"""

import sys

import numpy
import nnex


def main(path, operator):
    domain, _, name = operator.rpartition(":")

    def run(inputs, attribute):
        """Turns the last axis by as many places as the node's attribute says."""
        return numpy.roll(inputs[0], attribute("times") or 1, axis=-1)

    rotate = nnex.CustomOp(name, run, domain=domain, infer=lambda types, attribute: types[0])
    model = nnex.load(path, custom_ops=[rotate])
    x = numpy.arange(numpy.prod(model.inputs[0].shape), dtype=model.inputs[0].dtype).reshape(model.inputs[0].shape)
    print(model(x))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 custom_operator.py MODEL DOMAIN:NAME")
    main(*sys.argv[1:])
