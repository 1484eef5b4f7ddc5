#!/usr/bin/env bash
# nnef_edits.sh NNEX: models of NNEF with weights and a quantisation file, edited, folded, converted there and back.
. "$(dirname "$0")/support/command_line.sh"
nnex=$(realpath "$1")
cd "$scratch" || exit 1

mkdir -p q/conv
cat > q/graph.nnef <<'END'
version 1.0;
# about
graph net(x) -> (y)
{
  x = external(shape = [1, 3, 4, 4]);
  w = variable(shape = [2, 3, 1, 1], label = 'conv/w');
  b = variable(shape = [1, 2], label = 'conv/b');
  c = conv(x, w, b);
  r = relu(c);
  y = softmax(r);
}
END
cat > q/graph.quant <<'END'
"w": zero_point_linear_quantize(zero_point = 0, scale = 0.5, bits = 8, signed = true, symmetric = true);
"c": linear_quantize(min = 0.0, max = 4.0, bits = 4);
"b": linear_quantize(min = [[-1.0, -2.0]], max = [[1.0, 2.0]], bits = 8);
END
python3 - <<'END'
import struct
def dat(path, data, shape, bits, kind):
    head = b"\x4e\xef\x01\x00" + struct.pack("<II", len(data), len(shape))
    head += struct.pack("<8I", *(list(shape) + [0] * (8 - len(shape)))) + struct.pack("<II", bits, kind)
    open(path, "wb").write(head.ljust(128, b"\0") + data)
dat("q/conv/w.dat", struct.pack("6b", -4, 3, 1, 2, -3, 4), [2, 3, 1, 1], 8, 3)
dat("q/conv/b.dat", struct.pack("2f", .25, -.5), [1, 2], 32, 0)
END
"$nnex" run q --random --quantized --save answer.npy -q || fault "run --quantized"

# Names of tensors are what graph.quant and labels go by.
same_files() {  # same_files MODEL: its tensor files are those of q
  cmp -s q/conv/w.dat "$1/conv/w.dat" || fault "$1: conv/w.dat is another" "$(ls -R "$1")"
  cmp -s q/conv/b.dat "$1/conv/b.dat" || fault "$1: conv/b.dat is another" "$(ls -R "$1")"
  [ "$(wc -l < "$1/graph.quant")" = 3 ] || fault "$1: lines of graph.quant are lost" "$(cat "$1/graph.quant")"
  "$nnex" run "$1" --random --quantized --save "$1.npy" -q
  cmp -s answer.npy "$1.npy" || fault "$1 answers otherwise"
}
expect 0 "renamed" "$nnex" rename q w=filter c=sums b=offset -o renamed
same_files renamed
grep -q "sums.: linear_quantize" renamed/graph.quant || fault "rename: graph.quant has the old names"
expect 0 "swapped" "$nnex" rename q w=b b=w -o swapped
same_files swapped
expect 0 "stripped" "$nnex" strip q --names -o stripped
same_files stripped
! grep -qw "w\|c" stripped/graph.quant || fault "strip --names: names are left"
expect 0 "left out, as a network has no place for it: comments of the document" "$nnex" rename q y=z -o commented
expect 0 "left out: the fragments of the document" "$nnex" convert - again --to nnef --force <<'END'
version 1.0;
extension KHR_enable_fragment_definitions;
fragment twice(x: tensor<scalar>) -> (y: tensor<scalar>) { y = add(x, x); }
graph g(x) -> (y) { x = external(shape = [2]); y = twice(x); }
END

# Biases keep extents, label and file, folded or by way of ONNX.
for verb in fold simplify; do
  expect 0 "3 nodes, before 3" "$nnex" $verb q -o $verb
  grep -q "b = variable(shape = \[1, 2\], label = 'conv/b')" $verb/graph.nnef || fault "$verb: another bias" "$(cat $verb/graph.nnef)"
  ! grep -q reshape $verb/graph.nnef || fault "$verb adds a reshape" "$(cat $verb/graph.nnef)"
  same_files $verb
  lacks "taken back" "$nnex" $verb $verb -o again --force
