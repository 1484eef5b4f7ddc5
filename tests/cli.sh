#!/usr/bin/env bash
# cli.sh NNEX: exit codes and messages of the command line, as a user meets them.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
model=$(dirname "$0")/../models/shapes/model.onnx
expect 0 "sound" "$nnex" check "$model"
expect 0 "picture" "$nnex" inspect "$model"
expect 0 '"nnex.inspect/1"' "$nnex" inspect "$model" --json
expect 0 "probabilities" "$nnex" run "$model" --random
expect 2 "input 'picture' is missing" "$nnex" run "$model"
expect 2 "no input 'image'" "$nnex" run "$model" --input image=x.npy
expect 2 "" "$nnex" run
expect 3 "the limit is 1 MiB" "$nnex" run "$model" --random --set N=4000 --memory-limit 1
expect 2 "found '-1'; needed a whole number of at least 0" "$nnex" run "$model" --random --topk -1
expect 2 "found 'two'; needed a whole number of at least 0" "$nnex" run "$model" --random --threads two
expect 2 "found 'nan'; needed a number above 0" "$nnex" bench "$model" --seconds nan
expect 2 "no verb 'chek' (did you mean 'check'?)" "$nnex" chek "$model"
expect 3 "sound" "$nnex" check "$model" nowhere.onnx
expect 0 "symbols N" "$nnex" inspect "$model"
expect 3 "cannot open" "$nnex" run nowhere.onnx --random
echo "[[1,2],[3,4]]" > "$scratch/wrong.json"
expect 2 "needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/wrong.json"
head -c 5000 "$model" > "$scratch/cut.onnx"
expect 3 "length runs past the end" "$nnex" run "$scratch/cut.onnx" --random
expect 1 "length runs past the end" "$nnex" check "$scratch/cut.onnx"
expect 3 "not an ONNX model, or cut off" "$nnex" inspect "$scratch/cut.onnx"
expect 0 "median_ms" "$nnex" bench "$model" --seconds 0.1 --json
# Compiled models in files: the second start takes the same answers from there.
cp "$model" "$scratch/kept.onnx"; touch -d '1 hour ago' "$scratch/kept.onnx"
plain=$("$nnex" run "$scratch/kept.onnx" --random --hash)
for start in first second; do
  [ "$("$nnex" run "$scratch/kept.onnx" --random --hash --cache "$scratch/cache/models" 2>&1)" = "$plain" ] || { echo "  --cache, $start start: other answers"; bad=1; }
done
[ "$(ls "$scratch/cache/models" | wc -l)" = 1 ] || { echo "  --cache: found $(ls "$scratch/cache/models")"; bad=1; }
expect 0 "the model is not kept: cannot make" "$nnex" bench "$scratch/kept.onnx" --random --seconds 0.1 --cache "$scratch/kept.onnx"
# A link there is nobody's model: what it leads to stays as it is.
kept=$(ls "$scratch/cache/models"); rm "$scratch/cache/models/$kept"; echo precious > "$scratch/victim"
for to in victim made; do
  ln -sf "../../$to" "$scratch/cache/models/$kept"
  expect 0 "is no regular file" "$nnex" run "$scratch/kept.onnx" --random --cache "$scratch/cache/models"
done
[ "$(cat "$scratch/victim")" = precious ] && [ ! -e "$scratch/made" ] || { echo "  --cache wrote through a link"; bad=1; }
touch "$scratch/kept.onnx"
expect 0 "had been written just before" "$nnex" run "$scratch/kept.onnx" --random --cache "$scratch/other"
# A state that is carried: h_out goes back into h_in, by name or because it looks so.
cat >"$scratch/recurrent.nnef" <<'END'
version 1.0;
graph g(x, h_in) -> (y, h_out) {
  x = external(shape = [1, 4]); h_in = external(shape = [1, 4]);
  h_out = add(x, h_in); y = mul(h_out, 2.0);
}
END
expect 0 "1 carried" "$nnex" bench "$scratch/recurrent.nnef" --decode 4
expect 0 "4 tokens after it" "$nnex" bench "$scratch/recurrent.nnef" --decode 4 --carry h_out=h_in
expect 0 "y: f32[1,4]" "$nnex" run "$scratch/recurrent.nnef" --random --carry likely
! "$nnex" run "$scratch/recurrent.nnef" --random --carry likely | grep -q h_out || { echo "  a carried output is printed"; bad=1; }
expect 2 "needed OUTPUT=INPUT or likely" "$nnex" bench "$scratch/recurrent.nnef" --decode 4 --carry h_out
expect 2 "h_out" "$nnex" run "$scratch/recurrent.nnef" --random --carry h_oot=h_in
expect 2 "no output and input of one type" "$nnex" bench "$model" --decode 4 --random
# What takes long says so on a terminal, and where it is told to; else not.
told=$(NNEX_PROGRESS=always "$nnex" compare "$model" --command 'sleep 1.7' 2>&1 >/dev/null)
grep -q 'comparing \.\.\. 1 s' <<<"$told" || { echo "  no line while it waits: $told"; bad=1; }
! grep -q $'[\r\x1b]' <<<"$told" || { echo "  a log has what terminals write over"; bad=1; }
told=$(NNEX_PROGRESS=always "$nnex" bench "$model" --random --seconds 1.2 2>&1 >/dev/null)
grep -qx 'timing \.\.\. 1 s' <<<"$told" || { echo "  no line while it times: $told"; bad=1; }
told=$("$nnex" compare "$model" --command 'sleep 1.3' 2>&1 >/dev/null)
! grep -q 'comparing \.\.\.' <<<"$told" || { echo "  a line of progress in a log: $told"; bad=1; }
# What a model is like, and why.
expect 0 "says all of it" "$nnex" why "$model"
expect 0 "for inputs of any size" "$nnex" why "$model" probabilities
expect 2 "meant 'probabilities'?" "$nnex" why "$model" probabilitys
expect 2 "meant 'probabilities'?" "$nnex" why "$model" probabilitys --json
cat > "$scratch/named.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,16] x, bool c) => (float[1,8] y, float[1,1,16] z) <int64[2] s = {1, 8}> {
  [pool] p = MaxPool <kernel_shape = [2], strides = [2]> (x)
  [flat] y = Reshape (p, s)
  z = If (c) <then_branch = yes () => (float[1,1,16] a) { [inner] a = Neg (x) }, else_branch = no () => (float[1,1,16] b) { b = Abs (x) }>
}
TXT
expect 0 "p  f32[1,1,8]  of node 'pool' (MaxPool)" "$nnex" why "$scratch/named.onnxtxt" pool
expect 0 "a  f32[1,1,16]" "$nnex" why "$scratch/named.onnxtxt" inner
expect 2 "meant 'pool'?" "$nnex" why "$scratch/named.onnxtxt" pol
expect 0 "x.2 may be 16 or 17, but not 32, for" "$nnex" why "$scratch/named.onnxtxt"
[ "$("$nnex" why "$scratch/named.onnxtxt" pool --json | grep -c '"value"')" = 1 ] || { echo "  why --json NAME: not that name alone"; bad=1; }
# A small vocabulary.
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (int64[1,seq] ids, float[1,2] h_in) => (float[1,seq,2] y, float[1,2] h_out) <float[3,2] w = {1,2,3,4,5,6}> { y = Gather (w, ids) h_out = Neg (h_in) }\n' > "$scratch/vocabulary.onnxtxt"
expect 0 "tokens after it" "$nnex" bench "$scratch/vocabulary.onnxtxt" --decode 3 --prompt 8
expect 3 "absent-broken.onnx" "$nnex" why "$scratch/absent-broken.onnx"
expect 0 "Conv" "$nnex" profile "$model" --seconds 0.1
expect 0 "conv_f32 " "$nnex" profile "$model" --seconds 0.1 --by kernel
expect 0 " more node" "$nnex" profile "$model" --seconds 0.1 --top 1
expect 2 "needed a whole number of at least 0" "$nnex" profile "$model" --top -1
expect 0 '"kernels": [' "$nnex" profile "$model" --seconds 0.1 --json --by kernel --top 2
expect 2 "found '-3'; needed a whole number of at least 0" "$nnex" run "$model" --random --seed -3
expect 2 "needed a file" "$nnex" profile "$model" --seconds 0.1 --trace -
expect 2 "out is required" "$nnex" convert "$model"
expect 2 "found two outputs" "$nnex" convert "$model" "$scratch/a.onnx" -o "$scratch/b.onnx"
expect 0 "nodes" "$nnex" convert "$model" -o "$scratch/by-option.onnx"
expect 0 "softmax" "$nnex" ops
expect 0 "mean_reduce" "$nnex" ops --used-by "$model"
expect 3 "nowhere.onnx" "$nnex" ops --used-by nowhere.onnx
expect 0 "mean_reduce" "$nnex" ops --met-by "$model"
expect 0 "Conv" "$nnex" ops --named-by "$model"
echo '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[2] x) => (float[2] y)
  { y = com.microsoft.QuickGelu<alhpa: float = 0.5>(x) }' >"$scratch/quick.onnxtxt"
expect 1 "attribute 'alhpa': QuickGelu: it has no attribute 'alhpa'" "$nnex" check "$scratch/quick.onnxtxt"
expect 3 "QuickGelu: it has no attribute 'alhpa'" "$nnex" run "$scratch/quick.onnxtxt" --random
echo '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[1,1,2,2] x) => (float[1,1,2,2] y)
  <float[1,1,1,1] w = {1}> { y = com.microsoft.FusedConv(x, w) }' >"$scratch/fused.onnxtxt"
[ "$("$nnex" ops --named-by "$scratch/fused.onnxtxt" | tr '\n' ' ')" = "Conv FusedConv " ] || { echo "  ops --named-by has not by what FusedConv is read"; bad=1; }
expect 0 "fuse_products" "$nnex" ops --passes-of "$model"
expect 0 "f32" "$nnex" ops --types-of "$model"
expect 0 "threads" "$nnex" env
if "$nnex" serve 2>&1 | grep -q libevent; then
  expect 4 "this build has no server" "$nnex" serve "$model"
else
  expect 2 "needed a model" "$nnex" serve
  expect 2 "needed NAME=PATH" "$nnex" serve --model "$model"
  expect 3 "nowhere.onnx" "$nnex" serve nowhere.onnx
fi
expect 2 "no symbol 'M'" "$nnex" run "$model" --random --set M=2
expect 0 "f32[2,8]" "$nnex" run "$model" --random --set N=2
# A tensor file out and in again; the model as NNEF in every form, with the same answers.
expect 0 "probabilities" "$nnex" run "$model" --random --save "$scratch/out.dat"
expect 2 "found f32[1,8]; needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/out.dat"
expect 2 "needs numbers for extents; --set SYMBOL=N fixes them" "$nnex" convert "$model" "$scratch/nnef"
for form in nnef nnef.tar nnef.tgz; do
  expect 0 "variables" "$nnex" convert "$model" "$scratch/$form" --set N=1
  expect 0 "probabilities" "$nnex" run "$scratch/$form" --random --save "$scratch/again.dat" --force
