#!/usr/bin/env bash
# compare.sh NNEX: comparing and editing models from the command line. Damage is done to the text of an NNEF model, so that the tensor
# that must be named is known beforehand.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
model=$(dirname "$0")/../models/shapes/model.onnx
# The same network in every standard's form.
expect 0 "same" "$nnex" compare "$model" "$model"
for form in net.nnef.tgz net.webnn net.onnx; do
  expect 0 "" "$nnex" convert "$model" "$scratch/$form" --set N=1
  expect 0 "21 compared" "$nnex" compare "$model" "$scratch/$form" --layers
  # Back in ONNX it has as many nodes as it had: parameters are reshaped when they are written, a norm is one node again.
  expect 0 "21 nodes" "$nnex" convert "$scratch/$form" "$scratch/back.onnx" --force
  expect 0 "21 compared" "$nnex" compare "$model" "$scratch/back.onnx" --layers
done
# Another opset, exactly.
for opset in 7 13 17 18 21 23; do
  expect 0 "" "$nnex" convert "$model" "$scratch/opset$opset.onnx" --opset $opset
  expect 0 "ai.onnx $opset" "$nnex" inspect "$scratch/opset$opset.onnx"
  expect 0 "sound" "$nnex" check "$scratch/opset$opset.onnx"
  expect 0 "same" "$nnex" compare "$model" "$scratch/opset$opset.onnx"
done
expect 2 "needed one up to" "$nnex" convert "$model" "$scratch/opset99.onnx" --opset 99
# A network as text, and copies that differ in one place.
net() {  # net FOLDER SECOND-LINE THIRD-LINE
  mkdir -p "$scratch/$1"
  printf '%s\n' 'version 1.0;' 'graph net(x) -> (y) {' ' x = external(shape = [2,3]);' " $2" " $3" ' y = tanh(c);' '}' > "$scratch/$1/graph.nnef"
}
net right 'b = mul(x, 2.0);' 'c = sub(b, x);'
net weight 'b = mul(x, 3.0);' 'c = sub(b, x);'
net order 'b = mul(x, 2.0);' 'c = sub(x, b);'
net other 'q = mul(x, 2.0);' 'c = sub(q, x);'
net longer 'b = mul(x, 2.0);' 'd = sub(b, x); c = copy(d);'
expect 1 "first tensor that differs: 'b'" "$nnex" compare "$scratch/right" "$scratch/weight"
expect 1 "first tensor that differs: 'c'" "$nnex" compare "$scratch/right" "$scratch/order"
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/other" --layers
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/longer"
expect 1 "different" "$nnex" compare "$scratch/right" "$scratch/order" --outputs-only
expect 1 '"schema": "nnex.compare/1"' "$nnex" compare "$scratch/right" "$scratch/order" --json
expect 1 "" "$nnex" compare "$scratch/right" "$scratch/order" -q
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/order" --atol 100
net gate 'b = relu(x);' 'c = copy(b);'
net gateless 'b = copy(x);' 'c = copy(b);'
expect 1 "first tensor that differs: 'b'" "$nnex" compare "$scratch/gate" "$scratch/gateless"  # negative numbers tell
expect 2 "--atol 'much': needed a number" "$nnex" compare "$scratch/right" "$scratch/order" --atol much
expect 2 "found 0 second sides" "$nnex" compare "$scratch/right"
expect 2 "needed a name in .onnx" "$nnex" compare "$scratch/right" "$scratch/order" --bisect "$scratch/cut.nnef"
expect 3 "nowhere" "$nnex" compare "$scratch/right" "$scratch/nowhere.onnx"
# What makes the difference, cut out, and run again.
expect 1 "run again, they differ" "$nnex" compare "$scratch/right" "$scratch/order" --bisect "$scratch/cut.onnx"
expect 2 "exists" "$nnex" compare "$scratch/right" "$scratch/order" --bisect "$scratch/cut.onnx"
expect 1 "different" "$nnex" compare "$scratch/cut.onnx" "$scratch/cut.other.onnx" -i "$scratch/cut.inputs.npz"
expect 0 "1 nodes" "$nnex" inspect "$scratch/cut.onnx"
# Stored tensors: of another run, and changed.
expect 0 "" "$nnex" run "$scratch/right" --random --save "$scratch/y.npz" --save "$scratch/y.npy" -q
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/y.npz" --random
expect 2 "has nothing for input 'x': give what its tensors were made from" "$nnex" compare "$scratch/right" "$scratch/y.npz"
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/y.npy" --random
expect 1 "different" "$nnex" compare "$scratch/order" "$scratch/y.npy" --random
expect 0 "same" "$nnex" compare "$model" "$(dirname "$model")/test_data_set_0"
# A program that answers by JSON: right, wrong by one element, and not at all.
cat > "$scratch/program.py" <<'PY'
import base64, json, math, struct, sys
asked = json.load(sys.stdin)
x = asked["inputs"][0]
v = list(struct.unpack("<6f", base64.b64decode(x["base64"])))
b = [2 * a for a in v]
c = [p - a for p, a in zip(b, v)]
if len(sys.argv) > 1: c[4] += 0.25
y = [math.tanh(a) for a in c]
rows = lambda t: [t[:3], t[3:]]
made = {"b": b, "c": c, "y": y}
print(json.dumps({"outputs": [{"name": n, "values": rows(made[n])} for n in asked["outputs"] if n in made]}))
PY
expect 0 "same" "$nnex" compare "$scratch/right" --command "python3 $scratch/program.py" --layers
expect 1 "first tensor that differs: 'c'" "$nnex" compare "$scratch/right" --command "python3 $scratch/program.py wrong"
expect 1 "worst at element 4" "$nnex" compare "$scratch/right" --command "python3 $scratch/program.py wrong"
expect 3 "ended with exit code 7" "$nnex" compare "$scratch/right" --command "exit 7"
expect 3 "found no JSON" "$nnex" compare "$scratch/right" --command "echo hello"
expect 3 "needed 24 bytes" "$nnex" compare "$scratch/right" --command \
  "echo '{\"outputs\": [{\"name\": \"y\", \"shape\": [2,3], \"base64\": \"AAAA\"}]}'"
