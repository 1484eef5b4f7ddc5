#!/usr/bin/env bash
# batch.sh NNEX [ranks]: many files through one model: every item answered once, with the same bytes, however many processes share the work and
# whichever of them is killed; with the word, under Open MPI.
. "$(dirname "$0")/support/command_line.sh"
nnex=$(realpath "$1") root=$(realpath "$(dirname "$0")/..")
shapes=$root/models/shapes
cd "$scratch" || exit 1
answers() { (cd "$1" && find . -name '*.npz' -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
pictures=("$shapes"/*.png) model=$shapes/model.onnx
slow_model() { printf '%s\n' 'version 1.0;' 'graph slow(x) -> (y) {' ' x = external(shape = [3,256,256]);' ' a = matmul(x, x); b = matmul(a, a); c = matmul(b, b); y = matmul(c, c);' '}' > slow/graph.nnef; }
mkdir -p in/more/deep in/.hidden
for ((i = 0; i < 300; ++i)); do cp "${pictures[i % ${#pictures[@]}]}" "in/more/deep/p$i.png"; done
cp "${pictures[0]}" in/.hidden/never.png
cp "${pictures[0]}" "in/a name of its own.png"
if [ "${2:-}" = ranks ]; then
  expect 0 "301 done" "$nnex" batch "$model" --input in --output alone
  for n in 1 2 3; do
    expect 0 "done" mpirun --allow-run-as-root --oversubscribe -n $n "$nnex" batch "$model" --input in --output "ranks$n" --share
    [ "$(answers "ranks$n")" = "$(answers alone)" ] || fault "$n ranks answered other bytes"
    [ "$(cat "ranks$n"/manifest-*.jsonl | grep -c '"item"')" = 301 ] || fault "$n ranks did items twice, or not at all"
  done
  # Without a word they share, too, and one of them says so; --shard divides otherwise, and a rank alone has nobody to share with.
  ranks() { mpirun --allow-run-as-root --oversubscribe "$@"; }
  ranks -n 2 "$nnex" batch "$model" --input in --output unasked >log 2>&1 || fault "two ranks: $(cat log)"
  [ "$(answers unasked)" = "$(answers alone)" ] || fault "two ranks without --share answered other bytes"
  [ "$(cat unasked/manifest-*.jsonl | grep -c '"item"')" = 301 ] || fault "two ranks without --share did items twice, or not at all"
  [ "$(grep -c 'the 2 ranks of Open MPI share the items' log)" = 1 ] || fault "that ranks share was not said once: $(cat log)"
  expect 0 "0 done, 0 failed, 301 done before" ranks -n 2 "$nnex" batch "$model" --input in --output unasked
  expect 0 "301 done, 0 failed" ranks -n 2 "$nnex" batch "$model" --input in --output each --shard 1/1 --force
  expect 0 " failed" ranks -n 2 "$nnex" batch "$model" --input in --output auto --shard auto
  [ "$(answers auto)" = "$(answers alone)" ] && [ -e auto/manifest-2-of-2.jsonl ] || fault "fixed shards of two ranks"
  expect 0 "301 done, 0 failed" ranks -n 1 "$nnex" batch "$model" --input in --output one
  [ -e one/manifest.jsonl ] || fault "one rank shared with nobody"
  # A rank that is killed: with --enable-recovery the others do its part; without, mpirun ends them all, and the same command goes on.
  mkdir slow
  slow_model
  expect 0 "301 done" "$nnex" batch slow --input in --output slow-alone --layout nchw
  for recovery in --enable-recovery ""; do
    folder=killed$recovery
    # shellcheck disable=SC2086
    mpirun --allow-run-as-root --oversubscribe $recovery -n 3 "$nnex" batch slow --input in --output "$folder" --layout nchw --share --lease 1 --jobs 1 -q >log 2>&1 &
    ranks=$!
    for ((i = 0; i < 300; ++i)); do victim=$(grep -l '"item"' "$folder"/manifest-*.jsonl 2>/dev/null | tail -n 1); [ -n "$victim" ] && break; sleep 0.02; done
    victim=${victim%.jsonl} victim=${victim##*-}
    kill -9 "$victim" || fault "no rank to kill"
    wait $ranks
    rc=$?
    if [ -n "$recovery" ]; then [ $rc = 0 ] || fault "mpirun $recovery ended with $rc"
    else
      [ $rc != 0 ] || fault "mpirun did not end with its rank"
      expect 0 "done" mpirun --allow-run-as-root --oversubscribe -n 2 "$nnex" batch slow --input in --output "$folder" --layout nchw --share --lease 1 --jobs 1
    fi
    [ "$(answers "$folder")" = "$(answers slow-alone)" ] || fault "a rank that was killed ($recovery) lost or changed answers"
  done
  exit $bad
fi
# Alone: what run says, once; again only what changed, or all.
expect 0 "301 done, 0 failed, 0 done before" "$nnex" batch "$model" --input in --output alone
expect 0 "" "$nnex" run "$model" -i "${pictures[3]}" --save one.npz -q
cmp -s one.npz alone/more/deep/p3.png.npz || fault "the answer is not that of nnex run"
expect 2 "--resume goes on" "$nnex" batch "$model" --input in --output alone
truncate -s -9 alone/manifest.jsonl  # a line that was cut off is done again, and the manifest stays one
expect 0 "1 done, 0 failed, 300 done before" "$nnex" batch "$model" --input in --output alone --resume
expect 0 "0 done, 0 failed, 301 done before" "$nnex" batch "$model" --input in --output alone --resume
rm alone/more/deep/p7.png.npz
truncate -s 10 alone/more/deep/p8.png.npz
cp "${pictures[1]}" in/new.png
touch -d '2001-01-01' in/more/deep/p9.png
expect 0 "4 done, 0 failed, 298 done before" "$nnex" batch "$model" --input in --output alone --resume
expect 0 "302 done, 0 failed, 0 done before" "$nnex" batch "$model" --input in --output alone --resume --mean 0.5
expect 0 "302 done, 0 failed, 0 done before" "$nnex" batch "$model" --input in --output alone --force
whole=$(answers alone)
# Lists, JSON, other inputs; what cannot be read fails by itself.
printf '%s\n' in/new.png in/more/deep/p1.png nowhere.png > list
expect 1 "2 done, 1 failed" "$nnex" batch "$model" --input list --output listed --format json --topk 1 --labels "$shapes/labels.txt"
grep -q '"label"' listed/in/new.png.json || fault "no label in the answer as JSON"
grep -q '"item":"nowhere.png","error"' listed/manifest.jsonl || fault "the manifest does not have what failed"
echo in/new.png | expect 0 "1 done" "$nnex" batch "$model" --input - --output piped
echo ../x.png > outside
expect 2 "without '..'" "$nnex" batch "$model" --input outside --output refused
# On a terminal a line is written over: its commands are commands.
script -qec "'$nnex' batch '$model' --input in --output on-terminal" /dev/null >log </dev/null
grep -q $'\r.* of [0-9]* items' log && ! grep -qF 'u000d' log || fault "progress on a terminal: $(head -c 300 log)"
# The folder of the items takes no answers, which would be items; nothing is made where there are no items.
expect 2 "is the folder of the items" "$nnex" batch "$model" --input in --output in/../in
expect 3 "nowhere" "$nnex" batch "$model" --input nowhere --output never
[ ! -e never ] || fault "a folder is made for the answers of nothing"
mkdir empty
expect 2 "found no items" "$nnex" batch "$model" --input empty --output refused
expect 2 "needed I/N" "$nnex" batch "$model" --input in --output refused --shard 3/2
expect 2 "needed --format json" "$nnex" batch "$model" --input in --output refused --topk 3
expect 2 "no input 'nothing'" "$nnex" batch "$model" --input in --output refused --fixed "nothing=${pictures[0]}"
mkdir two
printf '%s\n' 'version 1.0;' 'graph two(a, b) -> (y) {' ' a = external(shape = [2]); b = external(shape = [2]);' ' y = sub(a, b);' '}' > two/graph.nnef
mkdir pairs
echo '[5, 7]' > pairs/x.json
echo '[1, 2]' > b.json
expect 0 "1 done" "$nnex" batch two --input pairs --output differences --fixed b=b.json --format json
tr -d ' \n' < differences/x.json.json | grep -qF '"values":[4.0,5.0]' || fault "a - b with b fixed: $(cat differences/x.json.json)"
expect 1 "input 'b' is missing" "$nnex" batch two --input pairs --output missing
# --fixed leaves an input for the items, and gives each once.
expect 2 "input 'picture' is given twice: by --fixed '${pictures[0]}' and by the items" "$nnex" batch "$model" --input in --output twice --fixed "picture=${pictures[0]}"
expect 2 "input 'a' is given twice: by --fixed 'b.json' and by the items" "$nnex" batch two --input pairs --output twice --fixed a=b.json --fixed b=b.json
expect 2 "input 'b' is given twice: by --fixed 'b.json' and by --fixed 'pairs/x.json'" "$nnex" batch two --input pairs --output twice --fixed b=b.json --fixed b=pairs/x.json
[ ! -e twice ] || fault "what was refused made a folder"
# Links lead in circles, and to a folder twice: each folder is visited once, under the name that is none of a link.
mkdir -p round/a round/b
cp "${pictures[0]}" round/b/one.png
ln -s . round/loop; ln -s .. round/a/up; ln -s ../b round/a/again; ln -s b round/aa; ln -s "$shapes/test_data_set_0" round/set; ln -s "${pictures[1]}" round/two.png
expect 0 "3 done, 0 failed" timeout 60 "$nnex" batch "$model" --input round --output round/answers
[ "$(grep -o '"item":"[^"]*"' round/answers/manifest.jsonl | sort | tr '\n' ' ')" = '"item":"b/one.png" "item":"set" "item":"two.png" ' ] || fault "items behind links: $(cat round/answers/manifest.jsonl)"
expect 0 "0 done, 0 failed, 3 done before" timeout 60 "$nnex" batch "$model" --input round --output round/answers --resume
# Names that are no UTF-8 are told apart, and found again.
mkdir bytes
for name in $'x\xff.png' $'x\xfe.png' 'x%FF.png'; do cp "${pictures[2]}" "bytes/$name" || fault "no file of that name"; done
echo nothing > $'bytes/y\xff.png'
expect 1 "3 done, 1 failed" "$nnex" batch "$model" --input bytes --output bytes-answers
grep -qF '{"item":"x%FF.png","size"' bytes-answers/manifest.jsonl || fault "a name with an escape of its own: $(cat bytes-answers/manifest.jsonl)"
grep -qF '"output":"x%FE.png.npz"' bytes-answers/manifest.jsonl && grep -qF '"escaped":true' bytes-answers/manifest.jsonl || fault "names that are no UTF-8: $(cat bytes-answers/manifest.jsonl)"
rm $'bytes/y\xff.png'
expect 0 "0 done, 0 failed, 3 done before" "$nnex" batch "$model" --input bytes --output bytes-answers --resume
rm $'bytes-answers/x\xfe.png.npz'
expect 0 "1 done, 0 failed, 2 done before" "$nnex" batch "$model" --input bytes --output bytes-answers --resume
# Fixed shards: every item is of one of them.
for i in 1 2 3; do expect 0 " failed" env SLURM_ARRAY_TASK_ID=$((i + 4)) SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_COUNT=3 "$nnex" batch "$model" --input in --output shards --shard auto; done
[ "$(answers shards)" = "$whole" ] || fault "three shards answered other bytes"
[ "$(cat shards/manifest-*-of-3.jsonl | grep -c '"item"')" = 302 ] || fault "three shards did items twice, or not at all"
mkdir bin && ln -s "$nnex" bin/nnex
for i in 0 1 2 3; do
  expect 0 " failed" env PATH="$PWD/bin:$PATH" MODEL="$model" INPUT=in OUTPUT=array SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=4 bash "$root/deploy/batch.sbatch"
done
[ "$(answers array)" = "$whole" ] || fault "an array of four jobs answered other bytes"
# Shared: one of three is killed in the middle of its work, another is cut off for longer than its lease and comes back.
mkdir slow
slow_model
expect 0 "302 done" "$nnex" batch slow --input in --output slow-alone --layout nchw
shared() { exec "$nnex" batch slow --input in --output slow-shared --layout nchw --share --lease 1 --jobs 1 -q; }
ids=()
for i in 1 2 3; do shared & ids+=($!); done
for ((i = 0; i < 200; ++i)); do grep -qs '"item"' "slow-shared/manifest-$(hostname)-${ids[1]}.jsonl" && break; sleep 0.05; done
kill -9 "${ids[1]}" || fault "the process ended before it was killed"
wait "${ids[1]}" 2>/dev/null
kill -STOP "${ids[0]}" && sleep 2.5 && kill -CONT "${ids[0]}"
for i in 0 2; do wait "${ids[i]}" || fault "process $i of a shared batch failed"; done
[ "$(answers slow-shared)" = "$(answers slow-alone)" ] || fault "a shared batch with a process killed lost or changed answers"
expect 0 "0 done, 0 failed, 302 done before" "$nnex" batch slow --input in --output slow-shared --layout nchw --resume
# What counts is the answer that is there: not another model's, nor one of what the item was in between, whatever the order of lines and manifests.
text_model() { printf '%s\n' '<ir_version: 8, opset_import: ["" : 18]>' "$1" > "$2"; }
text_model 'g (float[4] x) => (float[4] y) <float k = {2}> { y = Mul (x, k) }' twice.onnxtxt
text_model 'g (float[4] x) => (float[4] y) <float k = {3}> { y = Mul (x, k) }' thrice.onnxtxt
value() { "$nnex" run same.onnxtxt -i "y=$1" --json | tr -d ' \n' | grep -o '"values":\[[^]]*' | cut -d[ -f2 | cut -d, -f1; }
text_model 'g (float[4] y) => (float[4] z) { z = Identity (y) }' same.onnxtxt
mkdir ones
echo '[1, 1, 1, 1]' > ones/x.json
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch twice.onnxtxt --input ones --output turns
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch thrice.onnxtxt --input ones --output turns --resume
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch twice.onnxtxt --input ones --output turns --resume
[ "$(value turns/x.json.npz)" = 2.0 ] || fault "--resume took another model's answer for this one's"
expect 0 "0 done, 0 failed, 1 done before" "$nnex" batch twice.onnxtxt --input ones --output turns --resume
for how in --share --resume; do
  mkdir "turned$how"
  echo '[1, 1, 1, 1]' > first.json; echo '[7, 7, 7, 7]' > second.json
  touch -d 2024-01-01 first.json; touch -d 2024-02-02 second.json
  for version in first second first; do
    cp -p $version.json "turned$how/x.json"
    expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch twice.onnxtxt --input "turned$how" --output "restored$how" $how
  done
  [ "$(value "restored$how/x.json.npz")" = 2.0 ] || fault "$how: an item that was restored kept the answer of what it was in between"
  touch "turned$how/x.json"
  expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch twice.onnxtxt --input "turned$how" --output "restored$how" $how
  for i in 1 2 3; do expect 0 "0 done, 0 failed, 1 done before" "$nnex" batch twice.onnxtxt --input "turned$how" --output "restored$how" $how; done
done
# Weights in another file are of the model, whatever its answers to a trial.
{ printf '%s\n' '<ir_version: 8, opset_import: ["" : 18]>' 'g (int64[N] i) => (float[N] y) <float[1000] w = {'; seq -s, 1000; echo '}> { y = Gather (w, i) }'; } > table.onnxtxt
expect 0 "" "$nnex" convert table.onnxtxt table.onnx --external-data
mkdir rows
echo '[700]' > rows/x.json
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch table.onnx --input rows --output looked-up
expect 0 "0 done, 0 failed, 1 done before" "$nnex" batch table.onnx --input rows --output looked-up --resume
printf '\0\0\200\277' | dd of=table.onnx.data bs=4 seek=700 conv=notrunc status=none
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch table.onnx --input rows --output looked-up --resume
# An answer as JSON has all values; texts need JSON, which is said before anything is read.
text_model 'g (float[N] x) => (float[N] y) { y = Identity (x) }' open.onnxtxt
mkdir many texts
{ echo '['; seq -s, 1001; echo ']'; } > many/x.json
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch open.onnxtxt --input many --output all --format json
grep -q '"statistics"' all/x.json.json && fault "an answer of 1001 elements without its values"
tr -d ' \n' < all/x.json.json | grep -q '"values":\[1.0,.*,1001.0\]' || fault "values of an answer of 1001 elements"
text_model 'g (string[N] x) => (string[N] y) { y = Identity (x) }' texts.onnxtxt
echo '["a"]' > texts/x.json
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch texts.onnxtxt --input texts --output texts-answers
text_model 'g (string[N] y) => (string[N] z) { z = Identity (y) }' read.onnxtxt
expect 0 '"a"' "$nnex" run read.onnxtxt -i texts-answers/x.json.npz --json
text_model 'g (float[N] x) => (bfloat16[N] y) { y = Cast <to = 16> (x) }' halves.onnxtxt
expect 2 "needed --format json" "$nnex" batch halves.onnxtxt --input ones --output no-halves
expect 0 "1 done, 0 failed, 0 done before" "$nnex" batch halves.onnxtxt --input ones --output halves-answers --format json
# An item has its time; two processes do not write one manifest; what is refused makes no folder.
text_model 'g (int64 n, float[N] a) => (float[N] y) { c = Constant <value = bool {1}> ()  y = Loop (n, c, a) <body = b (int64 i, bool go, float[N] v) => (bool again, float[N] w) { again = Identity (go)  w = Sin (v) }> }' counting.onnxtxt
mkdir long
echo '{"n": 1000000000000, "a": [1, 2]}' > long/a.json
echo '{"n": 3, "a": [1, 2]}' > long/b.json
expect 1 "a.json: took longer than 0.5 s (--timeout)" timeout 60 "$nnex" batch counting.onnxtxt --input long --output timed --timeout 0.5
expect 1 "1 done, 1 failed" timeout 60 "$nnex" batch counting.onnxtxt --input long --output timed --timeout 0.5 --force
# Nor does what is tried before the first item take longer.
text_model 'g (float[N] a) => (float[N] y) { n = Constant <value = int64 {9000000000000000000}> ()  c = Constant <value = bool {1}> ()  y = Loop (n, c, a) <body = b (int64 i, bool go, float[N] v) => (bool again, float[N] w) { again = Identity (go)  w = Sin (v) }> }' endless.onnxtxt
mkdir short
echo '[1]' > short/a.json
expect 1 "a.json: took longer than 0.5 s (--timeout)" timeout 60 "$nnex" batch endless.onnxtxt --input short --output endless --timeout 0.5
"$nnex" batch counting.onnxtxt --input long --output held -q --jobs 1 2>/dev/null & held=$!
for ((i = 0; i < 200; ++i)); do [ -e held/manifest.jsonl ] && break; sleep 0.05; done
expect 2 "is written by another process" timeout 60 "$nnex" batch counting.onnxtxt --input long --output held --resume
kill $held
wait $held 2>/dev/null
expect 2 "needed NAME=FILE" "$nnex" batch two --input pairs --output no-name --fixed b.json
expect 2 "both standard input" "$nnex" batch - --input - --output no-input < twice.onnxtxt
expect 2 "without '..'" "$nnex" batch "$model" --input outside --output no-list
for folder in no-halves no-name no-input no-list; do [ ! -e $folder ] || fault "what was refused made the folder $folder"; done
exit $bad
