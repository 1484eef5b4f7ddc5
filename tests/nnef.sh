#!/usr/bin/env bash
# nnef.sh NNEX: documents of NNEF and integer networks of CVM as a user checks, edits and converts them.
. "$(dirname "$0")/support/command_line.sh"
nnex=$(realpath "$1")
document() {  # document FOLDER RESULTS: graph.nnef with this body
  mkdir -p "$scratch/$1"
  { printf 'version 1.0;\n%sgraph g(x) -> (%s)\n{\n' "${3:-}" "$2"; cat; echo "}"; } > "$scratch/$1/graph.nnef"
}
text_of() { tar xzOf "$1" graph.nnef; }
cd "$scratch" || exit 1

# The dialect of tract: every fault of a document, and tensor files that are not there.
document many "y, z" <<'END'
  x = external(shape = [1, 2]);
  a = conv(x, x);
  b = neg(a);
  y = add(b, x);
  w = variable<scalar>(shape = [2], label = 'w');
  z = leaky_relu(x);
END
expect 1 "graph.nnef:5:7: conv: " "$nnex" check many --dialect tract
expect 1 "graph.nnef:9:7: I3: 'leaky_relu' needs 'alpha'" "$nnex" check many --dialect tract
expect 1 "2 faults" "$nnex" check many --dialect tract
expect 1 "note: none of the 1 variables has its tensor file ('w.dat')" "$nnex" check many --dialect tract
document lacks y <<'END'
  x = external(shape = [2]);
  w = variable<scalar>(shape = [2], label = 'w');
  y = x * w;
END
expect 0 "sound" "$nnex" check lacks --dialect tract
expect 3 "C2: " "$nnex" run lacks --dialect tract --random
echo '[[[1, 2, 3]]]' > x.json
document border y <<'END'
  x = external(shape = [1, 1, 3]);
  f = constant(shape = [1, 1, 3], value = [1.0]);
  y = conv(x, f, padding = [(1, 1)], border = 'replicate');
END
expect 0 "4 6 8" "$nnex" run border -i x.json --dialect tract
sed -i s/replicate/foo/ border/graph.nnef
expect 3 "attribute 'border' (enum) cannot be 'foo'" "$nnex" run border -i x.json --dialect tract

# A model is the same as itself, though nobody named all of its nodes.
document nameless y "extension KHR_enable_operator_expressions;
" <<'END'
  x = external(shape = [2, 3]);
  b = constant(shape = [2], value = [1.0, 2.0]);
  y = -(x + b) * 2.0;
END
expect 0 "same" "$nnex" inspect --diff nameless nameless
mkdir changed
sed 's/x + b/x - b/' nameless/graph.nnef > changed/graph.nnef
expect 1 "+ (sub) at " "$nnex" inspect --diff nameless changed
sed 's/2.0;/3.0;/' nameless/graph.nnef > changed/graph.nnef
expect 1 "~ y: constant '' f32[]: 1 of 1 elements differ" "$nnex" inspect --diff nameless changed

# Names are identifiers: what was asked for by name is refused, what came so is told.
document two "y, z" <<'END'
  x = external(shape = [2, 3]);
  y = relu(x);
  z = neg(x);
END
for name in "a b" if 1x "é"; do expect 2 "is no name in NNEF" "$nnex" rename two "y=$name" -o no.tgz; done
[ ! -e no.tgz ] || fault "a refused name wrote a model"
expect 0 "2 nodes" "$nnex" rename two "y=a b" -o dots.onnx
expect 0 "output 'a b' is 'a_b'" "$nnex" convert dots.onnx named.tgz
expect 0 "output 'a b' is 'a_b'" "$nnex" strip dots.onnx -o stripped.tgz