expect 1 "nothing on the second side corresponds" "$nnex" compare "$scratch/right" --command "echo '{\"outputs\": []}'"
echo '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (string[2] y) { y = Cast <to = 8> (x) }' > "$scratch/text.onnxtxt"
expect 4 "output 'y' is str[2]; only tensors of numbers are exchanged" "$nnex" compare "$scratch/text.onnxtxt" --random --command "cat"
if [ -n "${PEER_ORT:-}" ]; then
  expect 0 "21 compared" "$nnex" compare "$model" --against peer --layers
else
  expect 4 "onnxruntime-node is not installed here" "$nnex" compare "$model" --against peer
fi
# Parts, names, shapes.
expect 0 "2 nodes" "$nnex" extract "$scratch/right" --from b,x --to y -o "$scratch/part.onnx"
expect 0 "input   b  f32[2,3]" "$nnex" inspect "$scratch/part.onnx"
expect 2 "exists" "$nnex" extract "$scratch/right" --from b,x --to y -o "$scratch/part.onnx"
expect 2 "need the inputs 'x' as well" "$nnex" extract "$scratch/right" --from b --to y -o "$scratch/no.onnx"
expect 2 "no tensor 'bb' (did you mean 'b'?)" "$nnex" extract "$scratch/right" --from bb --to y -o "$scratch/no.onnx"
expect 2 "no output needs 'c'" "$nnex" extract "$scratch/right" --from c,x --to b -o "$scratch/no.onnx"
expect 0 "" "$nnex" rename "$scratch/right" x=pixels y=answer -o "$scratch/named.onnx"
expect 0 "input   pixels" "$nnex" inspect "$scratch/named.onnx"
expect 0 "same" "$nnex" compare "$scratch/right" "$scratch/named.onnx"
expect 2 "another tensor is" "$nnex" rename "$scratch/right" x=y -o "$scratch/no.onnx"
expect 0 "" "$nnex" rename "$scratch/right" b=c c=b -o "$scratch/swapped.onnx"
# A batch that a reshape has baked in, and one that cannot be: a mean over the batch.
mkdir "$scratch/baked" "$scratch/mixed" "$scratch/along"
printf '%s\n' 'version 1.0;' 'graph net(x) -> (y) {' ' x = external(shape = [1,4,2]);' ' r = reshape(x, shape = [1,8]);' ' y = relu(r);' '}' \
  > "$scratch/baked/graph.nnef"