done
expect 2 "is not empty" "$nnex" convert "$model" "$scratch/nnef" --set N=1
expect 0 "variables" "$nnex" convert "$model" "$scratch/nnef" --set N=1 --force
# The model as a builder program of WebNN and as a module: the same answers, the same calls.
expect 0 "number for number" "$nnex" convert "$model" "$scratch/m.onnxtxt"  # the textual syntax, there and back
expect 0 "ir_version: 8" "$nnex" convert "$scratch/m.onnxtxt" - --to onnxtxt
expect 0 "probabilities" "$nnex" run - --random <"$scratch/m.onnxtxt"
cat >"$scratch/default.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] b = {1, 2}) => (float[2] y) { y = Add (x, b) }
TXT
expect 0 "default b" "$nnex" inspect "$scratch/default.onnxtxt"
expect 2 "input 'b' has a default in the file" "$nnex" run "$scratch/default.onnxtxt" --random -i b=any.npy
expect 0 "note: left out, as a network has no place for it: input 'b'" "$nnex" fold "$scratch/default.onnxtxt" -o "$scratch/folded.onnx"
cat >"$scratch/told.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17], domain: "org.x", model_version: 7, doc_string: "of it", metadata_props: ["author" : "A", "license" : "MIT"]>
g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }
TXT
expect 0 "note: left out, as WebNN has no place for it: properties 'author' 'license', documentation of the model, the domain 'org.x', the model's version, 7" "$nnex" convert "$scratch/told.onnxtxt" "$scratch/told.webnn"
expect 0 "note: left out, as NNEF has no place for it: documentation of the model, the domain" "$nnex" convert "$scratch/told.onnxtxt" "$scratch/told.nnef"
lacks "left out" "$nnex" convert "$scratch/told.onnxtxt" "$scratch/told.onnx"
sed 's/Add (x, b)/my.Foo <k: int = 3> (x)/; s/17]/17, "my" : 1]/' "$scratch/default.onnxtxt" >"$scratch/foo.onnxtxt"
expect 0 "the same as" "$nnex" convert "$scratch/foo.onnxtxt" "$scratch/foo2.onnxtxt"  # nobody can run it
sed 's/Relu/Re lu/' "$scratch/m.onnxtxt" >"$scratch/broken.onnxtxt"
expect 1 "column" "$nnex" check "$scratch/broken.onnxtxt"
sed 's/y = Add (x, b)/a = Add (x, y) y = Relu (a)/' "$scratch/default.onnxtxt" >"$scratch/cycle.onnxtxt"
expect 3 "input 'y' is made by a node behind it" "$nnex" run "$scratch/cycle.onnxtxt" --random
expect 2 "the ending '.xyz' says no standard; known are .onnx" "$nnex" convert "$model" "$scratch/m.xyz" --set N=1
expect 0 "variables" "$nnex" convert "$model" "$scratch/m.xyz" --set N=1 --to nnef
expect 0 "variables" "$nnex" convert "$model" "$scratch/m-1.0" --set N=1
expect 0 "f32[3,8]" "$nnex" dump "$model" --set N=3 --optimized
expect 0 "f32[3,8]" "$nnex" inspect --set N=3 "$model"
expect 0 "activations depend on extents" "$nnex" inspect "$model"
expect 0 "activations 48 bytes at once" "$nnex" inspect - << 'ONNX'
<ir_version: 8, opset_import: ["": 17]>
g (float[2,3] x) => (float[3] y) { a = Relu(x)  y = ReduceMax<axes = [0], keepdims = 0>(a) }
ONNX
expect 2 "needs numbers for extents; --set SYMBOL=N fixes them" "$nnex" convert "$model" "$scratch/m.webnn"
expect 2 "needed a name in .webnn, .mjs or .js" "$nnex" convert "$model" "$scratch/m" --set N=1 --to webnn
expect 0 "operations" "$nnex" convert "$model" "$scratch/m.webnn" --set N=1
expect 0 "operations" "$nnex" convert "$model" "$scratch/m.mjs" --set N=1
mkdir "$scratch/script"
expect 0 "operations" "$nnex" convert "$model" "$scratch/script/m.js" --set N=1
expect 0 "sound" "$nnex" check "$scratch/m.webnn"
expect 0 "picture" "$nnex" inspect "$scratch/m.webnn"
expect 0 "probabilities" "$nnex" run "$scratch/m.webnn" --random --save "$scratch/program.dat"
expect 0 "operations" "$nnex" convert "$scratch/m.webnn" "$scratch/again.webnn"
expect 0 "" cmp "$scratch/m.weights" "$scratch/again.weights"
if command -v node >/dev/null; then
  for written in "$scratch/m.mjs" "$scratch/script/m.js"; do
    expect 0 "the module says what the program says" node "$(dirname "$0")/webnn_module.mjs" "$written" "$scratch/m.webnn"
  done
fi
# A form by its word, where no ending or another would say it.
"$nnex" convert "$model" - --to tgz --set N=1 > "$scratch/piped.tgz" && expect 0 "graph.nnef" tar tzf "$scratch/piped.tgz"
expect 0 '"format": "webnn"' "$nnex" convert "$model" "$scratch/word.mjs" --to mjs --set N=1 --json
expect 2 "needed a name in .tgz or .tar.gz" "$nnex" convert "$model" "$scratch/word.nnef" --to tgz --set N=1
expect 2 "needed a name in .js" "$nnex" convert "$model" "$scratch/word.webnn" --to js --set N=1
# The model as ONNX again, from every form it has by now; its tensors in a file of their own.
expect 0 "opset" "$nnex" convert "$model" "$scratch/m.onnx"
expect 2 "exists" "$nnex" convert "$model" "$scratch/m.onnx"
expect 0 "data in m.onnx.data" "$nnex" convert "$model" "$scratch/m.onnx" --external-data --force
expect 0 "probabilities" "$nnex" run "$scratch/m.onnx" --random --save "$scratch/onnx.dat"
expect 0 "opset" "$nnex" convert "$scratch/nnef.tgz" "$scratch/from_nnef.onnx"
expect 0 "probabilities" "$nnex" run "$scratch/from_nnef.onnx" --random
expect 0 "opset" "$nnex" convert "$scratch/m.webnn" "$scratch/from_webnn.onnx"
# What is written is run beside its source first, and a certificate says what was found.
expect 0 "m.sure.onnx: answers as $model in 3 runs, number for number" "$nnex" convert "$model" "$scratch/m.sure.onnx" --opset 17 --certificate "$scratch/sure.json"
grep -q '"operators": {' "$scratch/sure.json" && grep -q '"verdict": "same"' "$scratch/sure.json" && grep -q '"name": "odd extents"' "$scratch/sure.json" || { echo "  no verdict in the certificate"; bad=1; }
[ "$(grep -o '"sha256": "[0-9a-f]*"' "$scratch/sure.json" | sed -n 2p | cut -d'"' -f4)" = "$(sha256sum <"$scratch/m.sure.onnx" | cut -d' ' -f1)" ] || { echo "  the certificate has another hash of what was written"; bad=1; }
expect 0 "data in m.apart.onnx.data" "$nnex" convert "$model" "$scratch/m.apart.onnx" --external-data
expect 0 "data in m.apart.onnx.data" "$nnex" inspect "$scratch/m.apart.onnx"
expect 0 "" "$nnex" convert "$scratch/m.apart.onnx" "$scratch/m.whole.onnx" --certificate "$scratch/apart.json"
grep -q "$(sha256sum <"$scratch/m.apart.onnx.data" | cut -d' ' -f1)" "$scratch/apart.json" || { echo "  the certificate has no hash of the source's other file"; bad=1; }
grep -q '"verdict": "identical"' "$scratch/apart.json" || { echo "  a copy is not said to be one"; bad=1; }
expect 0 "the same as $model, field by field and byte by byte of its tensors" "$nnex" convert "$model" "$scratch/m.same.onnx"
cmp -s "$model" "$scratch/m.same.onnx" || { echo "  a copy has other bytes"; bad=1; }
expect 3 "no folder" "$nnex" convert "$model" "$scratch/m.unsure.onnx" --certificate "$scratch/nowhere/sure.json"
[ ! -e "$scratch/m.unsure.onnx" ] || { echo "  a model without the certificate that was asked for"; bad=1; }
expect 2 "sure.json' exists" "$nnex" convert "$model" "$scratch/m.unsure.onnx" --certificate "$scratch/sure.json"
"$nnex" convert "$model" "$scratch/m.unsure.onnx" --no-verify | grep -q "answers as" && { echo "  --no-verify runs"; bad=1; }
printf 'version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2]); y = add(x, 1.0); }\n' > "$scratch/plain.nnef"
ls -A "$scratch" > "$scratch/before"; expect 0 "in 2 runs" "$nnex" convert "$scratch/plain.nnef" "$scratch/plain.webnn"; rm "$scratch/plain.webnn"
ls -A "$scratch" | grep -vx before | diff - <(grep -vx before "$scratch/before") || { echo "  a proof leaves something behind"; bad=1; }
# Bytes are resized to the same bytes on every instruction set: three times as many, where sums end halfway between two.
cat > "$scratch/resize.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 18]>
g (uint8[1,3,37,53] x) => (uint8[1,3,148,159] y) <int64[4] sizes = {1, 3, 148, 159}> { y = Resize <mode = "linear"> (x, , , sizes) }
TXT
python3 - "$scratch/bytes.npy" <<'PY'
import sys
head = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3, 37, 53), }\n".encode()
with open(sys.argv[1], 'wb') as file:
    file.write(b'\x93NUMPY\x01\x00' + len(head).to_bytes(2, 'little') + head + bytes(i * i * 7 % 251 for i in range(3 * 37 * 53)))
PY
for isa in scalar sse4 avx2 avx512; do NNEX_ISA=$isa "$nnex" run "$scratch/resize.onnxtxt" -i "$scratch/bytes.npy" --exact 2>/dev/null | grep sha256; done | sort -u > "$scratch/resized"
[ "$(grep -c sha256 "$scratch/resized")" = 1 ] || { echo "  bytes resized otherwise on other instruction sets"; bad=1; }
# Floats whose products and sums are rounded one by one are the same bytes everywhere; fused ones are others.
if grep -q avx2 /proc/cpuinfo; then
  for isa in scalar sse4 avx2; do NNEX_ISA=$isa "$nnex" run "$model" --random --set N=3 --hash --portable | grep -o 'sha256 .*'; done | sort -u > "$scratch/portable"
  [ "$(wc -l < "$scratch/portable")" = 1 ] || { echo "  portable floats differ on other instruction sets"; bad=1; }
  NNEX_ISA=avx2 "$nnex" run "$model" --random --set N=3 --hash | grep -o 'sha256 .*' | cmp -s - "$scratch/portable" && { echo "  --portable changes nothing"; bad=1; }
