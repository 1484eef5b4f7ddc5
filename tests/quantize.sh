#!/usr/bin/env bash
# quantize.sh NNEX: networks of codes from the command line: files, exits, sentences, the same bytes, memory.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
shapes=$(cd "$(dirname "$0")/../models/shapes" && pwd)
model=$shapes/model.onnx
same() { cmp -s "$1" "$2" || { echo "  $1 and $2 differ"; bad=1; }; }
ls "$shapes"/*.png > "$scratch/list"
q() { "$nnex" quantize "$model" "$@"; }

# A file that is sound, smaller, and answers as the float one.
expect 0 "6 of 6 layers quantised" q -o "$scratch/q.onnx" --calibrate "$scratch/list" --save-recipe "$scratch/recipe.json"
expect 0 "sound" "$nnex" check "$scratch/q.onnx"
[ "$(stat -c %s "$scratch/q.onnx")" -lt $(($(stat -c %s "$model") / 3)) ] || { echo "  the file is not a third of the float one"; bad=1; }
for label in $(cat "$shapes/labels.txt"); do
  expect 0 "$label" "$nnex" run "$scratch/q.onnx" -i "$shapes/$label.png" --topk 1 --labels "$shapes/labels.txt"
done
expect 0 "8 of 8 rows (100.00 %)" q -o "$scratch/percentile.onnx" --calibrate "$scratch/list" --method percentile
expect 0 "constants" q -o "$scratch/four.onnx" --weights int4
expect 0 "sound" "$nnex" check "$scratch/four.onnx"
# Codes stay as they are; in C, too, where codes meet them; others are floats, which is told.
expect 0 "layers quantised" "$nnex" quantize "$shapes/../small/transformer.onnx" -o "$scratch/matrices.onnx" --weights int4
expect 4 "its weights are codes already, which stay" "$nnex" quantize "$scratch/matrices.onnx" -o "$scratch/again.onnx" --weights int4
expect 4 "its weights are codes already, which stay" "$nnex" quantize "$scratch/q.onnx" -o "$scratch/again.onnx" --calibrate "$scratch/list"
expect 0 "codes and halves of the model become floats in C: " "$nnex" convert "$scratch/matrices.onnx" "$scratch/four.c" --set N=1 --no-verify
expect 0 "20480 of memory for a run" "$nnex" convert "$scratch/q.onnx" "$scratch/q.c" --set N=1

# Layer by layer: what stands for a tensor behind its codes is that tensor, by names and without them.
expect 1 "21 tensors inside, 16 compared" "$nnex" compare "$model" "$scratch/q.onnx" -i "$shapes/star.png" --layers
expect 1 "relu_2 = relu_2_decoded" "$nnex" compare "$model" "$scratch/q.onnx" -i "$shapes/star.png" --layers
expect 1 "first tensor that differs: 'batchnormalization_1'" "$nnex" compare "$model" "$scratch/q.onnx" -i "$shapes/star.png"
expect 1 "relu_2_decoded = relu_2" "$nnex" compare "$scratch/q.onnx" "$model" -i "$shapes/star.png" --layers
expect 0 "" "$nnex" strip --names "$scratch/q.onnx" -o "$scratch/nameless.onnx"
expect 1 "21 tensors inside, 16 compared" "$nnex" compare "$model" "$scratch/nameless.onnx" -i "$shapes/star.png" --layers
# Those of another tool: other names, and codes that begin at 0 in a Relu's place.
cat > "$scratch/float.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
f (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, -2, 0.5, 1}, float[2,2] v = {0.25, 1, -1, 2}> {
  h = MatMul (x, w)
  r = Relu (h)
  y = MatMul (r, v)
}
TXT
cat > "$scratch/codes.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float[2,2] x) => (float[2,2] out) <float s = {0.02}, uint8 middle = {128}, uint8 none = {0}, int8[2,2] wq = {50, -100, 25, 50}, float[2,2] v = {0.25, 1, -1, 2}> {
  xq = QuantizeLinear (x, s, middle)
  xd = DequantizeLinear (xq, s, middle)
  wd = DequantizeLinear (wq, s)
  p = MatMul (xd, wd)
  pq = QuantizeLinear (p, s, none)
  pd = DequantizeLinear (pq, s, none)
  out = MatMul (pd, v)
}
TXT
expect 1 "3 tensors inside, 3 compared" "$nnex" compare "$scratch/float.onnxtxt" "$scratch/codes.onnxtxt" --random --layers
expect 1 "r = pd" "$nnex" compare "$scratch/float.onnxtxt" "$scratch/codes.onnxtxt" --random --layers
expect 1 "first tensor that differs: 'h'" "$nnex" compare "$scratch/float.onnxtxt" "$scratch/codes.onnxtxt" --random

# The same bytes: by the recipe, with other threads, other instructions, other forms of the samples.
expect 0 "" q -o "$scratch/again.onnx" --recipe "$scratch/recipe.json" -q
same "$scratch/q.onnx" "$scratch/again.onnx"
for isa in scalar sse4 avx2; do
  expect 0 "" env NNEX_ISA=$isa "$nnex" quantize "$model" -o "$scratch/$isa.onnx" --calibrate "$scratch/list" --threads 1 --no-judge -q
  same "$scratch/q.onnx" "$scratch/$isa.onnx"
done

# Whole numbers: proven, and the same hash with every instruction set.
expect 0 "passes int32" q -o "$scratch/whole" --to cvm --set N=1 --calibrate "$scratch/list"
expect 0 "sound" "$nnex" check "$scratch/whole"
hash=$("$nnex" run "$scratch/whole" -i "$shapes/star.png" --exact | grep sha256)
for isa in scalar sse4 avx2 avx512; do
  expect 0 "$hash" env NNEX_ISA=$isa "$nnex" run "$scratch/whole" -i "$shapes/star.png" --exact
done
for label in $(cat "$shapes/labels.txt"); do
  expect 0 "$label" "$nnex" run "$scratch/whole" -i "$shapes/$label.png" --topk 1 --labels "$shapes/labels.txt"
done
expect 2 "exists; --force replaces it" q -o "$scratch/whole" --to cvm --set N=1 --calibrate "$scratch/list"
expect 2 "no float layers" q -o "$scratch/no" --to cvm --set N=1 --calibrate "$scratch/list" --keep-float conv_0
expect 4 "need known extents; --set SYMBOL=N fixes them" q -o "$scratch/no" --to cvm --calibrate "$scratch/list"
# A folder has other files besides its samples; a list is taken at its word.
mkdir "$scratch/mixed" "$scratch/texts"
cp "$shapes"/*.png "$shapes/labels.txt" "$scratch/mixed"; cp "$shapes/labels.txt" "$scratch/texts"
expect 0 "left out, as no samples end so: labels.txt" q -o "$scratch/mixed.onnx" --calibrate "$scratch/mixed" --no-judge
cmp -s <(q -o - --calibrate "$scratch/mixed" --no-judge) <(q -o - --calibrate "$scratch/list" --no-judge) || { echo "  a folder's samples are not those of a list"; bad=1; }
expect 2 "found labels.txt, and no samples; needed pictures" q -o "$scratch/no.onnx" --calibrate "$scratch/texts"
ls "$scratch/mixed"/* > "$scratch/mixed_list"
expect 2 "reading sample '${scratch#/}/mixed/labels.txt'" q -o "$scratch/no.onnx" --calibrate "$scratch/mixed_list"
expect 2 "found bytes; needed a folder, or a list" q -o "$scratch/no.onnx" --calibrate "$model"

# Arrays go by their inputs' names; what is for none is passed over; samples that say little are told.
cat > "$scratch/mlp.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1, -2, 0.5, 1, 2, 0.25, -1, 3}> { y = MatMul (x, w) }
TXT
cat > "$scratch/chain.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1, -2, 0.5, 1, 2, 0.25, -1, 3}, float[2] b = {0.5, 1}, float[2,2] v = {1, 0.3, -0.7, 2}, float[2] c = {1, 0.5}>
{ h = Gemm (x, w, b) a = Relu (h) y = Gemm (a, v, c) }
TXT
python3 - "$scratch" <<'PY'
import struct, sys, zipfile
def npy(rows):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }" % len(rows)
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + b''.join(struct.pack('<4f', *r) for r in rows)
def npz(name, **arrays):
    with zipfile.ZipFile(sys.argv[1] + '/' + name, 'w') as z:
        for n, rows in arrays.items(): z.writestr(n + '.npy', npy(rows))
some = [[i - 3, 2 - i, i * .5, 1] for i in range(8)]
npz('other.npz', labels=some), npz('more.npz', x=some, labels=some), npz('zeros.npz', x=[[0] * 4] * 8), npz('one.npz', x=some[:1])
PY
m() { "$nnex" quantize "$scratch/mlp.onnxtxt" -o "$scratch/mlp.onnx" --force "$@"; }
expect 2 "no input 'labels'; the model has: 'x'" m --calibrate "$scratch/other.npz"
expect 0 "1 of 1 layers quantised" m --calibrate "$scratch/more.npz" --save-recipe "$scratch/mlp.json"
expect 0 "note: input 'x' is 0 in all samples" m --calibrate "$scratch/zeros.npz"
# Messages name samples; stored sets are a sample each, with no output among them.
mkdir "$scratch/nans" "$scratch/sets" "$scratch/sets/test_data_set_0"
echo '[[1,2,3,4]]' > "$scratch/nans/good.json"; echo '[["NaN",2,3,4]]' > "$scratch/nans/odd.json"; echo '{}' > "$scratch/sets/tolerance.json"
expect 2 "sample 'odd.json': input 'x' has elements that are NaN" m --calibrate "$scratch/nans"
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,4] x) => (float[2,4] y) { y = Neg (x) }\n' > "$scratch/neg.onnxtxt"
for name in input output; do "$nnex" run "$scratch/neg.onnxtxt" --random --save "$scratch/sets/test_data_set_0/${name}_0.pb" -q; done
expect 0 "1 of 1 layers quantised" m --calibrate "$scratch/sets/test_data_set_0"
expect 0 "stand beside folders with input_0.pb: tolerance.json" m --calibrate "$scratch/sets"
expect 0 "on 1 samples" m --calibrate "$scratch/sets/test_data_set_0/input_0.pb"
expect 0 "1 of 1 layers quantised" m --calibrate <(echo "$scratch/nans/good.json")
# A recipe has its settings; the source's size is told; nodes keep their names.
expect 2 "no effect with --recipe, which has settings of its own" m --recipe "$scratch/mlp.json" --keep-float y
expect 2 "no effect with --weights int4" m --weights int4 --plan measured
expect 0 "mlp.onnxtxt has $(stat -c %s "$scratch/mlp.onnxtxt"))" m --recipe "$scratch/mlp.json"
sed 's/ y = MatMul/ [product] y = MatMul/' "$scratch/mlp.onnxtxt" > "$scratch/named.onnxtxt"
expect 0 "1 of 1 layers" "$nnex" quantize "$scratch/named.onnxtxt" -o "$scratch/named.onnx" --calibrate "$scratch/more.npz" --force
expect 0 "node 'product' (MatMul)" "$nnex" why "$scratch/named.onnx" product
expect 2 "did you mean 'product'?" "$nnex" quantize "$scratch/named.onnxtxt" -o "$scratch/named.onnx" --calibrate "$scratch/more.npz" --keep-float produkt --force
# Where operators are written otherwise, names tell what corresponds.
expect 0 "layers quantised" "$nnex" quantize "$scratch/chain.onnxtxt" -o "$scratch/chain.nnef.tgz" --calibrate "$scratch/more.npz" --set N=1
expect 1 "3 tensors inside, 3 compared" "$nnex" compare "$scratch/chain.onnxtxt" "$scratch/chain.nnef.tgz" --set N=1 --layers --random --atol 1e-7 --rtol 0
# A sample is of the input's shape, or so many rows of it; rows are not dropped.
for shape in 4 8,4; do
  printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[%s] x) => (float[%s] y)\n<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> { y = MatMul (x, w) }\n' "$shape" "$shape" > "$scratch/of$shape.onnxtxt"
done
arrays() { python3 - "$scratch/$1.npy" "$2" <<'PY'
import struct, sys
shape = [int(n) for n in sys.argv[2].split(',')]
count = 1
for n in shape: count *= n
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % sys.argv[2]
head += ' ' * (117 - len(head)) + '\n'
open(sys.argv[1], 'wb').write(b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<%df' % count, *[i % 7 - 3 for i in range(count)]))
PY
}
arrays rows 20,4; arrays even 16,4; arrays stacked 3,8,4
of() { "$nnex" quantize "$scratch/of$1.onnxtxt" -o "$scratch/of.onnx" --force --calibrate "$scratch/$2.npy"; }
expect 0 "on 20 samples" of 4 rows
expect 0 "on 2 samples" of 8,4 even
expect 0 "on 3 samples" of 8,4 stacked
expect 2 "input 'x': found f32[20,4]; needed a multiple of 8 rows" of 8,4 rows
expect 2 "input 'x': found f32[3,8,4]; needed f32[4] for each, behind one another" of 4 stacked
expect 0 "note: measured on one sample" m --calibrate "$scratch/one.npz"
# A recipe is of one network.
sed 's/y = MatMul (x, w)/h = MatMul (x, w) y = MatMul (h, v)/; s/> {/, float[2,2] v = {1, -2, 3, 1}> {/' "$scratch/mlp.onnxtxt" > "$scratch/two.onnxtxt"
expect 0 "" "$nnex" quantize "$scratch/two.onnxtxt" -o "$scratch/two.onnx" --calibrate "$scratch/more.npz" --save-recipe "$scratch/two.json" -q
expect 2 "which the network does not: it is of another network" m --recipe "$scratch/two.json"

# The ending says the standard, as everywhere.
expect 0 "" q -o "$scratch/ending.tgz" --set N=1 --calibrate "$scratch/list" --no-judge -q
expect 0 "sound" "$nnex" check "$scratch/ending.tgz"
expect 2 "ONNX, NNEF or CVM" q -o "$scratch/ending.webnn" --calibrate "$scratch/list" --no-judge -q

# NNEF: a sound document, weights stored as codes, and the codes' answers with --quantized.
expect 0 "6 of 6 layers quantised" q -o "$scratch/codes" --to nnef --set N=1 --calibrate "$scratch/list"
expect 0 "sound" "$nnex" check "$scratch/codes"
expect 0 "zero_point_linear_quantize" cat "$scratch/codes/graph.quant"
[ "$(cat "$scratch"/codes/*.dat | wc -c)" -lt $(($(stat -c %s "$model") / 3)) ] || { echo "  weights of NNEF are not stored as codes"; bad=1; }
for label in $(cat "$shapes/labels.txt"); do
  expect 0 "$label" "$nnex" run "$scratch/codes" -i "$shapes/$label.png" --quantized --topk 1 --labels "$shapes/labels.txt"
done
expect 2 "has no blocks" q -o "$scratch/no" --to nnef --set N=1 --weights int4

# Layers that stay float.
expect 0 "float: as asked" q -o "$scratch/kept.onnx" --calibrate "$scratch/list" --keep-float conv_0
expect 2 "no layer 'relu_22' (did you mean 'relu_2'?)" q -o "$scratch/no.onnx" --calibrate "$scratch/list" --keep-float relu_22
expect 0 "as fast" q -o "$scratch/measured.onnx" --calibrate "$scratch/list" --plan measured

# What is refused, before anything is written.
expect 2 "needed --calibrate FOLDER" q -o "$scratch/no.onnx"
expect 2 "exists; --force replaces it" q -o "$scratch/q.onnx" --calibrate "$scratch/list"
expect 2 "percentile 20: needed" q -o "$scratch/no.onnx" --calibrate "$scratch/list" --method percentile --percentile 20
expect 2 "block 24: needed a power of two" q -o "$scratch/no.onnx" --weights int4 --block 24
expect 2 "--method" q -o "$scratch/no.onnx" --calibrate "$scratch/list" --method best
expect 3 "cannot open" q -o "$scratch/no.onnx" --calibrate "$scratch/absent/"
echo '{"schema": "nnex.recipe/1", "ranges": {"x": [1]}}' > "$scratch/bad.json"
expect 2 "bad.json: ranges, 'x': found [1]; needed [low, high]" q -o "$scratch/no.onnx" --recipe "$scratch/bad.json"
echo '{' > "$scratch/bad.json"
expect 3 "bad.json: line" q -o "$scratch/no.onnx" --recipe "$scratch/bad.json"
echo "$scratch/absent.png" > "$scratch/gone"
expect 3 "absent.png" q -o "$scratch/no.onnx" --calibrate "$scratch/gone"
[ -e "$scratch/no.onnx" ] || [ -e "$scratch/no" ] && { echo "  a refused call left a file"; bad=1; }

# Trained networks lose less than half a point in the mean.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  expect 0 "(the default)" /usr/bin/python3 "$shapes/../small/make.py" bar "$nnex"
fi

# 1,000 pictures take the memory of layers, not of samples.
mkdir "$scratch/many"
for ((i = 0; i < 1000; ++i)); do ln -s "$shapes/star.png" "$scratch/many/$i.png"; done
if [ -x /usr/bin/time ]; then
  expect 0 "" /usr/bin/time -o "$scratch/memory" -f %M "$nnex" quantize "$model" -o "$scratch/many.onnx" --calibrate "$scratch/many" --judge 100 -q
  [ "$(tail -n 1 "$scratch/memory")" -lt 307200 ] || { echo "  1,000 pictures took $(tail -n 1 "$scratch/memory") KiB; needed less than 300 MiB"; bad=1; }
else
  expect 0 "" bash -c 'ulimit -v 2000000; exec "$@"' bash "$nnex" quantize "$model" -o "$scratch/many.onnx" --calibrate "$scratch/many" --judge 100 -q --threads 1
fi
# Samples that no range can be made of are the caller's fault.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  for x in nan inf; do
    /usr/bin/python3 -c "import numpy; numpy.save('$scratch/$x.npy', numpy.full((1, 3, 32, 32), float('$x'), 'f4'))"
    echo "$scratch/$x.npy" > "$scratch/bad_samples"
    expect 2 "/$x.npy': input 'picture' has elements that are NaN" q -o "$scratch/no.onnx" --calibrate "$scratch/bad_samples"
  done
fi
exit $bad