# What is asked of one standard is refused where another is written.
expect 2 "--keep-fragments: it is of NNEF; 'two.onnx' is written as ONNX" "$nnex" convert two two.onnx --keep-fragments
expect 2 "--opset: it is of ONNX; 'two.tgz' is written as NNEF" "$nnex" convert two two.tgz --opset 17
expect 2 "--external-data: it is of ONNX; 'two.webnn' is written as WebNN" "$nnex" convert two two.webnn --external-data
expect 2 "--opset: it is of ONNX" "$nnex" strip two -o two.tgz --opset 17

# A folder that is replaced keeps nothing that says what the new tensors are.
cp -r two quantised
echo "'y': linear_quantize(min = 0.0, max = 1.0, bits = 1);" > quantised/graph.quant
expect 0 "a folder, " "$nnex" convert two quantised --to nnef --force
[ ! -e quantised/graph.quant ] || fault "graph.quant of the old model is still there"
expect 0 "sound" "$nnex" check quantised

cp two/graph.nnef two.nnef
expect 2 "exists and is no folder; a model of NNEF is one, or an archive in .tgz or .tar" "$nnex" convert two two.nnef --force

# Quantisation that nobody can mean, or run.
cp -r two odd
echo "'y': zero_point_linear_quantize(zero_point = 300, scale = 0.1, bits = 8, signed = true, symmetric = false);" > odd/graph.quant
expect 0 "note: odd/graph.quant:1:1: zero_point is 300; codes of 8 bits go from -128 to 127" "$nnex" check odd
echo "'y': linear_quantize(min = 0.0, max = 1.0, bits = 64);" > odd/graph.quant
expect 0 "bits is 64; a run quantises by up to 32" "$nnex" check odd

# Parts of a model keep the labels of its variables, and custom operations their declarations.
document labels "y, z" <<'END'
  x = external(shape = [1, 2]);
  w = variable(shape = [2, 2], label = 'block/w');
  y = matmul(x, w);
  z = relu(y);
END
"$nnex" convert labels labels.onnx --seed-weights 1 --no-verify > labels.out 2>&1 || fault "labels" "$(cat labels.out)"
"$nnex" convert labels.onnx whole.tgz > labels.out 2>&1 || fault "labels" "$(cat labels.out)"
expect 0 "nodes" "$nnex" extract whole.tgz --to y -o part.tgz
tar tzf part.tgz | grep -qx block/w.dat || fault "extract: the label is lost" "$(tar tzf part.tgz)"
document own y "extension KHR_enable_fragment_definitions;
fragment mine(a: tensor<scalar>, k: integer = 3, mode: string = 'a') -> (b: tensor<scalar>);
" <<'END'
  x = external(shape = [2]);
  y = mine(x, k = 4);
END
for verb in strip inline; do
  rm -f own.tgz
  expect 0 "own.tgz" "$nnex" $verb own -o own.tgz
  text_of own.tgz | grep -qF "fragment mine(a: tensor<scalar>, k: integer = 3, mode: string = 'a') -> (b: tensor<scalar>);" ||
    fault "$verb: the declaration is another" "$(text_of own.tgz)"
done
expect 0 "not proven: nobody here can run mine" "$nnex" convert own own.onnx --custom
expect 0 "not proven: nobody here can run mine" "$nnex" convert own again.tgz

# Integers of 32 bits stay what they are.
document narrow "k" "extension NNEX_32_bit_integers;
" <<'END'
  x = external(shape = [4]);
  k = argmax_reduce(x, axes = [0]);
END
for verb in "convert narrow" "convert narrow --custom" "simplify narrow"; do
  rm -f narrow.tgz
  expect 0 "narrow.tgz" "$nnex" $verb -o narrow.tgz
  grep -q "extension NNEX_32_bit_integers;" <(text_of narrow.tgz) && grep -q " k = argmax_reduce(x, axes = \[0\]);" <(text_of narrow.tgz) ||
    fault "$verb" "$(text_of narrow.tgz)"
done