fi
# Models come from standard input and go to standard output.
expect 0 "sound" "$nnex" check - < "$model"
expect 0 "symbols N" "$nnex" inspect - < "$model"
expect 0 "same" "$nnex" compare - "$scratch/m.sure.onnx" < "$model"
"$nnex" quantize - -o - --weights int4 < "$model" | "$nnex" check - | grep -qx -- "-: sound" || { echo "  no model of 4 bits through pipes"; bad=1; }
expect 2 "needed a folder" "$nnex" quantize - -o - --to cvm --calibrate "$(dirname "$model")" < "$model"
"$nnex" convert - - --to onnx < "$model" | cmp - "$scratch/m.same.onnx" || { echo "  another model through pipes"; bad=1; }
"$nnex" convert "$model" - --to nnef --set N=1 | "$nnex" check - >/dev/null || { echo "  no archive through a pipe"; bad=1; }
"$nnex" simplify - -o - < "$model" | "$nnex" check - >/dev/null || { echo "  no edit through pipes"; bad=1; }
expect 2 "needed --to" "$nnex" convert "$model" -
expect 2 "several files" "$nnex" convert "$model" - --to onnx --external-data
expect 3 "standard input is empty" "$nnex" check - < /dev/null
"$nnex" convert "$model" "$scratch/apart.onnx" --external-data >/dev/null
expect 3 "; a path in place of a pipe names its folder" "$nnex" inspect - < "$scratch/apart.onnx"
expect 0 "probabilities" "$nnex" run "$scratch/from_webnn.onnx" --random
mkdir "$scratch/alone" && cp "$scratch/m.webnn" "$scratch/alone/"
expect 3 "there is no 'm.weights' beside it" "$nnex" run "$scratch/alone/m.webnn" --random
expect 0 "batchNormalization" "$nnex" ops --webnn
expect 0 "stride: strides" "$nnex" ops Conv
expect 0 '"default": "1"' "$nnex" ops conv --json
expect 2 "no operator is called 'convolve'" "$nnex" ops convolve
expect 2 "no operator is called 'Relo' (did you mean 'Relu'?); \`nnex ops\` lists them" "$nnex" ops Relo
expect 0 '"maxTensorByteLength": 2147483647' "$nnex" ops --webnn --json
# NNEF documents: with their fragments or without, states, and what the standard has no words for.
mkdir -p "$scratch/kept"
cat > "$scratch/kept/graph.nnef" <<'NNEF'
version 1.0;
extension KHR_enable_fragment_definitions, KHR_enable_operator_expressions;
fragment twice(x: tensor<scalar>, by: scalar = 2.0) -> (y: tensor<scalar>) { y = x * by; }
graph net(x) -> (y) {
  x = external(shape = [2]);
  y = twice(x) + 1.0;
}
NNEF
expect 0 "0 variables" "$nnex" convert "$scratch/kept" "$scratch/flat"
expect 0 "f32[3]" "$nnex" dump "$scratch/kept" --set-shape x=[3]
expect 0 "= add(t, 1.0)" cat "$scratch/flat/graph.nnef"
expect 0 "0 variables" "$nnex" convert "$scratch/kept" "$scratch/whole" --keep-fragments
expect 0 "fragment twice" cat "$scratch/whole/graph.nnef"
expect 0 "y: f32[2]" "$nnex" run "$scratch/whole" --random
expect 2 "fragments cannot be kept" "$nnex" convert "$scratch/kept" "$scratch/other" --keep-fragments --set-shape x=[3]
mkdir -p "$scratch/counter"
printf '%s\n' 'version 1.0;' 'graph counter(x) -> (y) {' ' x = external(shape = [2]);' \
  " c = variable(shape = [2], label = 'c');" ' y = add(c, x);' ' n = update(c, y);' '}' > "$scratch/counter/graph.nnef"
expect 0 "output y" "$nnex" run "$scratch/counter" --random --seed-weights 1 --hash-layers
expect 0 "add" "$nnex" run "$scratch/counter" --random --seed-weights 1 --hash-layers
expect 0 "none of the 1 variables has its tensor file" "$nnex" check "$scratch/counter"
expect 0 "state   c  f32[2]" "$nnex" inspect "$scratch/counter"
expect 3 "--seed-weights" "$nnex" run "$scratch/counter" --random
expect 2 "no external 'nobody' to give a shape" "$nnex" check "$scratch/counter" --set-shape nobody=[3]
printf '%s\n' "'z': linear_quantize(min = 0.0, max = 1.0, bits = 8);" > "$scratch/counter/graph.quant"
expect 1 "graph.quant:1:1: Q2" "$nnex" check "$scratch/counter"
sed 's/add(c/add(cc/' "$scratch/counter/graph.nnef" > "$scratch/typo.nnef"
expect 1 "did you mean 'c'" "$nnex" check "$scratch/typo.nnef"
expect 0 "sound" "$nnex" check "$scratch/nnef.tgz"
head -c 2000 "$scratch/nnef.tgz" > "$scratch/cut.tgz"
expect 3 "gzip is cut short" "$nnex" check "$scratch/cut.tgz"
mkdir -p "$scratch/links" && cp "$scratch/kept/graph.nnef" "$scratch/links" && ln -s graph.nnef "$scratch/links/other"
tar -C "$scratch/links" -cf "$scratch/links.tar" graph.nnef other
expect 3 "is a link" "$nnex" check "$scratch/links.tar"
expect 0 "source.nnef" "$nnex" format --grammar
expect 2 "it takes nothing beside" "$nnex" format --grammar "$scratch/kept/graph.nnef"
expect 2 "needed the text" "$nnex" format
# NumPy archives: written by one run, read by the next, and what is wrong with them said.
expect 0 "probabilities" "$nnex" run "$model" --random --save "$scratch/out.npz" --save "$scratch/out.npy"
expect 0 "probabilities.npy" python3 -m zipfile -l "$scratch/out.npz"
expect 2 "no input 'probabilities'" "$nnex" run "$model" --input "$scratch/out.npz"
expect 2 "found f32[1,8]; needed f32[N,3,32,32]" "$nnex" run "$model" --input "picture=$scratch/out.npz"
expect 2 "found f32[1,8]; needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/out.npy"
expect 3 "cannot open" "$nnex" run "$model" --input "$scratch/none.npz"
head -c 100 "$scratch/out.npz" > "$scratch/cut.npz"
expect 3 "while reading" "$nnex" run "$model" --input "picture=$scratch/cut.npz"
head -c 70 "$scratch/out.npy" > "$scratch/cut.npy"
expect 3 "not a .npy file" "$nnex" run "$model" --input "$scratch/cut.npy"
python3 - "$scratch" <<'PY'
import struct, sys, zipfile
def npy(descr, shape, data, columns=False):
    header = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, columns, shape)).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