printf '%s\n' 'version 1.0;' 'graph net(x) -> (y) {' ' x = external(shape = [1,4]);' ' m = mean_reduce(x, axes = [0]);' ' y = sub(x, m);' '}' \
  > "$scratch/mixed/graph.nnef"
printf '%s\n' 'version 1.0;' 'graph net(x) -> (y) {' ' x = external(shape = [1,4]);' ' y = softmax(x, axes = [0]);' '}' > "$scratch/along/graph.nnef"
expect 0 "[1,8] -> [3,8]" "$nnex" set-batch "$scratch/baked" --batch 3 -o "$scratch/three.onnx"
expect 0 "output  y  f32[3,8]" "$nnex" inspect "$scratch/three.onnx"
expect 4 "makes f32[1,4] of all rows" "$nnex" set-batch "$scratch/mixed" --batch 2 -o "$scratch/no.onnx"
expect 4 "works along the rows of f32[batch,4]" "$nnex" set-batch "$scratch/along" --batch 2 -o "$scratch/no.onnx"
expect 2 "found '0'; needed a whole number of at least 1" "$nnex" set-batch "$scratch/mixed" --batch 0 -o "$scratch/no.onnx"
expect 0 "[1,8] -> [1,12]" "$nnex" set-shape "$scratch/baked" x=[1,6,2] -o "$scratch/wide.onnx"
expect 2 "no input 'z'" "$nnex" set-shape "$scratch/baked" z=[1] -o "$scratch/no.onnx"
# An input without axes has no batch, and is left alone.
cat > "$scratch/rate.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float[1,4] x, float rate) => (float[1,4] y) { y = Mul (x, rate) }
TXT
cat > "$scratch/scalar.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float rate) => (float y) { y = Neg (rate) }
TXT
expect 0 "one run of 4 and 4 runs of 1" "$nnex" set-batch "$scratch/rate.onnxtxt" --batch 4 -o "$scratch/rate.onnx"
expect 0 "output  y  f32[4,4]" "$nnex" inspect "$scratch/rate.onnx"
expect 2 "no input has an axis" "$nnex" set-batch "$scratch/scalar.onnxtxt" --batch 4 -o "$scratch/no.onnx"
# What nobody gives stays as open as it was.
cat > "$scratch/two.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float[N,4] x, float[M,K] z) => (float[N,4] y, float[M,K] w) { y = Neg (x) w = Neg (z) }
TXT
expect 0 "" "$nnex" set-shape "$scratch/two.onnxtxt" x=[2,4] -o "$scratch/shape2.onnx"
expect 0 "output  w  f32[M,K]" "$nnex" inspect "$scratch/shape2.onnx"
expect 0 "one run of 2" "$nnex" set-batch "$scratch/two.onnxtxt" --batch 2 -o "$scratch/batch2.onnx"
expect 0 "output  w  f32[2,K]" "$nnex" inspect "$scratch/batch2.onnx"
expect 0 "one run of 1" "$nnex" set-batch "$scratch/two.onnxtxt" --batch 1 -o "$scratch/batch1.onnx"
expect 0 "output  w  f32[1,K]" "$nnex" inspect "$scratch/batch1.onnx"
# An axis that stays open under a name.
expect 0 "[1,8] -> [-1,8]" "$nnex" set-batch "$scratch/baked" --batch N -o "$scratch/open.onnx"
expect 0 "output  y  f32[N,8]" "$nnex" inspect "$scratch/open.onnx"
expect 0 "same" "$nnex" compare "$scratch/baked" "$scratch/open.onnx"
expect 0 "same" "$nnex" compare "$scratch/three.onnx" "$scratch/open.onnx"
expect 0 "[1,8] -> [1,-1]" "$nnex" set-shape "$scratch/baked" x=[1,T,2] -o "$scratch/long.onnx"
expect 0 "output  y  f32[1,2*T]" "$nnex" inspect "$scratch/long.onnx"
expect 3 "(reshape)" "$nnex" set-shape "$scratch/baked" x=[N,T,2] -o "$scratch/no.onnx"
expect 3 "trying N = " "$nnex" set-shape "$scratch/baked" x=[N,T,2] -o "$scratch/no.onnx"
expect 4 "makes f32[1,4] of all rows" "$nnex" set-batch "$scratch/mixed" --batch N -o "$scratch/no.onnx"
expect 4 "works along the rows of f32[N,4]" "$nnex" set-batch "$scratch/along" --batch N -o "$scratch/no.onnx"
expect 2 "needed INPUT=[1,3,224,224], or a name" "$nnex" set-shape "$scratch/baked" x=[1,,2] -o "$scratch/no.onnx"
expect 2 "found 2 extents, needed 3" "$nnex" set-shape "$scratch/baked" x=[N,4] -o "$scratch/no.onnx"
expect 0 "" "$nnex" rename "$scratch/open.onnx" N=batch x=pixels -o "$scratch/batch.onnx"
expect 0 "input   pixels  f32[batch,4,2]" "$nnex" inspect "$scratch/batch.onnx"
expect 0 "output  y  f32[batch,8]" "$nnex" inspect "$scratch/batch.onnx"
expect 2 "no tensor 'M'" "$nnex" rename "$scratch/open.onnx" M=batch -o "$scratch/no.onnx"
[ -e "$scratch/no.onnx" ] && { echo "  a refused edit left a file"; bad=1; }
# Names of extents that inference cannot find stay, and axes that share one follow.
names=$scratch/names.onnxtxt
cat > "$names" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (int64[batch,seq] ids, int64[batch,total] mask, int64 limit) => (float[batch,kept,2] z, int64[batch,total] n)
<float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] zero = {0}, int64[1] one = {1}> {
  e = Gather (w, ids) end = Reshape (limit, one) z = Slice (e, zero, end, one) n = Neg (mask)
}
TXT
expect 0 "one run of 3" "$nnex" set-batch "$names" --batch 3 -o "$scratch/names3.onnx"
expect 0 "output  z  f32[3,kept,2]" "$nnex" inspect "$scratch/names3.onnx"
expect 0 "output  n  i64[3,total]" "$nnex" inspect "$scratch/names3.onnx"
expect 0 "one run of 3" "$nnex" set-batch "$names" --batch N -o "$scratch/namesN.onnx"
expect 0 "output  z  f32[N,kept,2]" "$nnex" inspect "$scratch/namesN.onnx"
expect 0 "" "$nnex" set-shape "$names" ids=[1,5] -o "$scratch/names1.onnx"
expect 0 "input   mask  i64[1,total]" "$nnex" inspect "$scratch/names1.onnx"
expect 0 "output  z  f32[1,kept,2]" "$nnex" inspect "$scratch/names1.onnx"
sed 's/kept/seq/' "$names" > "$scratch/claims.onnxtxt"  # what the file says of an output counts where nothing else is known
expect 0 "" "$nnex" set-shape "$scratch/claims.onnxtxt" ids=[1,5] -o "$scratch/claims.onnx"
expect 0 "output  z  f32[1,5,2]" "$nnex" inspect "$scratch/claims.onnx"
expect 0 "" "$nnex" set-shape "$names" ids=[total,seq] -o "$scratch/square.onnx"
expect 0 "input   mask  i64[total,total]" "$nnex" inspect "$scratch/square.onnx"
expect 2 "'mask.0' is the symbol 'batch', which is 1 at 'ids.0'; found 2" "$nnex" set-shape "$names" ids=[1,1] mask=[2,7] -o "$scratch/no.onnx"
expect 2 "'mask.0' is the symbol 'batch', which is N at 'ids.0'; found 2" "$nnex" set-shape "$names" ids=[N,1] mask=[2,7] -o "$scratch/no.onnx"
expect 0 "n: i64[2,1]" "$nnex" run "$names" --random --set-shape ids=[2,5]
expect 0 "n: i64[2,1]" "$nnex" run "$names" --random --set-shape ids=[2,5] --set batch=2
expect 2 "'ids.0' is the symbol 'batch', which is 1; found 2" "$nnex" run "$names" --random --set-shape ids=[2,5] --set batch=1
[ -e "$scratch/no.onnx" ] && { echo "  a refused edit left a file"; bad=1; }
# Fewer nodes, the same answers; what differs between two as they stand.
expect 0 "same outputs" "$nnex" simplify "$model" -o "$scratch/simple.onnx"
# Each place is proven, those in the blocks of an If too: a copy of an outer value, an activation spelled out, one of the branch not taken.
cat > "$scratch/if.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float[4,6] x, bool c) => (float[4,6] y) <float half = {0.5}, float root = {1.4142135}, float one = {1.0}> {
  r = Relu (x)
  z = If (c) <
    then_branch = yes () => (float[4,6] a) { k = Identity (r) d = Div (k, root) e = Erf (d) o = Add (e, one) m = Mul (k, o) h = Mul (m, half) a = Add (h, r) },
    else_branch = no () => (float[4,6] b) { p = Sigmoid (r) b = Mul (r, p) }>
  y = Neg (z)
}
TXT
for place in "h: div, erf, add, mul, mul -> gelu  24 elements, same" "b: sigmoid, mul -> silu  24 elements, same" "k: copy -> relu  24 elements, same"; do
  expect 0 "$place" "$nnex" simplify "$scratch/if.onnxtxt" -o "$scratch/if.onnx" --force