# Powers of whole numbers are no operation of NNEF; the node is named, and carried where that is asked for.
cat > pow.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (int32[3] x) => (int32[3] y) <int32 two = {2}> { y = Pow(x, two) }
END
expect 4 "pow: an operand is i32; NNEF's pow takes scalar" "$nnex" convert pow.onnxtxt pow.tgz
expect 0 "number for number" "$nnex" convert pow.onnxtxt pow.tgz --custom

# A convolution that goes on with its edges, in WebNN.
document edges y <<'END'
  x = external(shape = [1, 1, 4, 4]);
  f = constant(shape = [1, 1, 3, 3], value = [0.5]);
  y = conv(x, f, border = 'replicate');
END
expect 0 "answers as edges" "$nnex" convert edges edges.webnn
sed -i s/replicate/reflect/ edges/graph.nnef
expect 0 "answers as edges" "$nnex" convert edges edges.webnn --force
sed -i s/reflect/reflect-even/ edges/graph.nnef
expect 4 "WebNN pads with zeros, edges or reflections" "$nnex" convert edges edges.webnn --force

# Integer networks: into every standard, edited as what they are, and every obstacle at once.
cat > ints.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (int32[2,3] data) => (int32[2,3] y) <int32 low = {-127}, int32 high = {127}> { c = Clip(data, low, high) y = Relu(c) }
END
expect 0 "bytes of symbol" "$nnex" convert ints.onnxtxt ints --to cvm
for target in ints.webnn ints.c ints.tgz; do expect 0 "answers as ints" "$nnex" convert ints $target; done
expect 0 "same" "$nnex" inspect --diff ints ints
for verb in strip simplify fold inline "extract --to y"; do
  rm -rf edited
  expect 0 "edited: " "$nnex" $verb ints -o edited
  [ -e edited/symbol ] || fault "$verb: no model of CVM" "$(ls edited)"
  expect 0 "sound" "$nnex" check edited
done
expect 2 "the input of a model of CVM has this name" "$nnex" rename ints data=x -o renamed
cat > lacking.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (int32[2,3] data) => (int32[2,1] y, int32[2,3] z, float[2,3] f)
{ y = ReduceProd <axes = [1]> (data) z = Mod(data, data) f = Cast <to = 1> (data) }
END
expect 4 "CVM cannot say 3 operations" "$nnex" convert lacking.onnxtxt lacking --to cvm
expect 4 "reduce_prod: CVM has no such operator" "$nnex" convert lacking.onnxtxt lacking --to cvm
cat > wide.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
m (int32[2,3] data) => (int32[2,3] y) { y = Abs(data) }
END
expect 4 "output 0 has 33 bits" "$nnex" convert wide.onnxtxt wide --to cvm
mkdir faults
python3 - ints/symbol faults/symbol <<'END'
import json, sys
symbol = json.load(open(sys.argv[1]))
symbol["attrs"]["op_attrs"][1][-1] = '{"z": "1"}'
symbol["attrs"]["precision"][1][-1] = 0
symbol["arg_nodes"] = [7]
json.dump(symbol, open(sys.argv[2], "w"))
END
cp ints/params faults/params
expect 1 "3 faults" "$nnex" check faults
expect 1 "arg_nodes is [7]; needed [0], the variables" "$nnex" check faults
expect 1 "faults/symbol: node 1 'y' (relu): precision 0; needed 1 to 32, or -1" "$nnex" check faults
expect 1 '"uri": "faults/symbol"' "$nnex" check faults --sarif

# What is printed for people is no document.
"$nnex" dump two > printed.txt
expect 3 "is a graph as nnex dump prints it" "$nnex" check printed.txt
# Outputs that do not correspond are no work of fusing.
document other q <<'END'
  x = external(shape = [2, 3]);
  q = relu(x);
END
! "$nnex" compare two other --random 2>&1 | grep -q "fusing" || fault "compare blames fusing"
# What a reader puts before an operation for its conventions is no second one.
[ "$("$nnex" view nameless -o - --to dot | grep -c 'label="add')" -le 1 ] || fault "view: an addition twice"
exit $bad