pixels = struct.pack("<3072f", *[i % 7 / 7 for i in range(3072)])
with zipfile.ZipFile(sys.argv[1] + "/in.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("picture.npy", npy("<f4", (1, 3, 32, 32), pixels))
open(sys.argv[1] + "/in.npy", "wb").write(npy("<f4", (1, 3, 32, 32), pixels))
by_columns = [0.0] * 3072
for c in range(3):
    for y in range(32):
        for x in range(32):
            by_columns[c + 3 * (y + 32 * x)] = ((c * 32 + y) * 32 + x) % 7 / 7
open(sys.argv[1] + "/columns.npy", "wb").write(npy("<f4", (1, 3, 32, 32), struct.pack("<3072f", *by_columns), True))
open(sys.argv[1] + "/type.npy", "wb").write(npy("<i4", (1, 3, 32, 32), pixels))
open(sys.argv[1] + "/empty.npy", "wb").write(npy("<f4", (1 << 40, 0, 1 << 40), b"", True))
open(sys.argv[1] + "/big.npy", "wb").write(npy("<f4", (1 << 40, 1 << 40), pixels))
PY
for kind in in.npz in.npy columns.npy; do
  expect 0 "probabilities" "$nnex" run "$model" --input "$scratch/$kind" --save "$scratch/$kind.json"
done
expect 0 "" cmp "$scratch/in.npz.json" "$scratch/in.npy.json"
expect 0 "" cmp "$scratch/in.npz.json" "$scratch/columns.npy.json"
expect 2 "found i32[1,3,32,32]; needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/type.npy"
expect 2 "found f32[1099511627776,0,1099511627776]; needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/empty.npy"
expect 3 "its data end before shape [1099511627776,1099511627776] is filled" "$nnex" run "$model" --input "$scratch/big.npy"
expect 0 "f32[3,8]" "$nnex" run "$model" --random --set picture.0=3
expect 2 "no symbol 'picture.1'; the inputs have: N" "$nnex" run "$model" --random --set picture.1=3
expect 2 "needed SYMBOL=N" "$nnex" run "$model" --random --set N=x
expect 2 "found f32[1,3,32,32]; needed f32[2,3,32,32]" "$nnex" run "$model" --input "$scratch/in.npy" --set N=2
# What is in the graph can be saved, too; pictures' options are for pictures; labels are for what is shown.
expect 0 "conv_0: f32[1,16,32,32]" "$nnex" run "$model" --random --save conv_0="$scratch/inner.npy"
expect 0 "f32" "$nnex" run "$model" --random --set N=2 --save conv_0="$scratch/inner2.npy" --save probabilities="$scratch/outer2.npy"
[ "$(head -c 6 "$scratch/inner2.npy" | tail -c 5)" = NUMPY ] || { echo "  no inner tensor"; bad=1; }
expect 2 "no output or tensor 'conv_o' (did you mean 'conv_" "$nnex" run "$model" --random --save conv_o="$scratch/o.npy"
printf 'P6 2 2 255\n123456789abc' >"$scratch/p.ppm"
expect 0 "probabilities" "$nnex" run "$model" -i "$scratch/p.ppm" --mean 0.5 --scale 0.5,0.4,0.3
expect 2 "found 2 numbers of mean; needed 1, or 3 for the input's channels" "$nnex" run "$model" -i "$scratch/p.ppm" --mean 0.5,0.4
expect 2 "found 4 numbers of scale" "$nnex" run "$model" -i "$scratch/p.ppm" --scale 0.5,0.4,0.4,0.4
expect 2 "found 0 as scale" "$nnex" run "$model" -i "$scratch/p.ppm" --scale 0
cat >"$scratch/bytes.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (uint8[1,3,2,2] x) => (uint8[1,3,2,2] y) { y = Identity (x) }
TXT
expect 2 "mean and scale are of real numbers; the input is u8[1,3,2,2]" "$nnex" run "$scratch/bytes.onnxtxt" -i "$scratch/p.ppm" --mean 0.5
expect 2 "--mean: no input is a picture" "$nnex" bench "$model" --random --mean 0.5 --seconds 0.1
expect 2 "needed both" "$nnex" run "$model" -i "$scratch/p.ppm" --labels "$scratch/p.ppm"
# Stored inputs are those of all the model's inputs, carried ones among them.
cat >"$scratch/three.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] a, float[1,4] h_in, int64[1] c) => (float[1,4] y, float[1,4] h_out) { f = Cast <to = 1> (c) y = Add (a, f) h_out = Add (h_in, y) }
TXT
expect 2 "input 'h_in' is carried from one step to the next: the first has zeros" "$nnex" run "$scratch/three.onnxtxt" --carry likely --random -i h_in=any.npy
mkdir "$scratch/test_data_set_0"
"$nnex" run "$scratch/three.onnxtxt" --random --save y="$scratch/test_data_set_0/input_0.pb" --save h_out="$scratch/test_data_set_0/input_1.pb" -q
python3 -c 'import sys; open(sys.argv[1], "wb").write(b"\x08\x01\x10\x07\x4a\x08\x05" + bytes(7))' "$scratch/test_data_set_0/input_2.pb"
expect 0 "input c  i64[1]  (test_data_set_0)" "$nnex" bench "$scratch/three.onnxtxt" --carry likely --seconds 0.05
expect 0 "y: f32[1,4]" "$nnex" run "$scratch/three.onnxtxt" --carry likely -i "$scratch/test_data_set_0"
# Data beside a folder are another model's; those within are its own.
expect 0 "(random numbers)" "$nnex" bench "$(dirname "$model")/integer" --seconds 0.05
mkdir "$scratch/own" && cp "$scratch/three.onnxtxt" "$scratch/own/model.onnxtxt" && "$nnex" convert "$scratch/own/model.onnxtxt" "$scratch/own/model.onnx" -q && rm "$scratch/own/model.onnxtxt"
expect 0 "(random numbers)" "$nnex" bench "$scratch/own" --seconds 0.05
cp -r "$scratch/test_data_set_0" "$scratch/own"
expect 0 "input c  i64[1]  (test_data_set_0)" "$nnex" bench "$scratch/own" --seconds 0.05
# A state whose extent nobody gave.
cat >"$scratch/open.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x, float[B,4] h) => (float[1,8] y, float[1,4] h_out) { y = Concat <axis = 1> (x, h) h_out = Identity (x) }
TXT
expect 1 "--set h.0=1 gives the state 'h', which begins as f32[0,4], its extent h.0" "$nnex" run "$scratch/open.onnxtxt" --carry likely --random
expect 0 "y: f32[1,8]" "$nnex" run "$scratch/open.onnxtxt" --carry likely --random --set h.0=1
# Settings that a reader makes constants of are no parameters.
cat >"$scratch/pool.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,3,3] x) => (float[1,2,1,1] y) { y = GlobalAveragePool (x) }
TXT
expect 0 "0 parameters" "$nnex" inspect "$scratch/pool.onnxtxt"
expect 0 "64408 parameters" "$nnex" inspect "$model"
# Outputs are looked at before work: the folder must be there, the name must say a standard.
for verb in "quantize --calibrate $scratch/nowhere" simplify; do
  expect 3 "cannot write '$scratch/none/q.onnx': there is no folder '$scratch/none'" "$nnex" ${verb%% *} "$model" -o "$scratch/none/q.onnx" $(cut -d' ' -s -f2- <<<"$verb")
  expect 2 "says no standard" "$nnex" ${verb%% *} "$model" -o "$scratch/q.xyz" $(cut -d' ' -s -f2- <<<"$verb")
done
expect 3 "there is no folder '$scratch/none'" "$nnex" convert "$model" "$scratch/none/o.onnx"
expect 2 "found opset 99; needed one up to" "$nnex" convert "$model" "$scratch/newest.onnx" --opset 99
expect 0 "opset" "$nnex" convert "$model" "$scratch/newest.onnx" --opset 0
# A folder may have a slash behind its name.
expect 0 "variables" "$nnex" convert "$model" "$scratch/slash/" --set N=1
expect 0 "probabilities" "$nnex" run "$scratch/slash/" --random
cat >"$scratch/whole.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g (int32[1,4] x) => (int32[1,4] y) <int32 low = {-127}, int32 high = {127}> { c = Clip (x, low, high) y = Add (c, c) }
TXT
expect 0 "bytes of symbol" "$nnex" convert "$scratch/whole.onnxtxt" "$scratch/cvm/" --to cvm
expect 2 "symbol' exists" "$nnex" convert "$scratch/whole.onnxtxt" "$scratch/cvm/" --to cvm
expect 0 "bytes of symbol" "$nnex" convert "$scratch/whole.onnxtxt" "$scratch/cvm/" --to cvm --force
expect 0 "apart.onnx.data' held the tensors of the model that was replaced" "$nnex" convert "$scratch/m.apart.onnx" "$scratch/m.apart.onnx" --force
# Of several models each fault says whose it is.
expect 1 "$scratch/cut.onnx: not an ONNX model, or cut off: a length runs past the end" "$nnex" check "$scratch/cut.onnx" "$model"
# Another program that fails has a short name.
if command -v node >/dev/null; then
  mkdir -p "$scratch/peer/node_modules/onnxruntime-node"
  echo 'exports.InferenceSession = { create() { throw new Error("not this one"); } };' >"$scratch/peer/node_modules/onnxruntime-node/index.js"
  expect 3 "'onnxruntime-node' ended with exit code 1" env PEER_ORT="$scratch/peer" "$nnex" compare "$model" --against peer
fi
! "$nnex" run "$model" -i nothere.png 2>&1 | grep -q "nothere.png.*nothere.png" || { echo "  a name is said twice"; bad=1; }
# Usage: the reason and where help is, in two lines; what was probably meant.
expect 2 "see \`nnex run --help\`" "$nnex" run
expect 2 "model is required" "$nnex" run
expect 2 "no option '--thread' (did you mean '--threads'?)" "$nnex" run --thread 1
expect 2 "no option '--sett' (did you mean '--set'?)" "$nnex" bench "$model" --sett=1
if [ "$("$nnex" run "$model" --topk two 2>&1 | wc -l)" != 2 ]; then echo "  a usage error of more than two lines"; bad=1; fi
expect 0 "conform" "$nnex" help
expect 0 "--topk" "$nnex" help run
[ "$("$nnex" run --help | grep -o -e "^  --topk" -e "^  --set-shape" | head -n 1)" = "  --topk" ] || { echo "  run's own options are not before those of all models"; bad=1; }
expect 0 "How long to measure [default: 2]" "$nnex" bench --help
for section in ENVIRONMENT FILES EXAMPLES; do expect 0 ".SH $section" "$nnex" help --man; done
expect 0 "standard path" "$nnex" help conform
expect 2 "no verb 'rnu' (did you mean 'run'?)" "$nnex" help rnu
expect 2 "NNEX_ISA is 'avx3'; needed one of scalar, sse4, avx2, avx512, neon, wasm" env NNEX_ISA=avx3 "$nnex" env
# Completions and the manual page: of every verb and option, and no shell or formatter finds fault with them.
for shell in bash zsh fish; do
  expect 0 "expand-compounds" "$nnex" completion $shell
  "$nnex" completion $shell > "$scratch/completion.$shell"
  if command -v $shell >/dev/null; then expect 0 "" $shell -n "$scratch/completion.$shell"; fi
done
expect 2 "tcsh not in {bash,zsh,fish}" "$nnex" completion tcsh
completed() {  # completed "LINE": what bash offers for its last word
  bash -c 'source "$1"; read -ra COMP_WORDS <<<"$2"; [ "${2% }" = "$2" ] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nnex; echo "${COMPREPLY[@]}"' \
    - "$scratch/completion.bash" "$1"
}
expect 0 "profile" completed "nnex pr"
expect 0 "--topk" completed "nnex run --to"
expect 0 "onnx onnxtxt nnef tar tgz webnn mjs js cvm c" completed "nnex convert --to "
expect 0 "standard tract" completed "nnex run --dialect "
expect 0 "quantize" completed "nnex help qu"
expect 0 "'*:word:(run check inspect" cat "$scratch/completion.zsh"
expect 0 "'__fish_seen_subcommand_from help' -f -a 'run check inspect" cat "$scratch/completion.fish"
expect 0 '\fB\-\-topk\fR' "$nnex" help --man
expect 0 '\fB\-\-otlp\fR \fIhttp://HOST:PORT\fR' "$nnex" help --man
for verb in $("$nnex" help nosuch 2>&1 | sed -n 's/.*the verbs are: //p'); do
  expect 0 ".SS \"nnex $verb" "$nnex" help --man
  expect 0 "nnex $verb" grep -rhoE --include=*.md "nnex $verb\b" "$(dirname "$0")/../README.md" "$(dirname "$0")/../docs"
  expect 0 "$verb" grep -rhoE --include=*.sh --include=*.py "nnex\"? $verb\b|NNEX, '$verb'|printed\('$verb'" "$(dirname "$0")"
done
if command -v man >/dev/null; then
  "$nnex" help --man > "$scratch/nnex.1"
  if [ -n "$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -l "$scratch/nnex.1" 2>&1 >/dev/null)" ]; then echo "  the manual page has faults"; bad=1; fi
fi
# conform is a program of its own, which may be absent.
mkdir "$scratch/by_itself" && cp "$nnex" "$scratch/by_itself/nnex"
expect 4 "cannot start nnex-conform: No such file or directory; it comes with the tests: build the target nnex_conform" \
  env PATH=/nosuch "$scratch/by_itself/nnex" conform onnx "$(dirname "$model")"
expect 0 "standard path" env PATH=/nosuch "$scratch/by_itself/nnex" conform --help
expect 0 "passed, 0 failed" env PATH="$(dirname "$(realpath "$nnex")"):$PATH" "$scratch/by_itself/nnex" conform onnx "$(dirname "$model")"
expect 2 "see \`nnex conform --help\`" "$nnex" conform
expect 0 "--through" "$nnex" conform --help
if [ "$("$nnex" --version)" != "nnex $("$nnex" env | sed -n 's/^version *//p')" ]; then echo "  --version and env tell different versions"; bad=1; fi
# Inputs: by name from JSON, from standard input, from a folder, of another type; outputs in the model's order.
mkdir -p "$scratch/two/inputs"
printf '%s\n' 'version 1.0;' 'graph two(x, w) -> (y, z) {' ' x = external(shape = [2,3]);' ' w = external(shape = [1,3]);' \
  ' y = add(x, w);' ' z = div(x, w);' '}' > "$scratch/two/graph.nnef"
echo '{"w": [[0, 1, 2]], "x": [[1, 2, 3], [4, 5, "NaN"]]}' > "$scratch/named.json"
echo '{"v": [[0, 1, 2]]}' > "$scratch/misnamed.json"
expect 0 "y: f32[2,3]" "$nnex" run "$scratch/two" -i "$scratch/named.json" --save "$scratch/y.json" --save "$scratch/z.json"
expect 0 '[[1.0,3.0,5.0],[4.0,6.0,"NaN"]]' cat "$scratch/y.json"
expect 0 '[["Infinity",2.0,1.5],["Infinity",5.0,"NaN"]]' cat "$scratch/z.json"
expect 0 "" "$nnex" run "$scratch/two" -i "$scratch/named.json" --save "z=$scratch/z.npy" --save "y=$scratch/y.npy" --save "$scratch/z2.npy"
expect 0 "" cmp "$scratch/z.npy" "$scratch/z2.npy"
expect 2 "no output is left for it; the model gives 2" "$nnex" run "$scratch/two" --random --save a.npy --save b.npy --save c.npy
expect 2 "found the file twice" "$nnex" run "$scratch/two" --random --save a.npy --save a.npy
expect 2 "no output or tensor 'yy' (did you mean 'y'?); the model has: 'y' 'z'" "$nnex" run "$scratch/two" --random --save yy=a.npy
expect 2 "no input 'v'; the model has: 'x' 'w'" "$nnex" run "$scratch/two" -i "$scratch/misnamed.json"
expect 2 "input 'x' is given twice" "$nnex" run "$scratch/two" -i "x=$scratch/y.npy" -i "x=$scratch/y.json"
echo '{"x": [[1, 2, 3], [4, 5, 6]], "w": [[1, 1, 1]], "w": [[2, 2, 2]]}' > "$scratch/again.json"
expect 3 "'w'" "$nnex" run "$scratch/two" -i "$scratch/again.json"
echo '[[1, 2, 1e39]]' > "$scratch/large.json"
expect 2 'needed a number that f32 holds, or "Infinity"' "$nnex" run "$scratch/two" -i "w=$scratch/large.json" -i "x=$scratch/y.json"
echo '[[1, 2, 1e999]]' > "$scratch/larger.json"
expect 3 "number overflow" "$nnex" run "$scratch/two" -i "w=$scratch/larger.json" -i "x=$scratch/y.json"
! "$nnex" run "$scratch/two" -i "w=$scratch/larger.json" -i "x=$scratch/y.json" 2>&1 | grep -q "json.exception" || { echo "  another library's class in a message"; bad=1; }
expect 2 "input 'x' is missing" "$nnex" run "$scratch/two" -i "w=$scratch/named.json"
printf 'a,b,c\n0,1,2\n3,4,5\n' > "$scratch/rows.csv"
# Numbers beyond what a type holds are no infinities, and no member stands twice.
printf '<ir_version: 8, opset_import: ["": 17]> g (double[2] x) => (double[2] y) { y = Neg (x) }' > "$scratch/doubles.onnxtxt"
printf '1e400,1\n' > "$scratch/beyond.csv"; printf 'inf,-Infinity\n' > "$scratch/ends.csv"
expect 2 "1e400" "$nnex" run "$scratch/doubles.onnxtxt" -i "$scratch/beyond.csv"
expect 0 "-inf inf" "$nnex" run "$scratch/doubles.onnxtxt" -i "$scratch/ends.csv"
program() {
  printf '{"format": "nnex.webnn/1", "name": "n", "inputs": [{"name": "x", "dataType": "float32", "shape": [2]}], "constants": [{"name": "c", "dataType": "%s", "shape": [2], "data": %s}], "operations": [{"op": "add", "args": {"a": "x", "b": "c"}, "results": ["z"]}], "outputs": {"y": "z"}%s}' "$@"
}
program float32 '[1e38, "Infinity"]' '' > "$scratch/held.webnn"; expect 0 "sound" "$nnex" check "$scratch/held.webnn"
program float32 '[1e39, 1]' '' > "$scratch/beyond.webnn"; expect 1 "element 0: found 1e+39; needed a number that f32 holds" "$nnex" check "$scratch/beyond.webnn"
program float32 '[1, 1]' ', "outputs": {"y": "x"}' > "$scratch/twice.webnn"; expect 1 "'outputs' is given twice" "$nnex" check "$scratch/twice.webnn"
printf '0;1;2\n3;4\n' > "$scratch/uneven.csv"
expect 0 "" "$nnex" run "$model" --random --save "$scratch/saved.csv"
expect 0 "inf  " "$nnex" compare "$model" "$scratch/saved.csv" --random
sed -i 's/,[^,]*$/,0.5/' "$scratch/saved.csv"
expect 1 "differs" "$nnex" compare "$model" "$scratch/saved.csv" --random
printf '0,1,2\n3,x,5\n' > "$scratch/word.csv"
printf '0,1\n2,3\n' > "$scratch/narrow.csv"
expect 0 "y: f32[2,3]" "$nnex" run "$scratch/two" -i "x=$scratch/rows.csv" --random
expect 0 "y: f32[2,3]" bash -c "tail -2 '$scratch/rows.csv' | '$nnex' run '$scratch/two' -i x=- --random"
expect 0 "" "$nnex" bench "$scratch/two" -i "x=$scratch/rows.csv" --random --seconds 0.05
expect 3 "uneven.csv: line 2: found 2 cells; needed 3" "$nnex" run "$scratch/two" -i "x=$scratch/uneven.csv" --random
expect 2 "word.csv: line 2, column 2: found 'x'; needed a number" "$nnex" run "$scratch/two" -i "x=$scratch/word.csv" --random
expect 2 "found f32[2,2]; needed f32[2,3]" "$nnex" run "$scratch/two" -i "x=$scratch/narrow.csv" --random
printf '%s\n' 'version 1.0;' 'graph sound(x) -> (y) {' ' x = external<scalar>(shape = [1,4]);' ' y = copy(x);' '}' > "$scratch/sound.nnef"
python3 - "$scratch" <<'PY'
import struct, sys, wave
for name, channels, samples in (("mono", 1, [0, 8192, 16384, -32768]), ("stereo", 2, [0, 1, 2, 3, 4, 5, 6, 7])):
    with wave.open(f"{sys.argv[1]}/{name}.wav", "wb") as w:
        w.setnchannels(channels), w.setsampwidth(2), w.setframerate(16000)
        w.writeframes(struct.pack(f"<{len(samples)}h", *samples))
PY
expect 0 "y: f32[1,4]  0 0.25 0.5 -1" "$nnex" run "$scratch/sound.nnef" -i "$scratch/mono.wav" --sample-rate 16000
expect 0 "0 0.25 0.5 -1" bash -c "cat '$scratch/mono.wav' | '$nnex' run '$scratch/sound.nnef' -i -"
expect 2 "found 16000 samples a second; needed 8000" "$nnex" run "$scratch/sound.nnef" -i "$scratch/mono.wav" --sample-rate 8000
expect 2 "found 2 channels for f32[1,4]" "$nnex" run "$scratch/sound.nnef" -i "$scratch/stereo.wav"
expect 2 "--sample-rate: no input is a .wav file" "$nnex" run "$scratch/sound.nnef" --random --sample-rate 8000
head -c 45 "$scratch/mono.wav" > "$scratch/cut.wav"
expect 3 "cut.wav: not a .wav file: its part 'data' has 1 of 8 bytes" "$nnex" run "$scratch/sound.nnef" -i "$scratch/cut.wav"
expect 0 "y: f32[2,3]" bash -c "cat '$scratch/named.json' | '$nnex' run '$scratch/two' -i -"
expect 0 "y: f32[2,3]" bash -c "cat '$scratch/y.npy' | '$nnex' run '$scratch/two' -i x=- --random"
expect 3 "standard input is empty" "$nnex" run "$scratch/two" -i - < /dev/null
cp "$scratch/y.npy" "$scratch/two/inputs/x.npy"
expect 2 "input 'w' is missing" "$nnex" run "$scratch/two" -i "$scratch/two/inputs"
expect 0 "y: f32[2,3]  " "$nnex" run "$scratch/two" -i "$scratch/two/inputs" --random
expect 2 "the folder has no input" "$nnex" run "$scratch/two" -i "$scratch/kept"
expect 0 "probabilities" "$nnex" run "$model" -i "$(dirname "$model")/test_data_set_0" --save "$scratch/stored.npy"
expect 0 "f32[1,8]" "$nnex" run "$model" -i "$scratch/type.npy" --cast
expect 2 "--cast converts it" "$nnex" run "$model" -i "$scratch/type.npy"
echo "[[1.5, 300]]" > "$scratch/reals.json"
printf '%s\n' 'version 1.0;' 'graph whole(x) -> (y) {' ' x = external<integer>(shape = [1,2]);' ' y = copy(x);' '}' > "$scratch/whole.nnef"
expect 2 "found 1.5; needed a whole number; --cast converts it" "$nnex" run "$scratch/whole.nnef" -i "$scratch/reals.json"
expect 0 "1 300" "$nnex" run "$scratch/whole.nnef" -i "$scratch/reals.json" --cast
# Answers: every row of a batch, values in JSON, statistics of what is large.
expect 0 "row [1]" "$nnex" run "$model" --random --set N=2 --topk 1
expect 0 "... 4 more rows (20 in all)" "$nnex" run "$model" --random --set N=20 --topk 1
"$nnex" run "$model" --random --set N=2 --topk 1 --json > "$scratch/small.json"
"$nnex" run "$model" --random --set N=200 --json > "$scratch/large.json"
python3 - "$scratch" <<'PY' || bad=1
import json, sys
small, large = (json.load(open(f"{sys.argv[1]}/{name}.json"))["outputs"][0] for name in ("small", "large"))
values, top = small["values"], small["top"]
if [len(values), len(values[0])] != [2, 8] or any(abs(sum(row) - 1) > 1e-5 for row in values):
    sys.exit(f"  values of a small output: {values}")
if [t["row"] for t in top] != [[0], [1]] or any(t["value"] != max(values[i]) for i, t in enumerate(top)):
    sys.exit(f"  the largest of each row: {top}")
if "values" in large or large["statistics"]["count"] != 1600 or "--save 'probabilities=FILE.npy'" not in large["hint"]:
    sys.exit(f"  a large output: {large}")
PY
# Timings say what was timed; other inputs than the stored ones; threads there are.
expect 0 "input picture  f32[2,3,32,32]  (random numbers)" "$nnex" bench "$model" --seconds 0.1 --random --set N=2
expect 0 "(test_data_set_0)" "$nnex" profile "$model" --seconds 0.1
expect 2 "--random or -i gives other inputs" "$nnex" bench "$model" --seconds 0.1 --set N=2
expect 0 '"type": "f32[1,3,32,32]"' "$nnex" profile "$model" --seconds 0.1 --json -i "$scratch/in.npy"
expect 0 "this process may use" "$nnex" bench "$model" --seconds 0.1 --threads 9999
threads=$("$nnex" env --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["threads"])')
expect 0 "\"threads\":$threads," "$nnex" bench "$model" --seconds 0.1 --threads 9999 --json
# What takes too long is refused: a run between two nodes, whatever else in the middle.
python3 - "$scratch/loop.onnx" <<'PY'
import sys
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def num(field, n): return varint(field << 3) + varint(n)
def msg(field, *parts):
    body = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body
def value(name, kind, *extents): return msg(1, name) + msg(2, msg(1, num(1, kind) + msg(2, *(msg(1, num(1, e)) for e in extents))))
def node(op, ins, outs, more=b""): return b"".join(msg(1, i) for i in ins) + b"".join(msg(2, o) for o in outs) + msg(4, op) + more
body = (msg(1, node("Identity", ["c"], ["go"])) + msg(1, node("Neg", ["s"], ["t"])) + msg(2, "body") + msg(11, value("i", 7)) +
        msg(11, value("c", 9)) + msg(11, value("s", 1, 2)) + msg(12, value("go", 9)) + msg(12, value("t", 1, 2)))
loop = node("Loop", ["n", "", "x"], ["y"], msg(5, msg(1, "body") + msg(6, body) + num(20, 5)))
graph = msg(1, loop) + msg(2, "g") + msg(11, value("n", 7)) + msg(11, value("x", 1, 2)) + msg(12, value("y", 1, 2))
open(sys.argv[1], "wb").write(num(1, 8) + msg(8, msg(1, "") + num(2, 17)) + msg(7, graph))
PY
echo '{"n": 1000000000000, "x": [1, 2]}' > "$scratch/endless.json"
echo '{"n": 500, "x": [1, 2]}' > "$scratch/finite.json"
expect 0 "y: f32[2]  1 2" "$nnex" run "$scratch/loop.onnx" -i "$scratch/finite.json" --timeout 60
for verb in run bench profile; do
  expect 3 "refused: took longer than 0.3 s" "$nnex" $verb "$scratch/loop.onnx" -i "$scratch/endless.json" --timeout 0.3
done
expect 3 "refused: took longer than 0.3 s" bash -c "sleep 2 | '$nnex' run '$model' -i - --timeout 0.3"

expect 2 "N from 0 to 9223372036854775807" "$nnex" run "$model" --random --set N=99999999999999999999

# What standard output does not take is told, whatever stands in buffers.
for words in env ops --help "inspect '$model' --json" "run '$model' --random --json"; do
  expect 3 "cannot write to standard output" bash -c "'$nnex' $words > /dev/full"
done
expect 0 "sound" "$nnex" check "$model" --timeout 60
expect 2 "found '0'; needed a number above 0" "$nnex" check "$model" --timeout 0
# The time of a loop is its own alone: rows and their sum.
"$nnex" profile "$scratch/loop.onnx" -i "$scratch/finite.json" --seconds 0.1 --json > "$scratch/profile.json"
python3 - "$scratch/profile.json" <<'PY' || bad=1
import json, sys
profile = json.load(open(sys.argv[1]))
nodes = profile["nodes"]
loop, = (n for n in nodes if n["op"] == "loop")
inside = sum(n["us_with_blocks"] for n in nodes if n is not loop)
if len(nodes) < 500 or inside <= 0 or loop["us"] + inside > loop["us_with_blocks"] * 1.0001:
    sys.exit(f"  {len(nodes)} nodes; the loop {loop}, inside {inside} us")
if abs(profile["total_us"] - sum(n["us"] for n in nodes)) > 1e-3 * profile["total_us"]: sys.exit("  the sum is another")
PY
# An integer network without parameters: its certificate, inputs of its whole range, bytes into what is no file.
net=$scratch/net; mkdir "$net" "$scratch/lone" "$scratch/orphan" "$scratch/none"
cat > "$net/symbol" <<'JSON'
{"nodes": [{"op": "null", "name": "data", "inputs": []},
  {"op": "cvm_op", "name": "n", "attrs": {"func_name": "negative"}, "inputs": [[0, 0, 0]]}],
 "heads": [[1, 0, 0]], "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "version": "cvm_1.0.0",
 "attrs": {"shape": ["list_shape", [[400], [400]]], "storage_id": ["list_int", [0, 1]], "op_attrs": ["list_str", ["{}", "{}"]],
  "precision": ["list_int", [12, -1]], "dltype": ["list_str", ["int32", "int32"]]}}
JSON
printf '\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' > "$net/params"
cp "$net/symbol" "$scratch/lone"; cp "$net/params" "$scratch/orphan"
expect 0 '"safe": true' "$nnex" check "$net" --json
expect 0 '"bits_proven": 12' "$nnex" check "$net" --json
expect 0 "-2047" "$nnex" run "$net" --random --save "$scratch/n.json"
python3 - "$scratch/n.json" <<'PY' || bad=1
import json, sys
values = json.load(open(sys.argv[1]))
if not (min(values) == -2047 and max(values) == 2047 and 0 in values and len(set(values)) > 200):
    sys.exit("  --random does not fill the declared range")
PY
expect 0 "cvm.gas = 4400" "$nnex" inspect "$scratch/lone"
for verb in check run; do
  expect 3 "has CVM's symbol without its params; looked for '$scratch/lone/params'" "$nnex" $verb "$scratch/lone"
  expect 3 "has CVM's params without its symbol; looked for '$scratch/orphan/symbol'" "$nnex" $verb "$scratch/orphan"
done
expect 0 "i32[400]  input data" "$nnex" run "$net" --random --hash-layers
mkfifo "$scratch/fifo"
cat "$scratch/fifo" > "$scratch/through" & reader=$!
expect 0 "" "$nnex" run "$net" --random --save-bytes "$scratch/fifo"
if [ -p "$scratch/fifo" ]; then wait $reader; else echo "  the pipe is no pipe any more"; bad=1; kill $reader; fi
expect 0 "" "$nnex" run "$net" --random --save-bytes "$scratch/file"
expect 0 "" cmp "$scratch/through" "$scratch/file"
ln -s /dev/null "$scratch/null"
expect 0 "" "$nnex" run "$net" --random --save-bytes "$scratch/null"
expect 0 "" test -L "$scratch/null"
# NNEF's values as they are, by the standard's bodies, and as other standards say them.
values=$(dirname "$0")/cases/nnef
expect 0 "53 passed, 0 failed" "$nnex" conform nnef "$values" --quiet
expect 0 "43 passed, 0 failed" "$nnex" conform nnef "$values" --quiet --through onnx
expect 0 "32 passed, 0 failed" "$nnex" conform nnef "$values" --quiet --through webnn
expect 0 "52 passed, 0 failed" "$nnex" conform nnef "$values" --quiet --through nnef
# Vectors that are broken: a failed row each, with its place, and the others run.
expect 3 "no cases found" "$nnex" conform cvm "$scratch/none"
for standard in onnx webnn nnef; do expect 3 "no " "$nnex" conform $standard "$scratch/none"; done
vectors=$scratch/vectors; mkdir "$vectors"
relu='"inputs": [{"shape": [2], "precision": 8, "data": [1, -1]}], "outputs": [{"shape": [2], "precision": 8, "data": [1, 0]}]'
cat > "$vectors/relu.json" <<JSON
{"schema": "cvm-op-vectors/1", "op": "relu", "cases": [3, {"id": "attrs", "attrs": {"a": 1}, $relu},
 {"id": "text", "attrs": {}, ${relu/1, -1/\"x\", 1}}, {"id": "wide", "attrs": {}, ${relu/1, -1/4294967297, -1}}, {"id": "half"},
 {"id": "fine", "attrs": {}, $relu}]}
JSON
echo '{"schema": "cvm-load/1", "cases": [{"id": "load", "symbol": 3}]}' > "$vectors/load.json"
echo '{"schema": "cvm-op-vectors/1", "op": "relu"}' > "$vectors/bare.json"
cp -r "$net" "$vectors/net"
echo '{"info": {"gas": "x"}, "pairs": [{"id": "pair", "input": 3, "output": ["a"]}]}' > "$vectors/net/io.json"
expect 1 "2 passed, 9 failed" "$nnex" conform cvm "$vectors"
expect 1 "$vectors/relu.json cases[0]: no object" "$nnex" conform cvm "$vectors"
expect 1 "wide: data[0]: found 4294967297; needed a whole number from -2147483648 to 2147483647" "$nnex" conform cvm "$vectors"
expect 1 'bare.json: needed "cases": [...]' "$nnex" conform cvm "$vectors"
expect 1 "load: the case cannot be read: type must be string, but is number" "$nnex" conform cvm "$vectors"
# NNEF: likewise; what is not finite stands as a word.
cases=$scratch/nnef_cases; mkdir -p "$cases/values" "$cases/rules"
text='version 1.0; graph g(x) -> (y) { x = external(shape = [2]); y = relu(x); }'
port() { echo "{\"dtype\": \"scalar\", \"shape\": [2], \"values\": [$1]}"; }
cat > "$cases/values/values.json" <<JSON
{"cases": [3, {"id": "bare"}, {"id": "words", "graph": "$text", "inputs": {"x": $(port '"inf", -1')}, "outputs": {"y": $(port '"inf", 0')}},
 {"id": "null", "graph": "$text", "inputs": {"x": $(port 'null, -1')}, "outputs": {"y": $(port '1, 0')}},
 {"id": "finite", "graph": "$text", "inputs": {"x": $(port '1, -1')}, "outputs": {"y": $(port '"inf", 0')}}]}
JSON
echo '{"cases": [{"file": "nowhere.nnef", "verdict": "valid"}, {"file": 3}]}' > "$cases/rules/index.json"
expect 1 "1 passed, 6 failed" "$nnex" conform nnef "$cases"
expect 1 "values/case 1: the case cannot be read: it has no 'id'" "$nnex" conform nnef "$cases"
expect 1 "values/null: the case cannot be read" "$nnex" conform nnef "$cases"
# What a standard cannot say as it is, and can by the bodies of NNEF's compound operations.
echo 'version 1.0; graph g(x) -> (y) { x = external(shape = [1,2,8,8]); y = local_mean_normalization(x, size = [1,1,3,3]); }' > "$scratch/mean.nnef"
expect 4 "--expand-compounds writes compound operations by their bodies" "$nnex" convert "$scratch/mean.nnef" "$scratch/mean.onnx"
expect 4 "--expand-compounds writes compound operations by their bodies" "$nnex" convert "$scratch/mean.nnef" "$scratch/mean.webnn"
expect 0 "" "$nnex" convert "$scratch/mean.nnef" "$scratch/mean.onnx" --expand-compounds
# What a check found as SARIF: one log, each fault with its rule and place.
expect 1 '"level": "error"' "$nnex" check "$scratch/typo.nnef" "$model" --sarif
expect 2 "both --json and --sarif" "$nnex" check "$model" --json --sarif
"$nnex" check "$scratch/typo.nnef" "$scratch/cut.onnx" nowhere.onnx "$model" --sarif > "$scratch/log.sarif" 2>/dev/null
python3 - "$scratch" <<'PY' || bad=1
import json, sys
log = json.load(open(sys.argv[1] + "/log.sarif"))
run = log["runs"][0]
results = run["results"]
uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
wrong = []
if log["version"] != "2.1.0" or run["tool"]["driver"]["name"] != "nnex": wrong.append("no log")
if not all(any(u.endswith(n) for u in uris) for n in ("typo.nnef", "cut.onnx", "nowhere.onnx")) or any(u.endswith("model.onnx") for u in uris): wrong.append(uris)
if {r["ruleId"] for r in results} - {r["id"] for r in run["tool"]["driver"]["rules"]}: wrong.append("a rule is not declared")
if results[0]["locations"][0]["physicalLocation"].get("region", {}).get("startLine") != 5: wrong.append(results[0])
if wrong: sys.exit(f"  check --sarif: {wrong}")
PY
# What readers forgive is a warning, and with --strict an error; every fault of an ONNX model is told with its rule.
python3 - "$scratch" "$model" <<'PY'
import sys
sound = open(sys.argv[2], "rb").read()
open(sys.argv[1] + "/forgiven.onnx", "wb").write(sound + b"\x72\x04\x0a\x02\xff\xfe")       # a property whose key is no UTF-8
open(sys.argv[1] + "/twice.onnx", "wb").write(sound + b"\x72\x03\x0a\x01k" * 2 + b"\x42\x02\x10\x07")  # one given twice, and another opset
PY
expect 0 "forgiven.onnx: sound, 1 warning" "$nnex" check "$scratch/forgiven.onnx"
expect 0 "[onnx/text]" "$nnex" check "$scratch/forgiven.onnx"
expect 0 '"severity": "warning"' "$nnex" check "$scratch/forgiven.onnx" --json
expect 0 '"level": "warning"' "$nnex" check "$scratch/forgiven.onnx" --sarif
expect 1 "forgiven.onnx: 1 fault" "$nnex" check "$scratch/forgiven.onnx" --strict
expect 1 '"level": "error"' "$nnex" check "$scratch/forgiven.onnx" --strict --sarif
expect 1 "[onnx/metadata-twice]" "$nnex" check "$scratch/twice.onnx"
expect 1 "[onnx/opset-twice]" "$nnex" check "$scratch/twice.onnx"
expect 1 "A key of properties is given once." "$nnex" check "$scratch/twice.onnx" --sarif
expect 0 '| `onnx/ir-version` | error |' "$nnex" check --rules
expect 2 "found no model" "$nnex" check
# Pictures: a page, SVG or DOT; what is there stays; bad words are told.
cp "$model" "$scratch/drawn.onnx"
here=$(realpath "$nnex")
(
  cd "$scratch" || exit 1
  expect 0 "drawn.html: 21 nodes" "$here" view drawn.onnx
  expect 0 "drawn.html: 21 nodes" "$here" view drawn.onnx  # the page that it made itself is made anew
  expect 2 "--force" "$here" view drawn.onnx -o drawn.html
  echo mine >drawn.html
  expect 2 "--force" "$here" view drawn.onnx
  expect 0 "drawn.html" "$here" view drawn.onnx --force
  exit $bad
) || bad=1
expect 0 "<!DOCTYPE html>" head -c 15 "$scratch/drawn.html"
expect 0 "digraph" "$nnex" view "$model" -o - --to dot
expect 0 "f32[N,3,32,32]" "$nnex" view "$model" -o - --to svg
expect 0 "f32[2,3,32,32]" "$nnex" view "$model" -o - --to svg --set N=2
expect 2 "the ending of '$scratch/drawn.png' says no form" "$nnex" view "$model" -o "$scratch/drawn.png"
expect 3 "cannot open" "$nnex" view nowhere.onnx -o -
expect 3 "needed what 'nnex profile MODEL --json' prints" "$nnex" view "$model" -o - --profile "$scratch/wrong.json"
"$nnex" profile "$model" --seconds 0.1 --json > "$scratch/times.json"
expect 0 "class=\"heat" "$nnex" view "$model" -o - --profile "$scratch/times.json"
expect 0 "class=\"op" "$nnex" view "$scratch/nnef.tgz" -o - --to svg
rm "$scratch/counter/graph.quant"  # at fault, from above
expect 0 "graph.nnef" "$nnex" view "$scratch/counter" -o -
# Sequences and optionals: in as messages of test data and as JSON, out as both; not into archives.
cat > "$scratch/sequence.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
m (seq(float[n]) s, float[k] t, optional(float[k]) o) => (seq(float[n]) y, bool has) { y = SequenceInsert(s, t) has = OptionalHasElement(o) }
TEXT
echo '{"s": [[1, 2], [3]], "t": [9], "o": null}' > "$scratch/sequence.json"
expect 0 "has: bool[]  false" "$nnex" run "$scratch/sequence.onnxtxt" -i "$scratch/sequence.json" --save "y=$scratch/inserted.pb" --save "y=$scratch/inserted.json"
expect 0 "[[1.0,2.0],[3.0],[9.0]]" cat "$scratch/inserted.json"
for ending in pb json; do
  expect 0 "y: sequence of 4" "$nnex" run "$scratch/sequence.onnxtxt" -i "s=$scratch/inserted.$ending" -i "$scratch/sequence.json"
done
expect 4 "found sequence of 3 'y'; a file of this format holds tensors alone: needed .pb or .json" "$nnex" run "$scratch/sequence.onnxtxt" -i "$scratch/sequence.json" --save "y=$scratch/inserted.npy"
mkdir -p "$scratch/items"; cp "$scratch/sequence.json" "$scratch/items"
expect 2 "needed --format json" "$nnex" batch "$scratch/sequence.onnxtxt" --input "$scratch/items" --output "$scratch/none"
# A batch of texts, and one of sequences: the trial before the first item needs neither.
cat > "$scratch/text.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
m (string[n] a) => (string[n] y) { y = Identity(a) }
TEXT
mkdir -p "$scratch/texts"; echo '["x", "yz"]' > "$scratch/texts/one.json"
expect 0 "1 done, 0 failed" "$nnex" batch "$scratch/text.onnxtxt" --input "$scratch/texts" --output "$scratch/text-answers" --format json
expect 0 '"yz"' cat "$scratch/text-answers/one.json.json"
expect 0 "1 done, 0 failed" "$nnex" batch "$scratch/sequence.onnxtxt" --input "$scratch/items" --output "$scratch/sequence-answers" --format json
expect 2 "input 'a' is str[n]: give it with --input" "$nnex" run "$scratch/text.onnxtxt" --random
# Endings may be large letters.
cp "$model" "$scratch/LARGE.ONNX"; cp "$scratch/sequence.json" "$scratch/LARGE.JSON"
expect 0 "sound" "$nnex" check "$scratch/LARGE.ONNX"
expect 0 "LARGE.NNEF.TGZ" "$nnex" convert "$scratch/LARGE.ONNX" "$scratch/LARGE.NNEF.TGZ" --set N=1 --no-verify
expect 0 "picture" "$nnex" inspect "$scratch/LARGE.NNEF.TGZ"
expect 0 "y: sequence of 3" "$nnex" run "$scratch/sequence.onnxtxt" -i "$scratch/LARGE.JSON" --save "has=$scratch/LARGE.NPY"
expect 0 "digraph" cat <("$nnex" view "$model" -o "$scratch/LARGE.DOT" >/dev/null; cat "$scratch/LARGE.DOT")
# What makes an operator fail at run time is the data's fault, where it decides shapes too.
cat > "$scratch/range.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
m (float a, float b, float d) => (float[n] y) { y = Range(a, b, d) }
TEXT
echo '{"a": 0, "b": 3, "d": 0}' > "$scratch/range.json"
expect 1 "range" "$nnex" run "$scratch/range.onnxtxt" -i "$scratch/range.json"
# The hint names a format that has the type.
cat > "$scratch/brain.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
m (bfloat16[n] x, float[n] z, seq(float[n]) s) => (bfloat16[n] y, float[n] w, seq(float[n]) t) { y = Identity(x) w = Identity(z) t = SequenceInsert(s, z) }
TEXT
python3 -c "import json; print(json.dumps({'x': [1] * 1500, 'z': [2] * 1500, 's': []}))" > "$scratch/brain.json"
for hint in "--save 'y=FILE.pb' writes all 1500 values" "--save 'w=FILE.npy' writes all 1500 values" "--save 't=FILE.pb' writes all of it"; do
  expect 0 "$hint" "$nnex" run "$scratch/brain.onnxtxt" -i "$scratch/brain.json" --json
done
# Texts have a hash, too: of their bytes, each behind its length.
want=$(python3 -c "import hashlib; print(hashlib.sha256(b''.join(len(t).to_bytes(8, 'little') + t for t in (b'x', b'yz'))).hexdigest())")
expect 0 "sha256 $want" "$nnex" run "$scratch/text.onnxtxt" -i "$scratch/texts/one.json" --hash
# What is written and never read is called what it is.
"$nnex" convert "$model" "$scratch/module.mjs" --set N=1 --no-verify >/dev/null
expect 3 "module.mjs' is a JavaScript module that nnex wrote" "$nnex" run "$scratch/module.mjs" --random
# Weights that an old exporter wrote as inputs with defaults are one line; before IR 4 all had to be.
for ir in 3 8; do
  cat > "$scratch/defaults$ir.onnxtxt" <<TEXT
<ir_version: $ir, opset_import: ["" : 8]>
m (float[1] x, float[1] a, float[1] b, float[1] c, float[1] d) => (float[1] y) <float[1] a = {1}, float[1] b = {2}, float[1] c = {3}, float[1] d = {4}> { y = Sum(x, a, b, c, d) }
TEXT
done
expect 0 "defaults of 4 inputs, a the first" "$nnex" inspect "$scratch/defaults8.onnxtxt"
expect 0 "note: left out, as a network has no place for it: 4 inputs, 'a' the first" "$nnex" strip "$scratch/defaults8.onnxtxt" -o "$scratch/stripped.onnx"
said=$("$nnex" inspect "$scratch/defaults3.onnxtxt"); case $said in *"  default"*) echo "FAILED inputs that IR 3 asks for are told of: $said"; bad=1 ;; esac
# What a number may be is told at both ends; several numbers are one word; an extent has one number.
expect 2 "found '99999999999'; needed a whole number of at least 0, at most 2147483647" "$nnex" run "$model" --random --topk 99999999999
expect 2 "needed a whole number of at least 0, at most 18446744073709551615" "$nnex" run "$model" --random --seed 99999999999999999999
expect 2 "needed numbers, in one word (0.5,0.5,0.5); a word that is none stands before the option" "$nnex" run --mean 0.5 0.5 0.5 "$model" -i "$scratch/p.ppm"
expect 2 "--set: 'N' is given twice: as 2 and as 3" "$nnex" run "$model" --random --set N=2 --set N=3
expect 0 "f32[2,8]" "$nnex" run "$model" --random --set N=2 --set N=2
expect 2 "--set-shape: 'picture' is given twice: as [1,3,32,32] and as [2,3,32,32]" "$nnex" run "$model" --random --set-shape picture=[1,3,32,32] --set-shape picture=[2,3,32,32]
# Standard input is laid out onto standard output, as editors have it; bytes that terminals are kept from stay what they are.
printf 'version 1.0; # a \342\200\256 comment\ngraph g(x)->(y){x=external(shape=[2]);y=relu(x);}' > "$scratch/line.nnef"
"$nnex" format - < "$scratch/line.nnef" > "$scratch/laid.nnef" || { echo "  format -: exit $?"; bad=1; }
cp "$scratch/line.nnef" "$scratch/line2.nnef"; "$nnex" format "$scratch/line2.nnef"
cmp "$scratch/laid.nnef" "$scratch/line2.nnef" || { echo "  format - lays out otherwise than format FILE"; bad=1; }
expect 1 "-: not in canonical layout" bash -c "'$nnex' format - --check < '$scratch/line.nnef'"
expect 0 "" bash -c "'$nnex' format - --check < '$scratch/laid.nnef'"
expect 0 '"text": "version 1.0;' bash -c "'$nnex' format - --json < '$scratch/line.nnef'"
expect 3 "'-' is no text" bash -c "'$nnex' format - < '$model'"
expect 3 "-:1:14: " bash -c "echo 'version 1.0; grap' | '$nnex' format -"
# Every verb that writes or shows a model may be given a time.
cat > "$scratch/long.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x) => (float[2] y) <int64 n = {100000000000}, bool go = {1}> {
  y = Loop <body = b (int64 i, bool c, float[2] s) => (bool k, float[2] t) { k = Identity(c) t = Neg(s) }> (n, go, x)
}
TEXT
expect 3 "refused: took longer than 0.3 s (--timeout)" "$nnex" convert "$scratch/long.onnxtxt" "$scratch/long.onnx" --opset 18 --timeout 0.3
[ ! -e "$scratch/long.onnx" ] || { echo "  a model that took too long is written"; bad=1; }
expect 0 "opset 18" "$nnex" convert "$model" "$scratch/timed.onnx" --opset 18 --timeout 60
for words in "rename picture=pixels" "set-shape picture=[1,3,32,32]" inline strip; do
  expect 3 "refused: took longer than 0.3 s (--timeout)" bash -c "sleep 1 | '$nnex' ${words%% *} - $(cut -d' ' -s -f2 <<<"$words") -o '$scratch/long.onnx' --timeout 0.3"
done
for words in dump "view -o -"; do
  expect 3 "refused: took longer than 0.3 s (--timeout)" bash -c "sleep 1 | '$nnex' $words - --timeout 0.3"
done
# Names may have a '=' in them, and files too; what a file has for no input is passed over.
cat > "$scratch/add.onnxtxt" <<'TEXT'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] w) => (float[2] y) { h = Add (x, w) y = Neg (h) }
TEXT
"$nnex" rename "$scratch/add.onnxtxt" x=a=b w=a y=out=1 h=in=side -o "$scratch/equal.onnx" -q
here=$(realpath "$nnex")
(
  cd "$scratch" || exit 1
  echo '[1, 2]' > v.json; echo '[5, 6]' > 'x=1.json'; mkdir 'rate=0.1'; cp v.json 'rate=0.1/'
  expect 0 "out=1: f32[2]  -2 -4" "$here" run equal.onnx -i a=b=v.json -i a=v.json
  expect 0 "out=1: f32[2]  -6 -8" "$here" run equal.onnx -i x=1.json -i rate=0.1/v.json
  expect 3 "cannot open 'rate=0.1/none.json'" "$here" run equal.onnx -i rate=0.1/none.json
  expect 2 "no input 'z'; the model has: 'a=b' 'a'" "$here" run equal.onnx -i z=v.json
  expect 0 "" "$here" run equal.onnx -i a=b=v.json -i a=v.json -q --save rate=0.1/o.json --save out=1=o.json --save in=side=s.json
  for saved in "o.json [-2.0,-4.0]" "s.json [2.0,4.0]" "rate=0.1/o.json [-2.0,-4.0]"; do expect 0 "${saved#* }" cat "${saved%% *}"; done
  expect 2 "'o.json' exists; --force replaces it" "$here" run equal.onnx --random --save out=1=o.json
  expect 2 "no output or tensor 'z'; the model has:" "$here" run equal.onnx --random --save z=new.json
  echo '{"x": [1, 2], "w": [3, 4], "label": "cat", "xx": [1]}' > extra.json
  expect 0 "y: f32[2]  -4 -6" "$here" run add.onnxtxt -i extra.json
  expect 0 "nnex: 'label' of 'extra.json' is passed over: no input is called so" "$here" run add.onnxtxt -i extra.json
  expect 0 "nnex: 'xx' of 'extra.json' is passed over: no input is called so (did you mean 'x'?)" "$here" run add.onnxtxt -i extra.json
  expect 0 "y: f32[2]  -4 -6" bash -c "'$here' run add.onnxtxt -i - < extra.json"
  [ -z "$("$here" run add.onnxtxt -i extra.json -q 2>&1)" ] || { echo "  --quiet tells what is passed over"; exit 1; }
  python3 - <<'PY'
import struct, zipfile
def npy(kind, data):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n" % kind).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data
with zipfile.ZipFile("extra.npz", "w") as z:
    for name in ("x", "w", "labels"): z.writestr(name + ".npy", npy("<f4", struct.pack("<2f", 2147483648, 0.1)))
with zipfile.ZipFile("other.npz", "w") as z:
    for name in ("labels", "more"): z.writestr(name + ".npy", npy("<f4", struct.pack("<2f", 1, 2)))
open("complex.npy", "wb").write(npy("<c16", bytes(32)))
PY
  expect 0 "nnex: 'labels' of 'extra.npz' is passed over: no input is called so" "$here" run add.onnxtxt -i extra.npz
  expect 0 "nnex: 'labels' of '-' is passed over: no input is called so" bash -c "'$here' run add.onnxtxt -i - < extra.npz"
  expect 2 "no input 'labels'; the model has: 'x' 'w'" "$here" run add.onnxtxt -i other.npz
  # All digits of whole numbers that a float holds; --cast is offered where it helps.
  expect 0 "y: f32[2]  -4294967296 -0.2" "$here" run add.onnxtxt -i extra.npz
  for cast in "" --cast; do
    expect 2 "found c128[2]; needed f32[2]; there is no conversion of the one to the other" "$here" run add.onnxtxt -i x=complex.npy --random $cast
  done
  ! "$here" run add.onnxtxt -i x=complex.npy --random 2>&1 | grep -q -- --cast || { echo "  --cast is offered for complex numbers"; exit 1; }
  exit $bad
) || bad=1
# JSON that is asked for is printed with --quiet, too; labels that are missing are told.
expect 0 '"schema": "nnex.run/1"' "$nnex" run "$model" --random --json --quiet
printf 'a\nb\n' > "$scratch/labels.txt"
expect 0 "labels.txt' has 2 labels; needed 8 for output 'probabilities', whose others are shown by their index" "$nnex" run "$model" --random --topk 8 --labels "$scratch/labels.txt"
# A text that is no model's is told at once, and is no model with faults.
for verb in check run inspect; do expect 3 "' is text, not a model" "$nnex" $verb "$scratch/rows.csv"; done
# Names command no terminal and make no lines of their own: line ends, tabs, and what turns letters are shown.
python3 - "$scratch" <<'PY'
import sys
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def num(field, n): return varint(field << 3) + varint(n)
def msg(field, *parts):
    body = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body
