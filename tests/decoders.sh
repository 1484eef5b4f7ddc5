#!/usr/bin/env bash
# decoders.sh NNEX: networks with caches and open extents from the command line: steps, batches, what is carried; halves.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
# A decoder: a cache that grows, a mask of all tokens, a table of 64 positions.
decoder=$scratch/decoder.onnxtxt
cat > "$decoder" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (int64[batch,seq] ids, int64[batch,total] mask, float[batch,past,2] h_in) => (float[batch,seq,2] y, float[batch,total,2] h_out)
<int64[2] size = {64, 2}, int64[1] one = {1}, int64[1] two = {2}> {
  w = ConstantOfShape (size)
  e = Gather (w, ids)
  length = Shape <start = 1, end = 2> (h_in)
  position = Gather (w, length)
  h_out = Concat <axis = 1> (h_in, e)
  m = Cast <to = 1> (mask)
  column = Unsqueeze (m, two)
  seen = Mul (h_out, column)
  s = ReduceSum <keepdims = 1> (seen, one)
  t = Add (e, s)
  y = Add (t, position)
}
TXT
# A batch that the cache shares with other inputs is 1 where nobody says, and counts where somebody does.
expect 0 "1 carried" "$nnex" bench "$decoder" --prompt 4 --decode 4
expect 0 "batch of 3, whose tokens count together" "$nnex" bench "$decoder" --prompt 4 --decode 4 --set batch=3
expect 0 '"batch":3' "$nnex" bench "$decoder" --prompt 4 --decode 4 --set batch=3 --json
expect 2 "input 'ids' of i64[0,seq] has no rows" "$nnex" bench "$decoder" --prompt 4 --decode 4 --set batch=0
python3 - "$nnex" "$decoder" <<'PY' || bad=1
import json, subprocess, sys
d = json.loads(subprocess.run([sys.argv[1], 'bench', sys.argv[2], '--prompt', '4', '--decode', '1', '--set', 'batch=3', '--json'], capture_output=True).stdout)
if abs(d['tokens_per_second'] * d['token_median_ms'] - 3000) > 1: sys.exit('  tokens of a batch: %s' % d)
PY
expect 2 "decides its extent batch: it needs a number; --set SYMBOL=N gives it one" "$nnex" run "$decoder" --random --carry likely
[ "$("$nnex" bench "$decoder" --prompt 4 --decode 4 --threads 9999 2>&1 | grep -c 'this process may use')" = 1 ] || { echo "  --threads is told about more than once"; bad=1; }
# Each run that is timed begins as the first: past 64 steps the table of positions ends.
expect 0 "median" "$nnex" bench "$decoder" --carry likely --seconds 0.2
expect 0 "the least of" "$nnex" profile "$decoder" --carry likely --seconds 0.2
# What is carried is saved as the last run left it, by either name.
expect 0 "y: f32[1,1,2]" "$nnex" run "$decoder" --random --set batch=1 --carry likely --save h_out="$scratch/out.npy" --save h_in="$scratch/in.npy"
cmp -s "$scratch/out.npy" "$scratch/in.npy" && grep -q "(1,1,2,)" "$scratch/out.npy" || { echo "  no carried output in a file"; bad=1; }
expect 2 "no output or tensor 'h_oot'" "$nnex" run "$decoder" --random --set batch=1 --carry likely --save h_oot="$scratch/no.npy"
# Options that nothing would come of.
expect 2 "--input: no effect with --decode" "$nnex" bench "$decoder" --decode 4 -i nowhere.npz
expect 2 "--seconds: no effect with --decode" "$nnex" bench "$decoder" --decode 4 --seconds 1
expect 2 "--prompt: no effect without --decode" "$nnex" bench "$decoder" --prompt 4
expect 2 "--threads: no effect without --measure" "$nnex" env --threads 1
expect 2 "--cache: found an empty word; needed a folder" "$nnex" run "$decoder" --random --cache ""
for words in "--block 64" "--percentile 99" "--weights int4 --per-tensor" "--weights int4 --method mse"; do
  expect 2 "no effect with" "$nnex" quantize "$decoder" -o "$scratch/no.onnx" $words