done
expect 0 "nodes, before" "$nnex" fold "$model" -o "$scratch/folded.onnx"
expect 0 "same" "$nnex" compare "$model" "$scratch/folded.onnx"
expect 0 "0 calls of functions inlined" "$nnex" inline "$model" -o "$scratch/inlined.onnx"
expect 0 "constants stored as f16" "$nnex" narrow "$model" -o "$scratch/narrow.onnx"
expect 0 "same" "$nnex" compare "$model" "$scratch/narrow.onnx" --atol 0.05 --rtol 0.05
[ "$(stat -c %s "$scratch/narrow.onnx")" -lt $(($(stat -c %s "$model") * 6 / 10)) ] || { echo "  narrow weights are no smaller"; bad=1; }
expect 2 "f16" "$nnex" narrow "$model" -o "$scratch/x.onnx" --to f64
# Weights below the range stay, a few of them among others do not keep the rest wide.
weights() { printf '<ir_version: 8, opset_import: ["" : 18]>\ng (float[N,64] x) => (float[N,64] y) <float[64] w = {%s}> { y = Mul (x, w) }\n' "$(python3 -c "print(', '.join($1))")"; }
weights "['1e-9'] * 64" > "$scratch/small.onnxtxt"
weights "['1e-9'] * 4 + ['0.5'] * 60" > "$scratch/mixed.onnxtxt"
expect 0 "0 constants stored as f16, 1 left" "$nnex" narrow "$scratch/small.onnxtxt" -o "$scratch/small.onnx"
expect 0 "same" "$nnex" compare "$scratch/small.onnxtxt" "$scratch/small.onnx" --set N=2
expect 0 "1 constants stored as bf16, 0 left" "$nnex" narrow "$scratch/small.onnxtxt" -o "$scratch/small.onnx" --to bf16 --force
expect 0 "1 constants stored as f16, 0 left" "$nnex" narrow "$scratch/mixed.onnxtxt" -o "$scratch/mixed.onnx"
expect 0 '"max_relative"' "$nnex" narrow "$scratch/mixed.onnxtxt" -o "$scratch/mixed.onnx" --force --json
expect 0 "nodes" "$nnex" strip "$model" -o "$scratch/stripped.onnx" --names
expect 0 "same" "$nnex" compare "$model" "$scratch/stripped.onnx"
! grep -q "$("$nnex" inspect "$model" --json | grep -o '"producer": "[^"]*"' | cut -d'"' -f4)" "$scratch/stripped.onnx" || { echo "  strip keeps the producer"; bad=1; }
expect 0 "same" "$nnex" compare "$model" "$scratch/simple.onnx"
# Edits write ONNX as convert does: of an opset, and with tensors beside the model.
expect 0 "nodes" "$nnex" fold "$model" -o "$scratch/edited.onnx" --opset 20 --external-data
expect 0 '"": 20' "$nnex" inspect "$scratch/edited.onnx" --json
[ -s "$scratch/edited.onnx.data" ] || { echo "  fold --external-data: no file beside it"; bad=1; }
expect 2 "found opset 99; needed one up to" "$nnex" strip "$model" -o "$scratch/newest.onnx" --opset 99
expect 0 '"schema": "nnex.edit/1"' "$nnex" simplify "$model" -o "$scratch/simple.onnx" --force --json
expect 0 "same" "$nnex" inspect --diff "$scratch/right" "$scratch/right"
expect 1 "~ c: input 0: 'b' -> 'x'" "$nnex" inspect --diff "$scratch/right" "$scratch/order"
expect 1 "~ b: constant" "$nnex" inspect --diff "$scratch/right" "$scratch/weight"
expect 2 "--diff: found 1 models; needed two" "$nnex" inspect --diff "$scratch/right"
sed 's/Sigmoid (r)/Tanh (r)/' "$scratch/if.onnxtxt" > "$scratch/other.onnxtxt"
expect 1 "~ z/else_branch/p: operator sigmoid -> tanh" "$nnex" inspect --diff "$scratch/if.onnxtxt" "$scratch/other.onnxtxt"
expect 0 "same" "$nnex" inspect --diff "$scratch/if.onnxtxt" "$scratch/if.onnxtxt"
# What is told of nodes is of the files; nodes have names of their own.
model_of() { printf '<ir_version: 8, opset_import: ["" : %s]>\n%s\n' "$1" "$2"; }
model_of 13 'g (float[2,3] x) => (float[2,3] y) { [gate] s = Sigmoid (x) [swish] y = Mul (x, s) }' > "$scratch/swish.onnxtxt"
expect 0 "swish.onnx: 2 nodes, before 2" "$nnex" simplify "$scratch/swish.onnxtxt" -o "$scratch/swish.onnx"
expect 0 "sound" "$nnex" check "$scratch/swish.onnx" --strict
model_of 21 'g (float[2,3] x) => (float[2,3] y) { y = Gelu (x) }' > "$scratch/gelu.onnxtxt"
expect 0 "1 nodes" "$nnex" inspect "$scratch/gelu.onnxtxt"
# A last state that alone is read.
python3 - > "$scratch/last.onnxtxt" <<'PY'
ones = lambda n: ', '.join(str((i * 7 % 11 - 5) / 16) for i in range(n))
print('<ir_version: 8, opset_import: ["" : 14]>\ng (float[3,1,4] x) => (float[1,1,4] y) <float[1,16,4] w = {%s}, float[1,16,4] r = {%s}>' % (ones(64), ones(64)))
print('{ u, y = LSTM <hidden_size = 4> (x, w, r) }')
PY
expect 0 "2 constants stored as f16" "$nnex" narrow "$scratch/last.onnxtxt" -o "$scratch/last.onnx"
expect 0 "same" "$nnex" compare "$scratch/last.onnxtxt" "$scratch/last.onnx" --atol 0.01
# Inputs that cannot be made up are given.
model_of 13 'g (float[4,3] x, int64[1] i) => (float[1,3] y) <int64[1] far = {8}> { j = Sub (i, far) y = Gather (x, j) }' > "$scratch/index.onnxtxt"
echo '[10]' > "$scratch/ten.json"
for verb in simplify fold narrow; do
  expect 4 "take numbers that cannot be made up; --input gives them" "$nnex" $verb "$scratch/index.onnxtxt" -o "$scratch/index.onnx"
  expect 0 "nodes, before" "$nnex" $verb "$scratch/index.onnxtxt" -o "$scratch/index.onnx" -i i="$scratch/ten.json" --force
  rm "$scratch/index.onnx"
done
# NaN: where it begins; two answers of nothing else prove nothing.
model_of 13 'g (float[2,2] x) => (float[2,2] y) { h = Log (x) y = Neg (h) }' > "$scratch/log.onnxtxt"
echo '[[-1,-2],[-3,-4]]' > "$scratch/below.json"
expect 1 "first  tensor    h  f32[2,2]  4 NaN of 4 elements" "$nnex" run "$scratch/log.onnxtxt" -i "$scratch/below.json" --check-nan
expect 0 "0 of 3 tensors have" "$nnex" run "$scratch/log.onnxtxt" --random --check-nan
expect 2 "no effect with --hash-layers or --check-nan" "$nnex" run "$scratch/log.onnxtxt" --random --check-nan --save "$scratch/no.npy"
expect 2 "no effect with --hash-layers or --check-nan" "$nnex" run "$scratch/log.onnxtxt" --random --hash-layers --save "$scratch/no.npy"
expect 0 "all elements of 'y' are NaN on both sides" "$nnex" compare "$scratch/log.onnxtxt" "$scratch/log.onnxtxt" -i "$scratch/below.json"
expect 0 '"nan_both": 4' "$nnex" compare "$scratch/log.onnxtxt" "$scratch/log.onnxtxt" -i "$scratch/below.json" --json
# NaN as Python's json writes it.
echo "[[NaN,-2],[-3,-4]]" > "$scratch/bare.json"
expect 3 "found NaN, which JSON lacks" "$nnex" run "$scratch/log.onnxtxt" -i "$scratch/bare.json"
expect 0 "same" "$nnex" compare "$scratch/log.onnxtxt" -i "$scratch/below.json" --command "echo '{\"outputs\": [{\"name\": \"y\", \"values\": [[NaN, NaN], [NaN, NaN]]}]}'"
expect 1 "differs" "$nnex" compare "$scratch/log.onnxtxt" -i "$scratch/below.json" --command "echo '{\"outputs\": [{\"name\": \"y\", \"values\": [[-Infinity, Infinity], [0, NaN]]}]}'"
# A side that does not run gives no verdict; the folder of the model is not another one.
model_of 13 'g (float[2,3] x) => (float[2,3] y) { y = Neg (x) }' > "$scratch/shape23.onnxtxt"
expect 3 "while running" "$nnex" compare "$scratch/log.onnxtxt" "$scratch/shape23.onnxtxt" --random
mkdir -p "$scratch/own/test_data_set_0" "$scratch/own/test_data_set_1"
expect 0 "" "$nnex" convert "$scratch/log.onnxtxt" "$scratch/own/model.onnx"
"$nnex" run "$scratch/shape23.onnxtxt" --random --set-shape x=[2,2] --save "$scratch/own/test_data_set_0/input_0.pb" -q
"$nnex" run "$scratch/shape23.onnxtxt" --random --seed 5 --set-shape x=[2,2] --save "$scratch/own/test_data_set_1/input_0.pb" -q
for set in 0 1; do "$nnex" run "$scratch/own/model.onnx" -i "$scratch/own/test_data_set_$set" --save "$scratch/own/test_data_set_$set/output_0.pb" -q; done
expect 2 "is the folder that the model is in; needed one of its folders of test data" "$nnex" compare "$scratch/own/model.onnx" "$scratch/own"
expect 0 "same" "$nnex" compare "$scratch/own/model.onnx" "$scratch/own/test_data_set_1/output_0.pb"
# Files without a name go on behind the last; random inputs have the extents of those given; pipes are read.
model_of 13 'g (float[N,2] a, float[N,2] b) => (float[N,2] s, float[N,2] d) { s = Add (a, b) d = Sub (a, b) }' > "$scratch/pair.onnxtxt"
expect 2 "no input follows 'b', which was given before it; needed a=" "$nnex" run "$scratch/pair.onnxtxt" -i b="$scratch/below.json" -i "$scratch/below.json"
expect 2 "no output follows 'd', which was named before it; needed s=" "$nnex" run "$scratch/pair.onnxtxt" --random --save d="$scratch/d.npy" --save "$scratch/s.npy"
expect 0 "s: f32[2,2]" "$nnex" run "$scratch/pair.onnxtxt" -i "$scratch/below.json" --random
expect 0 "d: f32[2,2]  0 0 0 0" "$nnex" run "$scratch/pair.onnxtxt" -i <(cat "$scratch/below.json") -i "$scratch/below.json"
expect 0 "2 nodes" "$nnex" inspect <(cat "$scratch/pair.onnxtxt")
expect 0 "y: f32[2,2]" "$nnex" run <(cat "$scratch/own/model.onnx") --random
exit $bad
