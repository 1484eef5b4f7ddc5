#!/usr/bin/env bash
# view.sh NNEX: drawings as people get them: files that parse, hostile names that stay text, broken models, and the page in a browser.
# Without Chromium or puppeteer-core (npm ci in bindings/js) the browser's part is left out: exit 77 where all else is right.
set -uo pipefail
nnex=$1 bad=0 here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 "$here/view/models.py" "$scratch" || exit 1
for model in "$here/../models/shapes/model.onnx" "$scratch"/*.onnx; do
  name=$(basename "$model" .onnx)
  for form in html svg dot; do
    "$nnex" view "$model" -o "$scratch/$name.$form" -q || { echo "  view $name as $form: exit $?"; bad=1; }
    "$nnex" view "$model" --to $form -o - | cmp -s - "$scratch/$name.$form" || { echo "  $name.$form: printed and written differ"; bad=1; }
  done
done
python3 "$here/view/files.py" "$scratch" || bad=1
"$nnex" profile "$here/../models/shapes/model.onnx" --seconds 0.1 --json > "$scratch/profile.json" 2>/dev/null
"$nnex" view "$here/../models/shapes/model.onnx" --profile "$scratch/profile.json" -o "$scratch/timed.html" -q || bad=1
"$nnex" view "$scratch/layers.onnx" --unfold -o "$scratch/unfolded.svg" -q || bad=1
[ "$(grep -o 'data-n=' "$scratch/unfolded.svg" | wc -l)" = 72 ] || { echo "  layers.onnx: needed 72 nodes unfolded"; bad=1; }
[ "$(grep -o 'data-n=' "$scratch/layers.svg" | wc -l)" = 6 ] || { echo "  layers.onnx: needed 6 nodes folded"; bad=1; }
# A structure without its weights, checked on the way.
mkdir "$scratch/lone" && cp "$here/../models/shapes/integer/symbol" "$scratch/lone"
"$nnex" view "$scratch/lone" -o "$scratch/lone.svg" -q || { echo "  view of a symbol without params: exit $?"; bad=1; }
grep -q 'data-n=' "$scratch/lone.svg" || { echo "  a symbol without params: needed its nodes"; bad=1; }
# Networks that people have, where the vectors are.
for model in "${NNEX_SHARED:-$here/../../shared}"/models/onnx/*/model.onnx; do
  [ -f "$model" ] || continue
  name=net_$(basename "$(dirname "$model")")
  "$nnex" view "$model" -o "$scratch/$name.html" -q || { echo "  view $name: exit $?"; bad=1; }
done
if [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && [ -d "$here/../bindings/js/node_modules/puppeteer-core" ]; then
  (cd "$here/../bindings/js" && node "$here/view/browser.mjs" "$scratch") || bad=1
else
  [ $bad = 0 ] && { echo "  the page in a browser was not tried: Chromium or bindings/js/node_modules/puppeteer-core is missing"; exit 77; }
fi
exit $bad
