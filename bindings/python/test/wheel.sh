#!/usr/bin/env bash
# wheel.sh: the wheel, installed into a fresh environment and used from there; what it asks of the system; without NumPy, too.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "  $1"; [ -s "$scratch/log" ] && tail -n 12 "$scratch/log" | sed 's/^/    /'; exit 1; }

bindings/python/pack "$scratch" >"$scratch/log" 2>&1 || fail "pack fails"
wheel=$(echo "$scratch"/*.whl)
version=$(sed -n 's/^project(nnex VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
case $(basename "$wheel") in nnex-"$version"-cp311-abi3-manylinux_2_28_*.whl) ;; *) fail "the wheel is called $(basename "$wheel")" ;; esac
[ "$(stat -c %s "$wheel")" -le 6000000 ] || fail "the wheel takes $(stat -c %s "$wheel") bytes; needed at most 6,000,000"
newest=$(objdump -T bindings/python/nnex/_nnex.abi3.so | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2 -n | tail -n 1)
[ "${newest#GLIBC_2.}" -le 28 ] || fail "the module asks for $newest; needed GLIBC_2.28 or older: $(objdump -T bindings/python/nnex/_nnex.abi3.so | grep "$newest" | head -n 1)"
libraries=$(readelf -d bindings/python/nnex/_nnex.abi3.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libpthread|libdl|libgcc_s|ld-linux.*)\.so' | tr '\n' ' ')
[ -z "$libraries" ] || fail "the module asks for $libraries"
/usr/bin/python3 -m venv "$scratch/bare" >"$scratch/log" 2>&1 || fail "python3 -m venv fails"
"$scratch/bare/bin/pip" install --quiet --no-index --no-deps "$wheel" >"$scratch/log" 2>&1 || fail "pip cannot install the wheel"
cat >"$scratch/bare.py" <<'PY'
import array, sys
import nnex
import nnex.webnn
assert nnex.__file__.startswith(sys.prefix), nnex.__file__
assert nnex.__version__ == sys.argv[1]
model = nnex.load(nnex.parse_graph("graph main(x: f32[N,2]) -> (y) { y = neg(x); }"))
assert model([[1, -2]]).tolist() == [[-1.0, 2.0]]
y = model.run(memoryview(array.array("f", [1, 2, 3, 4])).cast("B").cast("f", [2, 2]))["y"]
assert (y.shape, y.dtype, memoryview(y).tolist()) == ((2, 2), "float32", [[-1.0, -2.0], [-3.0, -4.0]])
assert nnex.Value(["a", "b"]).python() == ["a", "b"]
context = nnex.webnn.create_context()
builder = nnex.webnn.MLGraphBuilder(context)
graph = builder.build({"y": builder.relu(builder.input("x", {"dataType": "float32", "shape": [2]}))})
assert context.compute(graph, {"x": [1, -1]})["y"].tolist() == [1, 0]
try:
    y.__array__()
except ImportError:
    print("well")
PY
[ "$(cd / && "$scratch/bare/bin/python" "$scratch/bare.py" "$version" 2>"$scratch/log")" = well ] || fail "the wheel does not work without NumPy"
