#!/usr/bin/env bash
# conform.sh NNEX: what `nnex conform` must not let pass: answers that are not those stored, vectors that are broken.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
root=$(cd "$(dirname "$0")/.." && pwd)
conform() { "$nnex" conform "$@"; }
deep() { printf '[%.0s' {1..100000}; }

# ONNX: an output that the model has not, a tolerance that is no JSON.
cp -r "$root/models/shapes" "$scratch/shapes"
expect 0 "passed, 0 failed" conform onnx "$scratch/shapes"
cp "$scratch/shapes/test_data_set_0/output_0.pb" "$scratch/shapes/test_data_set_0/output_1.pb"
expect 1 "output_1.pb is stored; the model has 1 outputs" conform onnx "$scratch/shapes"
rm "$scratch/shapes/test_data_set_0/output_1.pb"
deep > "$scratch/shapes/tolerance.json"
expect 1 "line 1, column 65: nested deeper than 64" conform onnx "$scratch/shapes"

# CVM: an output more than the operator has, one less; a file nested deep beside a sound one.
mkdir "$scratch/cvm"
one='{"shape": [2], "precision": 8, "data": [1, 0]}'
cat > "$scratch/cvm/relu.json" <<JSON
{"schema": "cvm-op-vectors/1", "op": "relu", "cases": [
 {"id": "right", "attrs": {}, "inputs": [{"shape": [2], "precision": 8, "data": [1, -1]}], "outputs": [$one]},
 {"id": "wrong", "attrs": {}, "inputs": [{"shape": [2], "precision": 8, "data": [1, 1]}], "outputs": [$one]},
 {"id": "more", "attrs": {}, "inputs": [{"shape": [2], "precision": 8, "data": [1, -1]}], "outputs": [$one, $one]},
 {"id": "less", "attrs": {}, "inputs": [{"shape": [2], "precision": 8, "data": [1, -1]}], "outputs": []}]}
JSON
deep > "$scratch/cvm/deep.json"
expect 1 "1 passed, 4 failed" conform cvm "$scratch/cvm"
expect 1 "deep.json: line 1, column 65: nested deeper than 64" conform cvm "$scratch/cvm"
expect 1 "wrong: by reference: output 0: element 1: found 1; needed 0" conform cvm "$scratch/cvm"
expect 1 "more: output 1: found 0 bits; needed 8" conform cvm "$scratch/cvm"
expect 1 "less: by reference: found 1 outputs; 0 are stored" conform cvm "$scratch/cvm"

# WebNN: numbers of other values, steps that should have failed, bytes of which only the first are stored.
mkdir "$scratch/webnn"
deep > "$scratch/webnn/deep.json"
graph() {  # graph NAME EXPECTED: relu of [-1, 2]
  echo "{\"name\": \"$1\", \"tolerance\": {\"metric\": \"ULP\", \"value\": 0}, \"graph\": {
    \"inputs\": {\"x\": {\"data\": [-1, 2], \"descriptor\": {\"shape\": [2], \"dataType\": \"float32\"}}},
    \"operators\": [{\"name\": \"relu\", \"arguments\": [{\"input\": \"x\"}], \"outputs\": \"y\"}],
    \"expectedOutputs\": {\"y\": $2}}}"
}
trace() {  # trace NAME STEP: after a context c and a tensor t of two bytes
  echo "{\"name\": \"$1\", \"setup\": [{\"call\": \"createContext\", \"as\": [\"c\"]},
    {\"call\": \"createTensor\", \"on\": \"c\", \"args\": [{\"dataType\": \"uint8\", \"shape\": [2], \"readable\": true}],
     \"as\": [\"t\"]}], \"steps\": [$2]}"
}
type='"descriptor": {"shape": [2], "dataType": "float32"}'
cat > "$scratch/webnn/cases.json" <<JSON
{"cases": [$(graph right "{\"data\": [0, 2], $type}"), $(graph wrong "{\"data\": [0, 3], $type}"),
 $(graph "no type" '{"data": [0, 2], "descriptor": {"shape": [2], "dataType": "float31"}}'), $(graph bare 3),
 {"name": "half", "graph": {}}, {"name": "list", "steps": [[]]}, 7,
 $(trace reads '{"call": "readTensor", "on": "c", "args": [{"$ref": "t"}], "expectBytes": [0, 0]}'),
 $(trace prefix '{"call": "readTensor", "on": "c", "args": [{"$ref": "t"}], "expectBytes": [0]}'),
 $(trace destroys '{"call": "MLTensor.destroy", "on": "t"}'),
 $(trace refuses '{"call": "MLTensor.destroy", "on": "t", "throws": "TypeError"}'),
 $(trace vast '{"call": "writeTensor", "on": "c", "args": [{"$ref": "t"}, {"$buffer": "ArrayBuffer", "byteLength": 1e18}]}')]}
JSON
expect 1 "3 passed, 10 failed" conform webnn "$scratch/webnn"
expect 1 "wrong: output 'y': 1 of 2 elements differ; element 1: found 2; needed 3" conform webnn "$scratch/webnn"
expect 1 "prefix: readTensor: found 2 bytes; needed 1" conform webnn "$scratch/webnn"
expect 1 "refuses: step 0: found success; needed TypeError" conform webnn "$scratch/webnn"
expect 1 "half: the case cannot be read: key 'inputs' not found" conform webnn "$scratch/webnn"
expect 1 "vast: the case cannot be run: " conform webnn "$scratch/webnn"
expect 1 "deep.json: line 1, column 65: nested deeper than 64" conform webnn "$scratch/webnn"
expect 1 "deep.json: line 1, column 65: nested deeper than 64" conform webnn "$scratch/webnn/deep.json"

# NNEF: a tensor of other numbers, whole or not; outputs that are not stored.
mkdir -p "$scratch/nnef/dat" "$scratch/nnef/values"
"$nnex" run "$root/models/shapes/model.onnx" --random --save "$scratch/nnef/dat/a.dat" > "$scratch/log" || bad=1
item() { echo "{\"file\": \"a.dat\", \"verdict\": \"valid\", \"shape\": [1, 8], \"bits\": 32, \"item_type\": 0, \"dtype\": \"scalar\", \"values\": $1}"; }
echo "{\"cases\": [$(item '[7, 7, 7, 7, 7, 7, 7, 7]'), $(item '[-7, 7, 7, 7, 7, 7, 7, 7]'), $(item '[0.5, true, 7, 7, 7, 7, 7, 7]')]}" \
  > "$scratch/nnef/dat/index.json"
two='"graph": "version 1.0; graph g(x) -> (y, z) { x = external(shape = [1]); y = neg(x); z = relu(x); }"'
number='{"dtype": "scalar", "shape": [1], "values": [1]}' minus='{"dtype": "scalar", "shape": [1], "values": [-1]}'
cat > "$scratch/nnef/values/values.json" <<JSON
{"cases": [{"id": "right", $two, "inputs": {"x": $number}, "outputs": {"y": $minus, "z": $number}},
 {"id": "wrong", $two, "inputs": {"x": $number}, "outputs": {"y": $number, "z": $number}},
 {"id": "less", $two, "inputs": {"x": $number}, "outputs": {"y": $minus}}]}
JSON
expect 1 "1 passed, 5 failed" conform nnef "$scratch/nnef"
expect 1 "a.dat: item 0: found" conform nnef "$scratch/nnef"
expect 1 "less: found 2 outputs; 1 are stored" conform nnef "$scratch/nnef"
exit $bad
