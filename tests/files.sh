#!/usr/bin/env bash
# files.sh NNEX: files that are written and lost by nobody, memory that hostile files cannot take, formats told by content.
. "$(dirname "$0")/support/command_line.sh"
nnex=$1
model=$(dirname "$0")/../models/shapes/model.onnx

# What every verb writes: nothing that is there is replaced, nor what a link leads to, unless --force says so.
kept() {  # kept FILE COMMAND...: the command, which writes FILE, is refused while something has that name; --force replaces it
  local file=$1; shift
  rm -f "$file" "$scratch/target"
  expect 0 "" "$@"
  for kind in file link dangling; do
    rm -f "$file" "$scratch/target"
    case $kind in
      file) echo precious > "$file" ;;
      link) echo precious > "$scratch/target"; ln -s "$scratch/target" "$file" ;;
      dangling) ln -s "$scratch/nowhere" "$file" ;;
    esac
    expect 2 "exists; --force replaces it" "$@"
    [ $kind = dangling ] || grep -qx precious "$file" || fault "$*: a $kind was lost"
    [ ! -e "$scratch/nowhere" ] || fault "$*: it wrote where a link leads to"
  done
  rm -f "$file"; echo old > "$file"
  expect 0 "" "$@" --force
  ! grep -qsx old "$file" || fault "$* --force: '$file' is the old one"
}
made=$scratch/made
mkdir "$made"
kept "$made/m.onnx" "$nnex" convert "$model" "$made/m.onnx"
rm "$made/m.onnx"; external() { rm -f "$made/w.onnx"; "$nnex" convert "$model" "$made/w.onnx" --external-data "$@"; }
kept "$made/w.onnx.data" external
kept "$made/m.tar" "$nnex" convert "$model" "$made/m.tar" --set N=1
kept "$made/m.tgz" "$nnex" convert "$model" "$made/m.tgz" --set N=1
kept "$made/m.webnn" "$nnex" convert "$model" "$made/m.webnn" --set N=1
kept "$made/m.mjs" "$nnex" convert "$model" "$made/m.mjs" --set N=1
kept "$made/m.js" "$nnex" convert "$model" "$made/m.js" --set N=1
program() { rm -f "$made/p.webnn"; "$nnex" convert "$model" "$made/p.webnn" --set N=1 "$@"; }
kept "$made/p.weights" program
for end in npy npz pb dat json; do kept "$made/y.$end" "$nnex" run "$model" --random --save "$made/y.$end"; done
kept "$made/t.json" "$nnex" profile "$model" --seconds 0.01 --trace "$made/t.json"
mkdir "$scratch/case" && cp -r "$(dirname "$model")"/{model.onnx,test_data_set_0} "$scratch/case"
kept "$made/rows.json" "$nnex" conform onnx "$scratch/case" --json "$made/rows.json"
mkdir "$scratch/counter"
printf '%s\n' 'version 1.0;' 'graph counter(x) -> (y) {' ' x = external(shape = [2]);' \
  " c = variable(shape = [2], label = 'c');" ' y = add(c, x);' ' n = update(c, y);' '}' > "$scratch/counter/graph.nnef"
kept "$made/c.dat" "$nnex" run "$scratch/counter" --random --seed-weights 1 --save-variables "$made"
[ -z "$(find "$made" -name '*.tmp')" ] || fault "temporary files are left" "$(ls "$made")"
# A limit of files' sizes is an error, after which nothing is left.
expect 3 "File too large" bash -c "ulimit -f 4; '$nnex' convert '$model' '$made/large.onnx' --opset 18 --no-verify"
[ -z "$(ls "$made" | grep large)" ] || fault "a write that failed leaves files" "$(ls "$made")"
# A name that nobody typed is not written through a link even then, nor is a folder on its way.
echo precious > "$scratch/target"; rm -f "$made/w.onnx.data"; ln -s "$scratch/target" "$made/w.onnx.data"
expect 0 "opset" "$nnex" convert "$model" "$made/w.onnx" --external-data --force
grep -qx precious "$scratch/target" || fault "--force wrote through the link of the data"
"$nnex" convert "$model" "$made/folder" --set N=1 >/dev/null; rm "$made/folder/graph.nnef"; ln -s "$scratch/target" "$made/folder/graph.nnef"
expect 2 "is not empty" "$nnex" convert "$model" "$made/folder" --set N=1
expect 0 "variables" "$nnex" convert "$model" "$made/folder" --set N=1 --force
grep -qx precious "$scratch/target" || fault "--force wrote through a link in the folder"

