"""The wheel of nnex; bindings/python/pack makes it, beside a module that is compiled already."""

import os
import pathlib
import platform
import re
import sys

from setuptools import setup
from setuptools.dist import Distribution


HERE = pathlib.Path(__file__).resolve().parent
if not (HERE / "nnex/_nnex.abi3.so").exists():
    sys.exit("nnex/_nnex.abi3.so is missing; bindings/python/build makes it")


def version():
    """The one that stands in CMakeLists.txt; pack, which copies these files elsewhere, hands it on."""
    return os.environ.get("NNEX_VERSION") or re.search(r"project\(nnex VERSION ([\d.]+)", (HERE / "../../CMakeLists.txt").read_text("utf-8"))[1]


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


setup(
    version=version(),
    packages=["nnex", "nnex.onnxruntime", "nnex.onnxruntime.capi"],
    package_data={"nnex": ["_nnex.abi3.so", "py.typed", "*.pyi"], "nnex.onnxruntime": ["*.pyi"]},
    distclass=Compiled,
    # The module asks for no symbol that glibc has since 2.28 (a test reads them).
    options={"build": {"build_base": ".build"}, "bdist_wheel": {"py_limited_api": "cp311", "plat_name": f"manylinux_2_28_{platform.machine()}"}},
)
