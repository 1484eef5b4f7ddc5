"""The blocks of Python in the documents, run as they stand beside the models that they name: what a print shows is what the comment behind it
says. And the examples."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python"))

import nnex  # noqa: E402

DOCUMENTS = ["README.md", "bindings/python/README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
BLOCKS = [(name, block) for name in DOCUMENTS for block in re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text("utf-8"), re.M | re.S)]
SHOWN = re.compile(r"^ *print\(.*\) *# (.*)$", re.M)


class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        nnex.convert(nnex.parse_graph("graph main(x: f32[N,3]) -> (y) { y = add(x, x); }"), "model.onnx")
        nnex.convert(nnex.parse_graph("graph main(x: f32[2], sum_in: f32[2]) -> (y, sum_out) { sum_out = add(x, sum_in); y = relu(sum_out); }"), "sum.onnx")

    def test_there_are_blocks(self):
        for name, least in (("README.md", 1), ("bindings/python/README.md", 2), ("docs/python.md", 6)):
            self.assertGreaterEqual(sum(of == name for of, _ in BLOCKS), least, name)

    def test_blocks_print_what_they_say(self):
        for number, (name, block) in enumerate(BLOCKS):
            with self.subTest(f"{name}, block {number}"):
                for made in ("net.nnef.tgz", "batch.onnx"):
                    pathlib.Path(made).unlink(missing_ok=True)
                names = {"x": [[1, 2, 3]]}  # what blocks that show one call have at hand
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    exec(compile(block, name, "exec"), names)
                self.assertEqual(said.getvalue().splitlines(), SHOWN.findall(block))

    def example(self, name, *arguments):
        return subprocess.run([sys.executable, ROOT / "examples/python" / name, *arguments], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")})

    def test_run(self):
        said = self.example("run.py", ROOT / "models/shapes/model.onnx")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        lines = said.stdout.splitlines()
        self.assertIn("onnx, 21 nodes, 64408 parameters", lines[0])
        self.assertTrue(lines[2].startswith("output probabilities  float32[1, 8] "), lines)
        self.assertGreaterEqual(len(lines), 8)
        said = self.example("run.py", "nothing.onnx")
        self.assertEqual(said.returncode, 1)
        self.assertTrue(said.stderr.startswith("unreadable: cannot open 'nothing.onnx'"), said.stderr)

    def test_custom_operator(self):
        from test_tools import CustomOps

        pathlib.Path("rotate.onnx").write_bytes(CustomOps().onnx())
        said = self.example("custom_operator.py", "rotate.onnx", "com.example:Rotate")
        self.assertEqual((said.stdout, said.stderr), ("[[1. 2. 0.]\n [4. 5. 3.]]\n", ""))

    def test_every_example_has_its_test(self):
        self.assertEqual(sorted(path.name for path in (ROOT / "examples/python").glob("*.py")), ["custom_operator.py", "run.py"])


if __name__ == "__main__":
    unittest.main()