# Memory. peak MIB CODE TEXT COMMAND...: as expect, and the command holds less than that.
peak() {
  local most=$1 code=$2 text=$3; shift 3
  local out; out=$(timeout 100 python3 - "$most" "$code" "$text" "$@" 2>&1 <<'PY'
import resource, subprocess, sys
most, code, text, *command = sys.argv[1:]
done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if done.returncode != int(code) or text not in done.stdout or peak >= int(most):
    sys.exit(f"exit {done.returncode} (needed {code}), {peak} MiB (needed under {most}), {text!r} in:\n{done.stdout[:600]}")
PY
  ) || fault "$*:" "$out"
}
python3 - "$scratch" <<'PY'
import gzip, os, struct, sys, zipfile
folder = sys.argv[1]
def varint(n):
    out = b""
    while n >= 128: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def num(field, n): return varint(field << 3) + varint(n)
def msg(field, b): b = b.encode() if isinstance(b, str) else b; return varint(field << 3 | 2) + varint(len(b)) + b
def entry(key, value): return msg(13, msg(1, key) + msg(2, value))
def value(name, dims): return msg(1, name) + msg(2, msg(1, num(1, 1) + msg(2, b"".join(msg(1, num(1, d)) for d in dims))))
# 200 tensors of 1 MiB and of 256 KiB, all in one file; every second time it is spelt otherwise.
def external(name, tensors, each, data):
    with open(f"{folder}/{data}", "wb") as f: f.truncate(tensors * each)
    nodes, weights, last = b"", b"", "x"
    for i in range(tensors):
        nodes += msg(1, msg(1, last) + msg(1, f"w{i}") + msg(2, f"y{i}") + msg(4, "Add"))
        weights += msg(5, num(1, each // 4) + num(2, 1) + msg(8, f"w{i}") + num(14, 1) +
                       entry("location", data if i % 2 else "./" + data) + entry("offset", str(i * each)) + entry("length", str(each)))
        last = f"y{i}"
    graph = nodes + msg(2, "g") + weights + msg(11, value("x", [each // 4])) + msg(12, value(last, [each // 4]))
    open(f"{folder}/{name}", "wb").write(num(1, 8) + msg(7, graph) + msg(8, msg(1, "") + num(2, 17)))
external("copied.onnx", 200, 1 << 18, "copied.data")
external("mapped.onnx", 200, 1 << 20, "mapped.data")
# An archive of 4 GiB of zeros in 4 MiB: members of gzip, one after the other.
def tar_header(name, size):
    h = bytearray(512)
    h[:len(name)] = name
    h[100:108], h[124:136], h[148:156], h[156:157] = b"0000644\0", b"%011o\0" % size, b" " * 8, b"0"
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)
zeros = gzip.compress(bytes(1 << 26))
with open(f"{folder}/bomb.tgz", "wb") as f:
    f.write(gzip.compress(tar_header(b"w.dat", 4 << 30)))
    for _ in range(64): f.write(zeros)
with zipfile.ZipFile(f"{folder}/bomb.npz", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("picture.npy", bytes(1 << 28))
small = bytes(100 << 20)
text = b"version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2]); y = relu(x); }\n"
with open(f"{folder}/sparse.tgz", "wb") as f:
    f.write(gzip.compress(tar_header(b"graph.nnef", len(text)) + text + bytes(-len(text) % 512) +
                          tar_header(b"w.dat", len(small)) + small + bytes(1024)))
# 646 bytes of a progressive JPEG of 11,000 x 11,000 pixels, and a file full of its blocks.
def segment(kind, body): return bytes([255, kind]) + struct.pack(">H", len(body) + 2) + body
def jpeg(side, data):
    tables = b"".join(segment(0xC4, bytes([c]) + bytes([1] + [0] * 15) + b"\0") for c in (0x00, 0x10))
    frame = struct.pack(">BHHB", 8, side, side, 3) + b"".join(bytes([i, 0x11, 0]) for i in (1, 2, 3))
    scan = bytes([3, 1, 0, 2, 0, 3, 0, 0, 0, 0])
    return b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64)) + segment(0xC2, frame) + tables + segment(0xDA, scan) + data + b"\xff\xd9"
head = len(jpeg(11000, b""))
open(f"{folder}/small.jpg", "wb").write(jpeg(11000, bytes(646 - head)))
open(f"{folder}/long.jpg", "wb").write(jpeg(8000, bytes(200000)))
with open(f"{folder}/huge.npy", "wb") as f: f.truncate(1 << 43)
PY
peak 200 0 "multiply-adds" "$nnex" inspect "$scratch/copied.onnx"
peak 200 0 "multiply-adds" "$nnex" inspect "$scratch/mapped.onnx"
peak 300 0 "y199" "$nnex" run "$scratch/copied.onnx" --random
for verb in inspect check; do peak 300 3 "it unpacks to more than" "$nnex" $verb "$scratch/bomb.tgz"; done
peak 300 3 "--archive-ratio" "$nnex" run "$scratch/bomb.tgz" --random
peak 300 3 "unpacks to more than" "$nnex" run "$model" -i "$scratch/bomb.npz"
peak 300 3 "it unpacks to more than reading may take: 94371840 bytes" "$nnex" check "$scratch/sparse.tgz" --memory-limit 90 --archive-ratio 2000
peak 300 3 "it unpacks to more than 94371840 bytes" "$nnex" check "$scratch/sparse.tgz" --archive-limit 90 --archive-ratio 2000
peak 300 3 "it unpacks to more than 67108864 bytes" "$nnex" check "$scratch/sparse.tgz"
peak 300 0 "sound" "$nnex" check "$scratch/sparse.tgz" --archive-ratio 2000
peak 100 3 "646 bytes are too few for 11000 x 11000 pixels" "$nnex" run "$model" -i "$scratch/small.jpg"
peak 300 3 "a JPEG picture of 8000 x 8000 pixels in a file of" "$nnex" run "$model" -i "$scratch/long.jpg"
expect 3 "that reading may take" "$nnex" run "$model" -i "$scratch/huge.npy"
# Memory that cannot be had is refused with a sentence.
limited() { (ulimit -v "$1"; shift; exec "$@"); }
expect 3 "memory" limited 200000 "$nnex" run "$model" --random --set N=40000 --memory-limit 100000
expect 3 "nnex: " limited 150000 "$nnex" check "$scratch/sparse.tgz" --archive-ratio 2000

# Formats, told by what is in the files.
f=$scratch/formats; mkdir "$f" "$f/one" "$f/two" "$f/none"
"$nnex" convert "$model" "$f/m.webnn" --set N=1 -q
expect 0 "variables" "$nnex" convert "$f/m.webnn" "$f/from_webnn.tgz"
expect 0 "probabilities" "$nnex" run "$f/from_webnn.tgz" --random
cp "$f/m.webnn" "$f/program.json"
expect 0 "probabilities" "$nnex" run "$f/program.json" --random
expect 0 "sound" "$nnex" check "$f/program.json"
expect 0 "operations" "$nnex" convert "$f/program.json" "$f/same.mjs"
printf '\xef\xbb\xbfversion 1.0;\n' > "$f/mark.nnef"
printf '\xff\xfev\0e\0r\0s\0' > "$f/wide.nnef"
: > "$f/empty.nnef"; : > "$f/empty.onnx"
for verb in check "run --random" inspect dump; do
  code=3; [ "$verb" != check ] || code=1
  expect $code "byte order mark" "$nnex" $verb "$f/mark.nnef"
  expect $code "wide.nnef:1:1: " "$nnex" $verb "$f/wide.nnef"
  expect $code "empty.nnef:1:1: " "$nnex" $verb "$f/empty.nnef"
  expect 3 "'$f/empty.onnx' is empty" "$nnex" $verb "$f/empty.onnx"
done
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > "$f/lfs.onnx"
cp "$f/lfs.onnx" "$f/lfs.nnef"
printf 'PK\3\4\0\0\0\0\0\0archive/data.pkl' > "$f/net.pt"
printf '\x80\2\x8a\nl\xfc\x9cF' > "$f/old.pt"
printf '\x1c\0\0\0TFL3\x14\0' > "$f/net.tflite"
printf '\n <!DOCTYPE HTML><html>' > "$f/page.onnx"
printf '\x88\0\0\0\0\0\0\0{"__metadata__":{}}' > "$f/w.safetensors"
for row in "lfs.onnx|'git lfs pull' fetches" "lfs.nnef|'git lfs pull' fetches" "net.pt|torch.onnx.export" "old.pt|torch.onnx.export" \
  "net.tflite|a TensorFlow Lite model" "page.onnx|a web page" "w.safetensors|weights without a network"; do
  for verb in check "run --random" "convert --to onnx"; do
    expect 3 "${row#*|}" "$nnex" $verb "$f/${row%|*}" $([ "$verb" != "convert --to onnx" ] || echo "$f/unwritten")
  done
done
[ ! -e "$f/unwritten" ] || fault "a refused model was converted"
cp "$model" "$f/one/net.onnx"; echo text > "$f/one/README.md"
for name in a b; do cp "$model" "$f/two/$name.onnx"; done
expect 0 "probabilities" "$nnex" run "$f/one" --random
expect 0 "sound" "$nnex" check "$f/one"
expect 3 "holds 2 models; name one of them: $f/two/a.onnx, $f/two/b.onnx" "$nnex" run "$f/two" --random
expect 3 "holds no 'graph.nnef'" "$nnex" run "$f/none" --random
# An archive is opened as a folder is: whatever model lies in it, in a folder of its own too.
mkdir "$f/packed"; cp "$model" "$f/packed/net.onnx"; mkdir "$f/pair"; cp "${model%/*}"/integer/{symbol,params} "$f/pair"
mkdir "$f/beside"; "$nnex" convert "$model" "$f/beside/net.onnx" --external-data -q
tar -C "$f/packed" -czf "$f/onnx.tgz" net.onnx; tar -C "$f" -cf "$f/below.tar" packed; tar -C "$f" -czf "$f/beside.tar.gz" beside
tar -C "$f" -czf "$f/program.tgz" m.webnn m.weights; tar -C "$f/pair" -cf "$f/pair.tar" symbol params; tar -C "$f" -czf "$f/both.tgz" two
printf '\x89PNG\r\n\x1a\n' > "$f/none/net.onnx"; tar -C "$f/none" -czf "$f/wrong.tgz" net.onnx; rm "$f/none/net.onnx"
for packed in onnx.tgz below.tar beside.tar.gz program.tgz; do expect 0 "probabilities" "$nnex" run "$f/$packed" --random; done
for packed in onnx.tgz below.tar program.tgz pair.tar; do expect 0 "sound" "$nnex" check "$f/$packed"; done
expect 0 "cvm.version" "$nnex" inspect "$f/pair.tar"
expect 0 "a folder, 27 variables" "$nnex" convert "$f/onnx.tgz" "$f/unpacked.nnef" --set N=1
expect 3 "holds 2 models; name one of them: $f/both.tgz/two/a.onnx, $f/both.tgz/two/b.onnx" "$nnex" run "$f/both.tgz" --random
# What lies in an archive has a path.
tar -C "$f" -cf "$f/all.tar" two packed pair beside unpacked.nnef
for member in two/a.onnx packed beside beside/net.onnx unpacked.nnef unpacked.nnef/graph.nnef; do expect 0 "probabilities" "$nnex" run "$f/all.tar/$member" --random; done
expect 0 "cvm.version" "$nnex" inspect "$f/all.tar/pair"
expect 0 "sound" "$nnex" check "$f/all.tar/pair/symbol"
expect 0 "probabilities" "$nnex" run "$f/all.tar/two/a.onnx" --random --cache "$f/cache"
expect 3 "all.tar' holds no 'two/c.onnx'; it has " "$nnex" check "$f/all.tar/two/c.onnx"
expect 3 "all.tar/two' holds 2 models; name one of them: $f/all.tar/two/a.onnx, $f/all.tar/two/b.onnx" "$nnex" inspect "$f/all.tar/two"
cp "$f/one/README.md" "$f/one/notes.txt"; tar -C "$f/one" -cf "$f/text.tar" README.md notes.txt
expect 3 "none of the 2 files of '$f/text.tar' is a model" "$nnex" check "$f/text.tar"
rm "$f/one/notes.txt"
expect 3 "wrong.tgz' is a picture (PNG)" "$nnex" check "$f/wrong.tgz"
mkdir "$f/folder.onnx"; head -c 3000 /dev/zero > "$f/zeros.onnx"; printf '\x89PNG\r\n\x1a\n' > "$f/picture.onnx"
for row in "folder.onnx' is a folder, and holds no model" "zeros.onnx' is nothing but zeros" "picture.onnx' is a picture (PNG)"; do
  for verb in check "run --random"; do expect 3 "$row" "$nnex" $verb "$f/${row%%\'*}"; done
done
# What is laid out is a text, and no larger than one may be.
truncate -s 3G "$f/large.nnef"
peak 60 3 "large.nnef' has 3221225472 bytes" "$nnex" format "$f/large.nnef"
expect 3 "'$scratch/sparse.tgz' is no text" "$nnex" format "$scratch/sparse.tgz"
# What cannot be looked into is told in JSON too.
for path in nowhere.onnx "$f/net.pt" "$f/two" "$scratch/bomb.tgz"; do
  expect 3 '"faults"' "$nnex" check "$path" --json
done
expect 3 '"code": "unreadable"' "$nnex" check nowhere.onnx --json
exit $bad