def value(name): return msg(1, name) + msg(2, msg(1, num(1, 1) + msg(2, msg(1, num(1, 2)))))
def model(path, op, name, x):
    node = msg(1, x) + msg(2, "y") + msg(3, name) + msg(4, op)
    graph = msg(1, node) + msg(2, "g") + msg(11, value(x)) + msg(12, value("y"))
    open(f"{sys.argv[1]}/{path}", "wb").write(num(1, 8) + msg(8, msg(1, "") + num(2, 17)) + msg(7, graph))
model("forge.onnx", "Nothing", "q\nforge.onnx: sound\t\u202e\u2066\u2028\x7f\x9b\u061c\u200b\ufeff", "x")
model("forged_name.onnx", "Neg", "n", "x\nforge.onnx: sound\t\u202e")
PY
for words in check "run --random" "convert - --to nnef"; do
  told=$("$nnex" ${words%% *} "$scratch/forge.onnx" $(cut -d' ' -s -f2- <<<"$words") 2>&1)
  grep -qF 'q\u000aforge.onnx: sound\u0009\u202e\u2066\u2028\u007f\u009b\u061c\u200b\ufeff' <<<"$told" && ! grep -q '^forge' <<<"$told" || { echo "  $words tells a name as it is: $told"; bad=1; }
