#!/usr/bin/env bash
# endings.sh NNEX: programs that cannot say what they have to, that a signal ends, whose reader goes away; names that would command a terminal.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
model=$(dirname "$0")/../models/shapes/model.onnx

# Exit codes are the same where nobody hears the message.
head -c 5000 "$model" > "$scratch/cut.onnx"
mute() {  # mute CODE COMMAND...
  local code=$1 got; shift
  for where in '2>&-' '2>/dev/full' '>/dev/null 2>/dev/full'; do
    eval '"$@" '"$where" >/dev/null; got=$?
    [ $got = "$code" ] || fault "$* $where: exit $got; needed $code"
  done
  "$@" >/dev/full 2>/dev/full; got=$?
  [ $got = "$code" ] || [ $got = 3 ] || fault "$* >/dev/full 2>/dev/full: exit $got; needed $code or 3"
}
mute 3 "$nnex" run nowhere.onnx --random
mute 3 "$nnex" run "$scratch/cut.onnx" --random
mute 1 "$nnex" check "$scratch/cut.onnx"
mute 3 "$nnex" inspect nowhere.onnx
mute 2 "$nnex" run "$model"
mute 2 "$nnex" conform onnx
mute 3 "$nnex" conform onnx "$scratch/nowhere"
mute 2 "$nnex" chek "$model"
mute 2 "$nnex" convert "$model" "$scratch/m.xyz"
mute 0 "$nnex" run "$model" --random --threads 100000
NNEX_PROGRESS=always "$nnex" compare "$model" --command 'sleep 1.7' >/dev/null 2>/dev/full; got=$?
[ $got = 3 ] || fault "a line of progress that nobody sees: exit $got; needed 3"
"$nnex" inspect "$model" >/dev/full 2>"$scratch/said"; got=$?
{ [ $got = 3 ] && grep -q "cannot write to standard output" "$scratch/said"; } || fault "inspect >/dev/full: exit $got" "$(cat "$scratch/said")"
# What is said to nobody goes into no file, which would have the number of standard error.
"$nnex" run "$model" --random --threads 100000 --save "$scratch/first.npy" 2>/dev/null >/dev/null
"$nnex" run "$model" --random --threads 100000 --save "$scratch/second.npy" 2>&- >/dev/null
cmp -s "$scratch/first.npy" "$scratch/second.npy" || fault "a file without standard error has other bytes"

# Names of a file are shown, whatever they hold; JSON stays JSON.
python3 - "$scratch/esc.onnx" <<'PY'
import sys
def field(number, data): return bytes([number << 3 | 2, len(data)]) + data
tensor = lambda name: field(1, name) + field(2, field(1, b"\x08\x01" + field(2, field(1, b"\x08\x02"))))
y, node = b"y\x1b[31mred\x07\xc2\x9b", b"n\x1b]0;title\x07"
graph = field(1, field(1, b"x") + field(2, y) + field(3, node) + field(4, b"Relu")) + field(2, b"g") + field(11, tensor(b"x")) + field(12, tensor(y))
open(sys.argv[1], "wb").write(b"\x08\x08" + field(7, graph) + field(8, field(1, b"") + b"\x10\x11"))
PY
e=$scratch/esc.onnx
for words in "run --random" inspect check why dump "ops --used-by" "profile --random --seconds 0.05" "bench --random --seconds 0.05" "compare $e" "run --random --save nosuch=y.npy" \
  "why nosuch" "inspect --json" "run --random --json" "view -o - --to svg" "view -o - --to dot" "view -o - --to html" "run -i nosuch=x.npy" "run --random --topk 1" "run --random --hash-layers" "run --random --check-nan"; do
  read -r verb rest <<<"$words"
  [ "$verb $rest" = "ops --used-by" ] && set -- ops --used-by "$e" || set -- "$verb" "$e" $rest
  out=$("$nnex" "$@" 2>&1 | LC_ALL=C tr -d '\n\t'; echo .)
  if LC_ALL=C grep -qaP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$out"; then fault "$*: control characters in" "$out"; fi
  if [[ $words = *--json* ]]; then "$nnex" "$@" | python3 -c 'import json,sys; assert "\x1b[31m" in json.dumps(json.load(sys.stdin), ensure_ascii=False).replace("\\u001b", "\x1b")' || fault "$*: no JSON with the name"; fi
done
"$nnex" inspect "$e" | grep -qF 'y\u001b[31mred\u0007\u009b' || fault "inspect shows no name" "$("$nnex" inspect "$e")"
expect_no_name=$("$nnex" run $'no\x1b[31mfile.onnx' --random 2>&1)
grep -qF 'no\u001b[31mfile.onnx' <<<"$expect_no_name" || fault "an error with a name as it is" "$expect_no_name"

# A signal leaves nothing of what was being written, wherever that was.
{
  echo 'version 1.0;'; echo 'graph g(x, f) -> (y) { x = external(shape = [1, 64, 256, 256]); f = external(shape = [64, 64, 3, 3]);'
  at=x; for i in $(seq 100); do echo "  t$i = conv($at, f);"; at=t$i; done
  echo "  y = relu($at); }"
} > "$scratch/slow.nnef"
ended() {  # ended SIGNAL COMMAND...: ends it in the middle
  local signal=$1; shift
  mkdir -p "$scratch/out/tmp"
  TMPDIR=$scratch/out/tmp timeout -s "$signal" 1.5 "$@" >/dev/null 2>&1
  local left; left=$(cd "$scratch/out" && find . -mindepth 1 ! -path ./tmp)
  [ -z "$left" ] || fault "$* after SIG$signal: it leaves" "$left"
  rm -rf "$scratch/out"
}
# Before: that something is there in the middle, else nothing is tested.
mkdir -p "$scratch/out"
"$nnex" convert "$scratch/slow.nnef" "$scratch/out/m.onnx" >/dev/null 2>&1 & pid=$!
for i in $(seq 100); do [ -z "$(ls "$scratch/out")" ] || break; sleep 0.05; done
ls "$scratch/out" | grep -q tmp || fault "nothing is written while a conversion is proven"
kill -TERM $pid; wait $pid; got=$?
[ $got = 143 ] || fault "convert after SIGTERM: exit $got; needed 143"
[ -z "$(ls "$scratch/out")" ] || fault "convert after SIGTERM leaves" "$(ls "$scratch/out")"
rm -rf "$scratch/out"
for signal in INT TERM HUP; do ended $signal "$nnex" convert "$scratch/slow.nnef" "$scratch/out/m.onnx"; done
for name in m.nnef.tgz m.c folder m.webnn; do ended INT "$nnex" convert "$scratch/slow.nnef" "$scratch/out/$name"; done
ended INT "$nnex" convert "$scratch/slow.nnef" "$scratch/out/m.onnx" --external-data
ended TERM "$nnex" convert "$scratch/slow.nnef" - --to onnx
# Nor does a reader that has seen enough, or a limit of time.
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp "$nnex" convert "$model" - --to onnxtxt 2>/dev/null | head -n 1 >/dev/null
[ -z "$(ls "$scratch/tmp")" ] || fault "convert - | head leaves" "$(ls -R "$scratch/tmp")"
exit $bad
