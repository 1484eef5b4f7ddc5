#!/usr/bin/env bash
# pictures.sh NNEX: pictures as inputs are resized as training code does it, and the demo's pictures are named rightly.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1 shapes=$(dirname "$0")/../models/shapes
resized() {  # resized NAME WIDTH HEIGHT PIXELS WIDTH HEIGHT EXPECTED: grey pixels, and what a network of that size is given
  printf 'P2 %s %s 255 %s' "$2" "$3" "$4" > "$scratch/p.pgm"
  printf 'version 1.0;\ngraph same(x) -> (y) {\n x = external<integer>(shape = [1,1,%s,%s]);\n y = copy(x);\n}\n' "$6" "$5" > "$scratch/same.nnef"
  local got
  got=$("$nnex" run "$scratch/same.nnef" -i "$scratch/p.pgm" --save "$scratch/y.json" --force 2>&1) && got=$(tr -d '\n ' < "$scratch/y.json")
  [ "$got" = "[[$7]]" ] || { echo "  $1: found $got; needed [[$7]]"; bad=1; }
}
resized "the mean of a block" 4 2 "0 100 200 200  100 200 0 200" 2 1 "[[100,150]]"
resized "parts of pixels at a rim" 3 1 "30 60 90" 2 1 "[[40,80]]"
resized "by rows" 1 3 "30 60 90" 1 2 "[[40],[80]]"
resized "one pixel of five" 5 1 "10 20 30 40 50" 1 1 "[[30]]"
resized "as it is" 3 1 "1 2 3" 3 1 "[[1,2,3]]"
resized "enlarged: between the centres of pixels" 2 1 "0 100" 4 1 "[[0,25,75,100]]"
resized "narrower and higher" 2 1 "0 100" 1 2 "[[50],[50]]"
# Every drawing of the demo: its own name, at 90 % and more.
for picture in "$shapes"/*.png; do
  name=$(basename "$picture" .png)
  "$nnex" run "$shapes/model.onnx" -i "$picture" --topk 1 --labels "$shapes/labels.txt" --json > "$scratch/top.json"
  python3 - "$scratch/top.json" "$name" <<'PY' || bad=1
import json, sys
best = json.load(open(sys.argv[1]))["outputs"][0]["top"][0]
if best["label"] != sys.argv[2] or best["value"] < 0.9: sys.exit(f"  {sys.argv[2]}.png: found {best['label']}, {best['value']}")
PY
done
# Its integer form gives exactly what numpy's arithmetic gave, read as CVM and as ONNX, and the demo shows all of it.
"$nnex" convert "$shapes/integer" "$scratch/integer.onnx" -q || bad=1
for picture in "$shapes"/*.png; do
  for model in "$shapes/integer" "$scratch/integer.onnx"; do
    "$nnex" run "$model" -i "$picture" --exact --json > "$scratch/answer.json"
    python3 - "$scratch/answer.json" "$shapes/integer/answers.json" "$(basename "$picture" .png)" <<'PY' || bad=1
import json, sys
found, needed = json.load(open(sys.argv[1]))["outputs"][0]["values"][0], json.load(open(sys.argv[2]))[sys.argv[3]]
if found != needed: sys.exit(f"  {sys.argv[3]}.png, integers: found {found}; needed {needed}")
PY
  done
done
"$(dirname "$0")/../demo" --no-build "$nnex" > "$scratch/demo" 2>&1 || { echo "  the demo fails:"; sed 's/^/    /' "$scratch/demo"; bad=1; }
[ "$(grep -c '8 of 8 right' "$scratch/demo")" = 4 ] || { echo "  the demo does not name all in four standards"; bad=1; }
grep -qF "did you mean 'stride'" "$scratch/demo" || { echo "  the demo does not explain its broken model"; bad=1; }
[ "$(wc -l < "$scratch/demo")" -le 40 ] || { echo "  the demo takes more than a screen: $(wc -l < "$scratch/demo") lines"; bad=1; }
exit $bad