done
for words in inspect "run --random" "run" "bench --random --seconds 0.05" "profile --random --seconds 0.05" why "inspect --diff $model"; do
  told=$("$nnex" ${words%% *} "$scratch/forged_name.onnx" $(cut -d' ' -s -f2- <<<"$words") 2>&1)
  ! grep -q "^forge" <<<"$told" || { echo "  $words makes a line of a name: $told"; bad=1; }
done
expect 0 'input   x\u000aforge.onnx: sound\u0009\u202e  f32[2]' "$nnex" inspect "$scratch/forged_name.onnx"
# Integers are ordered and told in full, however large.
cat > "$scratch/large.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17]>
g () => (int64[3] y) <int64[3] w = {4611686018427387905, 4611686018427387907, 4611686018427387904}> { y = Identity (w) }
TXT
expect 0 '  4611686018427387907  1' "$nnex" run "$scratch/large.onnxtxt" --topk 1
expect 0 '"value": 4611686018427387907' "$nnex" run "$scratch/large.onnxtxt" --topk 1 --json
# What a function's call makes has the type that the function's body gives it.
cat > "$scratch/calls.onnxtxt" <<'TXT'
<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
g (float[N,3] x) => (float[N,3] y) { a = my.f (x) y = my.f (a) }
<domain: "my", opset_import: ["" : 17]> f (x) => (y) { y = Relu (x) }
TXT
expect 0 "" "$nnex" extract "$scratch/calls.onnxtxt" --from a -o "$scratch/behind.onnx"
expect 0 "input   a  f32[N,3]" "$nnex" inspect "$scratch/behind.onnx"
# What the machine does at most is measured before and behind the runs.
expect 0 "limits measured: " "$nnex" profile "$model" --seconds 0.1
exit $bad