done
expect 0 "this process may use" "$nnex" env --measure --threads 9999
# Where numbers of inputs decide extents, a run makes the plan that is explained.
cat > "$scratch/kept.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float[N,4] x, int64 limit) => (float[M,4] y) <int64[1] zero = {0}, int64[1] one = {1}> {
  end = Reshape (limit, one) k = Slice (x, zero, end, zero) y = Neg (k)
}
TXT
expect 0 "1  map_f32" "$nnex" why "$scratch/kept.onnxtxt" --set N=3
lacks "unknown until" "$nnex" why "$scratch/kept.onnxtxt" --set N=3
expect 0 "unknown until extents are numbers" "$nnex" why "$scratch/kept.onnxtxt"
extents="--set batch=1 --set seq=1 --set total=3 --set past=2"
# The same extents on both sides, and those alone that the second has.
expect 0 "same" "$nnex" compare "$decoder" "$decoder" --random $extents --atol 0 --rtol 0
expect 0 "" "$nnex" set-shape "$decoder" ids=[1,1] mask=[1,3] h_in=[1,2,2] -o "$scratch/fixed.onnx"
expect 0 "same" "$nnex" compare "$decoder" "$scratch/fixed.onnx" --random $extents
# A lookup reads what it takes, not its table.
cat > "$scratch/table.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (int64[4] ids) => (float[4,2] y) <int64[2] size = {100000, 2}> { w = ConstantOfShape (size) y = Gather (w, ids) }
TXT
python3 - "$nnex" "$scratch/table.onnxtxt" <<'PY' || bad=1
import json, subprocess, sys
nodes = json.loads(subprocess.run([sys.argv[1], 'profile', sys.argv[2], '--random', '--seconds', '0.05', '--json'], capture_output=True).stdout)['nodes']
if [n['bytes'] for n in nodes if n['op'] == 'gather'] != [4 * 8 + 2 * 4 * 8]: sys.exit('  bytes of a lookup: %s' % nodes)
PY
expect 0 "same" "$nnex" compare "$scratch/table.onnxtxt" "$scratch/table.onnxtxt" --random --set-shape ids=[6]
# Elements that NumPy lacks.
cat > "$scratch/brain.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (bfloat16[2] x) => (bfloat16[2] y) { y = Neg (x) }
TXT
expect 4 "NumPy has no element type bf16; save 'y' as .pb or .json; --cast saves it as f32" "$nnex" run "$scratch/brain.onnxtxt" --random --save "$scratch/y.npy"
expect 0 "y: bf16[2]" "$nnex" run "$scratch/brain.onnxtxt" --random --cast --save y="$scratch/y.npy" --save "$scratch/all.npz"
grep -q "'<f4'" "$scratch/y.npy" && grep -q "'<f4'" "$scratch/all.npz" || { echo "  a bfloat16 output is no float32 in a file"; bad=1; }
mkdir "$scratch/items"; cp "$scratch/y.npy" "$scratch/items/a.npy"
expect 2 "needed --format json, or --cast for a wider one" "$nnex" batch "$scratch/brain.onnxtxt" --input "$scratch/items" --output "$scratch/answers"
expect 0 "1 done" "$nnex" batch "$scratch/brain.onnxtxt" --input "$scratch/items" --output "$scratch/answers" --cast
# Where halves are widened, each node's time is of a node of the file.
cat > "$scratch/halves.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (float16[N,512] x, int64[4] other) => (float16[N,512] y, int64[1] n) <int64[2] size = {512, 512}> {
  n = Shape <start = 0, end = 1> (other)
  a = ConstantOfShape <value = float16[1] {1}> (size)
  p = MatMul (x, a)
  q = Sigmoid (p)
  r = MatMul (q, a)
  y = Softmax (r)
}
TXT
expect 0 '"nnex.profile/1"' "$nnex" profile "$scratch/halves.onnxtxt" --random --seconds 0.05 --json
"$nnex" profile "$scratch/halves.onnxtxt" --random --seconds 0.05 --json > "$scratch/times.json"
lacks "of no node" "$nnex" view "$scratch/halves.onnxtxt" --profile "$scratch/times.json" -o "$scratch/view.html"
! grep -q "Shape.*MatMul" "$scratch/times.json" || { echo "  a product is said to be of another node, too"; bad=1; }
# Operators that are read as others.
expect 0 "GroupQueryAttention: an operator of com.microsoft, read as operators of the table" "$nnex" ops GroupQueryAttention
expect 0 '"domain": "com.microsoft"' "$nnex" ops MatMulNBits --json
expect 0 "attention: " "$nnex" ops Attention
expect 2 "no operator is called 'MatMulNBitz' (did you mean 'MatMulNBits'?)" "$nnex" ops MatMulNBitz
exit $bad