done
expect 0 "3 nodes" "$nnex" inspect q
expect 0 "q.onnx" "$nnex" convert q q.onnx
expect 0 "says of 3 tensors is a hint, and no part of it" "$nnex" convert q q.onnx --force
expect 0 "back" "$nnex" convert q.onnx back --to nnef
same_files back
! grep -q reshape back/graph.nnef || fault "ONNX and back adds a reshape" "$(cat back/graph.nnef)"

# A quantisation file applied, in any standard.
expect 0 "coded" "$nnex" convert q coded --to nnef --quantized
[ ! -e coded/graph.quant ] || fault "--quantized: graph.quant is applied and still there"
expect 0 "same" "$nnex" compare coded q --quantized --random
expect 1 "differs" "$nnex" compare q q --quantized --random
expect 4 "min_max_linear_quantize: ONNX has no such operator" "$nnex" convert q coded.onnx --quantized
mkdir samples
python3 -c 'import json; json.dump([[[[i - j for j in range(4)] for i in range(4)] for c in range(3)]], open("samples/0.json", "w"))'
expect 0 "layers quantised" "$nnex" quantize q -o codes.onnx --calibrate samples
expect 0 "codes" "$nnex" convert codes.onnx codes --to nnef
! grep -q '"c": linear_quantize' codes/graph.quant || fault "quantize leaves old lines of graph.quant"

# Codes of products that NNEF gives another axis; weights as halves.
cat > product.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (float[2,4,16] x) => (float[2,4,32] y) <float[16,32] w> { y = MatMul(x, w) }
END
python3 - <<'END'
text = open("product.onnxtxt").read()
numbers = ", ".join(str((i * 37 % 101 - 50) / 64) for i in range(512))
open("product.onnxtxt", "w").write(text.replace("w>", "w = {" + numbers + "}>"))
END
expect 2 "the model has no quantisation file (graph.quant)" "$nnex" convert product.onnxtxt none --to nnef --quantized
mkdir rows
python3 -c 'import json; json.dump([[[(i * j + k) % 7 - 3 for k in range(16)] for j in range(4)] for i in range(2)], open("rows/0.json", "w"))'
expect 0 "1 of 1 layers quantised" "$nnex" quantize product.onnxtxt -o product --to nnef --calibrate rows
[ "$(stat -c %s product/w.dat)" = 640 ] || fault "codes of a product are stored as floats" "$(ls -l product; cat product/graph.nnef)"
expect 0 "sound" "$nnex" check product
expect 0 "1 variables, 512 bytes of them" "$nnex" convert product copied --to nnef
expect 4 "a tensor file of NNEF holds no bfloat16" "$nnex" narrow product.onnxtxt --to bf16 -o halves
expect 0 "halves: tensor files of 1024 bytes, before 2048" "$nnex" narrow product.onnxtxt -o halves
[ "$(stat -c %s halves/w.dat)" = 1152 ] || fault "halves are stored as floats" "$(ls -l halves; cat halves/graph.nnef)"
! grep -q copy halves/graph.nnef || fault "halves are copied" "$(cat halves/graph.nnef)"

# NaN, of which NNEF says nothing; weights that nobody gave.
document() { printf 'version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [4, 8]);\n%s\n}\n' "$2" > "$1"; }
document log.nnef '  l = log(x); y = relu(l);'
for out in log.onnx log.webnn; do
  expect 0 "the source computes NaN, of which NNEF says nothing" "$nnex" convert log.nnef $out
  expect 0 "answers as log.nnef in " "$nnex" convert log.nnef $out --force
done
document always.nnef '  a = sub(x, x); b = div(a, a); y = relu(b);'
expect 0 "not proven: in each run the source computes NaN" "$nnex" convert always.nnef always.onnx
document norm.nnef "  m = variable(shape = [1, 8], label = 'a'); v = variable(shape = [1, 8], label = 'b');
  n = batch_normalization(x, m, v, 0.0, 1.0, epsilon = 0.001); y = relu(n);"
