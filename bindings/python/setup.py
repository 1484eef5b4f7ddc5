"""The wheel of nnex; bindings/python/pack makes it, beside a module that is compiled already."""

import os
import platform

from setuptools import setup
from setuptools.dist import Distribution


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


setup(
    version=os.environ.get("NNEX_VERSION", "0"),
    packages=["nnex"],
    package_data={"nnex": ["_nnex.abi3.so", "py.typed", "*.pyi"]},
    distclass=Compiled,
    # The module asks for no symbol that glibc has since 2.28 (a test reads them).
    options={"bdist_wheel": {"py_limited_api": "cp311", "plat_name": f"manylinux_2_28_{platform.machine()}"}},
)