expect 0 "number for number" "$nnex" convert norm.nnef norm.onnx --seed-weights 1
lacks nan "$nnex" run norm.nnef --random --seed-weights 1
document wide.nnef '  y = mul(x, 1.0e39);'
expect 1 "L2: mul: 1e+39 does not fit in a real of 32 bits" "$nnex" check wide.nnef
mkdir named
document named/graph.nnef "  w = variable(shape = [4, 8], label = 'W'); y = add(x, w);"
expect 0 "note: none of the 1 variables has its tensor file" "$nnex" check named
touch named/w.dat
expect 1 "C2: " "$nnex" check named

# A sum at a tie of codes, which fusing rounds otherwise: as both stand they are the same.
python3 - > tie.onnxtxt <<'END'
numbers = ", ".join(str(i * 37 % 15 - 7) for i in range(128))
print("""<ir_version: 8, opset_import: ["" : 17]>
m (float[4,16] x) => (float[4,8] y)
<float sx = {0.1}, float sw = {0.1}, float sy = {0.02}, uint8 zx = {128}, int8 zw = {0}, uint8 zy = {128}, int8[16,8] w = {%s}>
{ q = QuantizeLinear (x, sx, zx) d = DequantizeLinear (q, sx, zx) v = DequantizeLinear (w, sw, zw)
  m = MatMul (d, v) p = QuantizeLinear (m, sy, zy) y = DequantizeLinear (p, sy, zy) }""" % numbers)
END
expect 0 "both ran without" "$nnex" convert tie.onnxtxt tie --to nnef
expect 0 "number for number" "$nnex" convert tie.onnxtxt tie --to nnef --force

# Constants that become inputs, inputs that become constants.
expect 0 "part" "$nnex" extract q --from x,w -o part
grep -q "w = external(shape = \[2, 3, 1, 1\])" part/graph.nnef || fault "extract --from a variable" "$(cat part/graph.nnef)"
expect 2 "the outputs need the inputs 'x' as well" "$nnex" extract q --from w -o none
cat > rate.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x, int64 rate) => (float[2] y) { r = Cast <to = 1> (rate) y = Mul(x, r) }
END
echo 16000 > rate.json
expect 0 "fixed.onnx" "$nnex" set-input rate.onnxtxt rate=rate.json -o fixed.onnx
lacks rate "$nnex" inspect fixed.onnx --json
echo '[1, 2]' > x.json
expect 0 "16000 32000" "$nnex" run fixed.onnx -i x.json
expect 2 "no input 'rat'" "$nnex" set-input rate.onnxtxt rat=rate.json -o none.onnx
expect 0 "set-batch" "$nnex" set-batch --help
expect 0 "wider" "$nnex" set-batch norm.nnef --batch 2 -o wider --seed-weights 1
expect 0 "larger" "$nnex" set-shape norm.nnef x=[2,8] -o larger --seed-weights 1

# What is kept from run to run.
cat > kept.nnef <<'END'
version 1.0;
graph g(x) -> (y)
{
  x = external(shape = [2]);
  s = variable(shape = [2], label = 'st/s');
  y = add(x, s);
  t = update(s, y);
}
END
expect 0 "# state 'st/s': 's' becomes 'y'" "$nnex" dump kept.nnef --seed-weights 1

# The layout keeps extensions that have words of their own.
cat > tract.nnef <<'END'
version 1.0;
extension tract_registry tract_core;
extension KHR_enable_fragment_definitions, KHR_enable_operator_expressions;
graph net(x) -> (y) # result
{
  x = tract_core_external(shape = [1, 3], datum_type = "f32");
  y = tract_core_softmax(x, axes = [1]);
}
END
expect 0 "extension tract_registry tract_core;" "$nnex" format tract.nnef --dialect tract --print
expect 0 "extension KHR_enable_operator_expressions;" "$nnex" format tract.nnef --dialect tract --print
! "$nnex" format tract.nnef --dialect tract --print | grep -q ' $' || fault "format leaves blanks at the end of a line"
exit $bad
