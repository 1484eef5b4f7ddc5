#!/usr/bin/env python3
"""c_output.py NNEX ROOT [MODELS]: networks as C source (docs/c-output.md). Each is converted with its proof, compiled by every compiler that is here
(gcc, clang-14) without a warning, called by a program of its own on random inputs beside `nnex run` (floats within 1e-4 of the answers' root mean
square, integers bit for bit), and looks for no function but those of math.h. One of them runs under the sanitizers of addresses and of undefined
behaviour. Then what is refused, and how. ROOT: of the project; MODELS: a folder of more networks. Last line: N passed, N failed.
"""
import array
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

NNEX, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MODELS = sys.argv[3] if len(sys.argv) > 3 else None
COMPILERS = [c for c in ('gcc', 'clang-14') if shutil.which(c)]
FLAGS = ['-std=c99', '-O2', '-Wall', '-Wextra', '-Werror']
LETTERS = {'f64': 'd', 'f32': 'f', 'i64': 'q', 'i32': 'i', 'i16': 'h', 'i8': 'b', 'u64': 'Q', 'u32': 'I', 'u16': 'H', 'u8': 'B', 'bool': 'B'}
NUMPY = {'f64': '<f8', 'f32': '<f4', 'i64': '<i8', 'i32': '<i4', 'i16': '<i2', 'i8': '|i1', 'u64': '<u8', 'u32': '<u4', 'u16': '<u2', 'u8': '|u1', 'bool': '|b1'}
MATH = re.compile(r'^(a?(sin|cos|tan)h?|exp|expm1|log|log2|log1p|erfc?|fmod|pow|floor|ceil|round|rint|sqrt|copysign|fabs|mem(set|cpy|move))f?$')
counts = {'passed': 0, 'failed': 0}


def check(name, holds, why=''):
    counts['passed' if holds else 'failed'] += 1
    if not holds: print('FAILED  %s%s' % (name, ': ' + why if why else ''))
    return holds


def nnex(*words, **settings):
    return subprocess.run([NNEX, *words], capture_output=True, text=True, timeout=900, env={**os.environ, **settings})


def members(header, struct_name):
    body = re.search(r'typedef struct \{([^}]*)\} %s;' % struct_name, header).group(1)
    found = re.findall(r'(?:const )?\w+ \*(\w+); /\* (\w+)\[([\d,]*)\](?:: .*)? \*/', body)
    return [(name, kind, [int(e) for e in shape.split(',') if e]) for name, kind, shape in found]


def numbers(kind, count, seed):
    dice = random.Random(seed)
    if kind in ('f32', 'f64'): return array.array(LETTERS[kind], [dice.uniform(-1, 1) for _ in range(count)])
    top = {'bool': 1, 'i8': 127, 'u8': 255}.get(kind, 1)
    return array.array(LETTERS[kind], [dice.randint(0, top) for _ in range(count)])


def write_npy(path, kind, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (NUMPY[kind], ''.join('%d,' % e for e in shape))
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    with open(path, 'wb') as file: file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + values.tobytes())


def read_npy(path, kind):
    with open(path, 'rb') as file: content = file.read()
    at = 10 + struct.unpack('<H', content[8:10])[0]
    return array.array(LETTERS[kind], content[at:])


def main_program(name, inputs, outputs):
    """Reads the inputs from files, calls the network twice with one arena, and writes the outputs."""
    text = ['#include "%s.h"' % name, '#include <stdio.h>']
    types = {'f64': 'double', 'f32': 'float', 'bool': 'uint8_t'}
    types.update({k: '%sint%s_t' % ('u' if k[0] == 'u' else '', k[1:]) for k in LETTERS if k not in types})
    for n, kind, shape in inputs: text.append('static %s in_%s[%d];' % (types[kind], n, max(1, math.prod(shape))))
    for n, kind, shape in outputs: text.append('static %s out_%s[%d];' % (types[kind], n, max(1, math.prod(shape))))
    text.append('static double arena[%s_ARENA_BYTES / sizeof(double)];' % name.upper())
    text.append('int main(int argc, char **argv) {\n  FILE *f;\n  int next = 1;\n  if (argc != %d) return 9;' % (1 + len(inputs) + len(outputs)))
    for n, _, shape in inputs:
        text.append('  f = fopen(argv[next++], "rb");\n  if (!f || fread(in_%s, sizeof *in_%s, %d, f) != %d) return 9;\n  fclose(f);' % (n, n, math.prod(shape), math.prod(shape)))
    text.append('  const %s_inputs inputs = {%s};' % (name, ', '.join('in_' + n for n, _, _ in inputs) or '0'))
    text.append('  const %s_outputs outputs = {%s};' % (name, ', '.join('out_' + n for n, _, _ in outputs)))
    text.append('  for (int run = 0; run < 2; ++run) {\n    const int fault = %s_run(&inputs, &outputs, arena);\n    if (fault) return fault;\n  }' % name)
    for n, _, shape in outputs:
        text.append('  f = fopen(argv[next++], "wb");\n  if (!f || fwrite(out_%s, sizeof *out_%s, %d, f) != %d) return 9;\n  fclose(f);' % (n, n, math.prod(shape), math.prod(shape)))
    return '\n'.join(text + ['  return 0;\n}\n'])


def edges(*kinds):
    """What inputs are made of where squares overflow, or numbers are none."""
    return lambda kind, count, seed: array.array(LETTERS[kind], [kinds[i % len(kinds)] for i in range(count)])


def same(kind, a, b):
    if len(a) != len(b): return 'found %d elements; needed %d' % (len(b), len(a))
    if kind not in ('f32', 'f64'):
        wrong = sum(x != y for x, y in zip(a, b))
        return '%d of %d integers differ' % (wrong, len(a)) if wrong else ''
    finite = [x for x in a if math.isfinite(x)]
    mean = math.sqrt(sum(x * x for x in finite) / max(1, len(finite)))
    limit = 1e-4 if kind == 'f32' else 1e-9
    wrong = [abs(x - y) for x, y in zip(a, b) if x != y and not (x != x and y != y) and not abs(x - y) <= limit * (mean + abs(x))]
    return '%d of %d differ, by %g at most' % (len(wrong), len(a), max(wrong)) if wrong else ''


def network(label, model, options, sanitized=False, values_of=numbers, dialects=()):
    with tempfile.TemporaryDirectory() as scratch:
        name = re.sub(r'\W', '_', label)
        source = os.path.join(scratch, name + '.c')
        done = nnex('convert', model, source, '--json', *options)
        if not check(label + ': converted', done.returncode == 0, done.stderr.strip()[:600]): return
        told = json.loads(done.stdout)
        check(label + ': proven', told['format'] == 'c' and told['proof'].get('verdict') == 'same', done.stdout[:300])
        with open(source[:-1] + 'h') as file: header = file.read()
        inputs, outputs = members(header, name + '_inputs'), members(header, name + '_outputs')
        check(label + ': the arena is told', '#define %s_ARENA_BYTES %d\n' % (name.upper(), told['arena_bytes']) in header)
        given, wanted, files = [], [], []
        for i, (_, kind, shape) in enumerate(inputs):
            values = values_of(kind, math.prod(shape), i + 1)
            write_npy(os.path.join(scratch, 'in%d.npy' % i), kind, shape, values)
            with open(os.path.join(scratch, 'in%d' % i), 'wb') as file: file.write(values.tobytes())
            given += ['--input', os.path.join(scratch, 'in%d.npy' % i)]
            files.append(os.path.join(scratch, 'in%d' % i))
        for i in range(len(outputs)): wanted += ['--save', os.path.join(scratch, 'out%d.npy' % i)]
        ran = nnex('run', model, '--quiet', *given, *wanted, *options)
        if not check(label + ': nnex run', ran.returncode == 0, ran.stderr.strip()[:300]): return
        main = os.path.join(scratch, 'main.c')
        with open(main, 'w') as file: file.write(main_program(name, inputs, outputs))
        builds = [(c, []) for c in COMPILERS]
        if sanitized: builds.append((COMPILERS[0], ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']))
        builds += [(c, ['-std=' + dialect]) for c in COMPILERS for dialect in dialects]
        for compiler, more in builds:
            built = label + ' by ' + ' '.join([compiler, *more[-2:][:1]])
            program, part = os.path.join(scratch, 'program'), os.path.join(scratch, 'part.o')
            made = subprocess.run([compiler, *FLAGS, *more, '-c', source, '-o', part], capture_output=True, text=True)
            if not check(built + ': compiles without a warning', made.returncode == 0, made.stderr[:400]): continue
            if not more:
                symbols = subprocess.run(['nm', '-u', part], capture_output=True, text=True).stdout.split()
                strange = [s for s in symbols if s != 'U' and not MATH.match(s) and s != '_GLOBAL_OFFSET_TABLE_']
                check(built + ': needs math.h alone', not strange, ' '.join(strange))
            made = subprocess.run([compiler, *FLAGS, *more, main, part, '-o', program, '-lm'], capture_output=True, text=True)
            if not check(built + ': its header compiles', made.returncode == 0, made.stderr[:400]): continue
            out = [os.path.join(scratch, 'out%d' % i) for i in range(len(outputs))]
            ran = subprocess.run([program, *files, *out], capture_output=True, text=True)
            if not check(built + ': runs', ran.returncode == 0, 'exit code %d %s' % (ran.returncode, ran.stderr[:300])): continue
            for i, (n, kind, _) in enumerate(outputs):
                with open(out[i], 'rb') as file: answer = array.array(LETTERS[kind], file.read())
                differs = same(kind, read_npy(os.path.join(scratch, 'out%d.npy' % i), kind), answer)
                check('%s: %s' % (built, n), not differs, differs)


def refusals():
    with tempfile.TemporaryDirectory() as scratch:
        net, shapes = os.path.join(scratch, 'net.c'), os.path.join(ROOT, 'models/shapes/model.onnx')
        done = nnex('convert', shapes, net)
        check('an open extent is refused', done.returncode == 2 and "'picture' is f32[N,3,32,32]" in done.stderr and '--set' in done.stderr, done.stderr)
        check('nothing is written of it', os.listdir(scratch) == [], str(os.listdir(scratch)))
        done = nnex('convert', shapes, net, '--set', 'N=1', CC='no-such-compiler')
        check('without a compiler there is no proof', done.returncode == 4 and 'no-such-compiler' in done.stderr and '--no-verify' in done.stderr, done.stderr)
        check('and no file', os.listdir(scratch) == [], str(os.listdir(scratch)))
        done = nnex('convert', shapes, net, '--set', 'N=1', '--no-verify', CC='no-such-compiler')
        check('it is written without one', done.returncode == 0 and sorted(os.listdir(scratch)) == ['net.c', 'net.h'], done.stderr)
        with open(net, 'rb') as file: first = file.read()
        done = nnex('convert', shapes, net, '--set', 'N=2', '--no-verify')
        check('files that are there stay', done.returncode != 0 and '--force' in done.stderr, done.stderr)
        with open(net, 'rb') as file: check('as they are', file.read() == first)
        done = nnex('convert', shapes, os.path.join(scratch, 'again.c'), '--set', 'N=1', '--no-verify', '--name', 'net')
        with open(os.path.join(scratch, 'again.c'), 'rb') as file: check('the same bytes each time', file.read().replace(b'again.h', b'net.h') == first)
        done = nnex('inspect', net)
        check('C is not read', done.returncode == 3 and 'written and not read' in done.stderr, '%d %s' % (done.returncode, done.stderr))
        done = nnex('convert', shapes, os.path.join(scratch, 'net.txt'), '--to', 'c', '--set', 'N=1')
        check('a source ends in .c', done.returncode == 2 and 'needed a name in .c' in done.stderr, done.stderr)
        done = nnex('convert', shapes, os.path.join(scratch, 'A.C'), '--set', 'N=1')
        check('.C is C++', done.returncode == 2 and 'as compilers take .C for C++' in done.stderr, done.stderr)


def sizes():
    """Bytes of constants and of the arena, of networks whose floats are counted easily."""
    def size_of(label, body, dice=random.Random(7)):
        with tempfile.TemporaryDirectory() as scratch:
            path, net = os.path.join(scratch, label + '.onnxtxt'), os.path.join(scratch, label + '.c')
            with open(path, 'w') as file:
                file.write('<ir_version: 8, opset_import: ["" : 18]>\n' + re.sub(r'\{(\d+) numbers\}', lambda m: '{' + ', '.join('%.6g' % dice.uniform(-1, 1) for _ in range(int(m[1]))) + '}', body))
            done = nnex('convert', path, net, '--json')
            if not check(label + ': converted', done.returncode == 0, done.stderr[:300]): return 0, 0
            told = json.loads(done.stdout)
            check(label + ': no note tells of codes', 'notes' not in told or told['notes'] == [], str(told.get('notes')))
            with open(net[:-1] + 'h') as file: return int(re.search(r'(\d+) bytes of constants', file.read())[1]), told['arena_bytes']

    for columns in (1, 2, 15, 17):
        constants, _ = size_of('wide', 'g (float[1,512] x) => (float[1,%d] y) <float[512,%d] w = {%d numbers}> {\n  y = MatMul(x, w)\n}\n' % (columns, columns, 512 * columns))
        check('a matrix of %d columns is stored by itself' % columns, 0 < constants <= 512 * columns * 4 + 64, str(constants))
    constants, _ = size_of('tied', 'g (float[1,32] x) => (float[1,32] y) <float[32,32] w = {1024 numbers}> {\n  a = MatMul(x, w)\n  b = Relu(a)\n  c = MatMul(b, w)\n  d = Relu(c)\n  y = MatMul(d, w)\n}\n')
    check('weights that layers share are stored once', 0 < constants <= 4096 + 64, str(constants))
    plane = 4 * 24 * 24 * 4
    layers = ''.join('  c%d = Conv <pads = [1, 1, 1, 1]> (%s, w)\n  r%d = Relu(c%d)\n' % (i, 'r%d' % (i - 1) if i else 'x', i, i) for i in range(4))
    _, arena = size_of('chain', 'g (float[1,4,24,24] x) => (float[1,4,24,24] r3) <float[4,4,3,3] w = {144 numbers}> {\n%s}\n' % layers)
    check('what is element by element is computed in place', 0 < arena <= 2 * plane + 4096, str(arena))


def codes():
    """Products of codes: they are integers, stored as the model stores them, and give what nnex itself gives bit for bit."""
    dice = random.Random(11)
    def some(count, low, high): return '{' + ', '.join(str(dice.randint(low, high)) for _ in range(count)) + '}'
    def scales(count): return '{' + ', '.join('%.6g' % dice.uniform(0.002, 0.01) for _ in range(count)) + '}'
    def made(label, body, constants, arena=None):
        with tempfile.TemporaryDirectory() as folder:
            path, net = os.path.join(folder, label + '.onnxtxt'), os.path.join(folder, label + '.c')
            with open(path, 'w') as file: file.write('<ir_version: 8, opset_import: ["" : 18]>\n' + body)
            network(label, path, [], sanitized=True)
            done = nnex('convert', path, net, '--json')
            if not check(label + ': again', done.returncode == 0, done.stderr[:300]): return
            told = json.loads(done.stdout)
            check(label + ': constants', told['weight_bytes'] <= constants, str(told['weight_bytes']))
            if arena: check(label + ': arena', told['arena_bytes'] <= arena, str(told['arena_bytes']))

    # Between QuantizeLinear and DequantizeLinear: a scale for each channel, groups, strides, borders, a Relu, a pool, a sum of two, a matrix.
    made('between', 'g (float[1,4,12,12] x) => (uint8[1,8,6,6] r, float[1,5] y) <float s = {0.011}, uint8 z = {121}, float t = {0.05}, uint8 none = {0}, float u = {0.09}, int8 mid = {-7},\n'
         '  int8[8,4,3,3] w = %s, float[8] ws = %s, int8[8] wz = %s, int32[8] b = %s, float bs = {0.0001}, int32 bz = {0}, uint8[8,2,3,3] v = %s, float vs = {0.007}, uint8 vz = {90},\n'
         '  int8[5,288] m = %s, float[5] ms = %s, int8[5] mz = %s, int64[2] flat = {1, -1}> {\n'
         '  xq = QuantizeLinear(x, s, z)\n  xd = DequantizeLinear(xq, s, z)\n  wd = DequantizeLinear <axis = 0> (w, ws, wz)\n  bd = DequantizeLinear(b, bs, bz)\n'
         '  c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (xd, wd, bd)\n  e = Relu(c)\n  eq = QuantizeLinear(e, t, none)\n  ed = DequantizeLinear(eq, t, none)\n'
         '  vd = DequantizeLinear(v, vs, vz)\n  f = Conv <pads = [2, 2, 2, 2], dilations = [2, 2], group = 4> (ed, vd)\n  fq = QuantizeLinear(f, u, mid)\n  fd = DequantizeLinear(fq, u, mid)\n'
         '  p = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (fd)\n  a = Add(p, ed)\n  r = QuantizeLinear(a, u, none)\n  rd = DequantizeLinear(r, u, none)\n'
         '  h = Reshape(rd, flat)\n  md = DequantizeLinear <axis = 0> (m, ms, mz)\n  y = Gemm <transB = 1> (h, md)\n}\n'
         % (some(288, -128, 127), scales(8), '{0, 0, 0, 0, 0, 0, 0, 0}', some(8, -900, 900), some(144, 0, 255), some(1440, -100, 100), scales(5), '{0, 0, 0, 0, 0}'),
         288 + 2 * 144 + 1440 + 600, 4 * 12 * 12 + 4 * 8 * 6 * 6 + 8192)
    # Each operator that multiplies codes; zero points of weights, too, that bytes do not hold.
    made('operators', 'g (uint8[3,2,9] x, uint8[7,20] a) => (int32[3,4,9] c, int8[3,4,9] q, int32[7,6] m, uint8[7,6] n) <uint8 xz = {130}, int8[4,2,3] w = %s, int8 wz = {-3}, float s = {0.02},\n'
         '  float[4] ws = %s, int8 yz = {5}, int32[4] b = %s, uint8[20,6] v = %s, uint8[6] vz = {0, 255, 3, 128, 127, 200}, float ns = {0.7}, uint8 nz = {100}, int8[4] wzs = {-3, 0, 4, 127}> {\n'
         '  c = ConvInteger <pads = [1, 1]> (x, w, xz, wz)\n  q = QLinearConv <pads = [2, 0]> (x, s, xz, w, ws, wzs, ns, yz, b)\n'
         '  m = MatMulInteger(a, v, xz, vz)\n  n = QLinearMatMul(a, s, xz, v, s, nz, ns, nz)\n}\n' % (some(24, -128, 127), scales(4), some(4, -500, 500), some(120, 0, 255)), 24 + 48 + 2 * 240 + 200)


def classical():
    """Trees and their labels, orders, and what else reads where numbers say."""
    def made(label, ports, body, values_of=numbers):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, label + '.onnxtxt')
            with open(path, 'w') as file: file.write('<ir_version: 10, opset_import: ["" : 23, "ai.onnx.ml" : 3]>\n%s {\n%s}\n' % (ports, body))
            network(label, path, [], sanitized=True, values_of=values_of)
    tree = ('nodes_treeids = [0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids = [0, 2, 0, 0, 0, 1, 0, 0], nodes_values = [0.1, -0.3, 0, 0, 0, 0.25, 0, 0],\n'
            '    nodes_modes = ["BRANCH_LEQ", %s, "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 3, 0, 0, 0, 1, 0, 0], nodes_falsenodeids = [2, 4, 0, 0, 0, 2, 0, 0],\n'
            '    nodes_missing_value_tracks_true = [%s, 0, 0, 0, 0, 0, 0, 0]')
    regressor = tree + ', n_targets = 2, aggregate_function = "%s", base_values = [0.5, -1.0],\n    target_treeids = [0, 0, 0, 1, 1, 1], target_nodeids = [2, 3, 4, 1, 2, 2], target_ids = [0, 1, 0, 1, 0, 1], target_weights = [1.5, -2.25, 0.1, 3.0, -0.7, 0.6]'
    classifier = tree + ', classlabels_int64s = %s, post_transform = "%s",\n    class_treeids = [0, 0, 0, 1, 1], class_nodeids = [2, 3, 4, 1, 2], class_ids = %s, class_weights = [0.5, -0.25, 0.1, 0.3, -0.7]'
    made('trees', 'g (float[6,3] x) => (float[6,2] y, float[6,2] z, float[6,2] m, int64[6] l, float[6,3] p, int64[6] l2, float[6,2] p2)',
         '  y = ai.onnx.ml.TreeEnsembleRegressor < %s > (x)\n  z = ai.onnx.ml.TreeEnsembleRegressor < %s > (x)\n  m = ai.onnx.ml.TreeEnsembleRegressor < %s > (x)\n'
         '  l, p = ai.onnx.ml.TreeEnsembleClassifier < %s > (x)\n  l2, p2 = ai.onnx.ml.TreeEnsembleClassifier < %s > (x)\n'
         % (regressor % ('"BRANCH_LEQ"', '1', 'SUM'), regressor % ('"BRANCH_GT"', '0', 'AVERAGE'), regressor % ('"BRANCH_EQ"', '0', 'MIN'),
            classifier % ('"BRANCH_LEQ"', '0', '[7, -4, 300]', 'SOFTMAX', '[0, 1, 2, 0, 1]'), classifier % ('"BRANCH_LT"', '0', '[5, 9]', 'LOGISTIC', '[0, 0, 0, 0, 0]')))
    top = '  k = Constant <value_ints = [3]> ()\n  all = Constant <value_ints = [4]> ()\n  v, i = TopK <axis = 1> (x, k)\n  lv, li = TopK <axis = -1, largest = 0> (x, all)\n  only, dropped = TopK <axis = 0> (q, k)\n'
    made('order', 'g (float[2,5,4] x, uint8[6,2] q) => (float[2,3,4] v, int64[2,3,4] i, float[2,5,4] lv, int64[2,5,4] li, uint8[3,2] only)', top)
    made('order_of_none', 'g (float[2,5,4] x, uint8[6,2] q) => (float[2,3,4] v, int64[2,3,4] i, float[2,5,4] lv, int64[2,5,4] li, int64[3,2] dropped)', top,
         values_of=lambda kind, count, seed: edges(1, math.nan, -0.0, math.inf, 0.0, 1)(kind, count, seed) if kind == 'f32' else numbers('bool', count, seed))
    made('places_of_data', 'g (float[3,4,2] x, int64[2,2] at, float[2,2] u, int64[4] n, int64[3] m, float[2,3,4,6] h, float[8,2] c, float[8,2] s, int64[2,4] p) => (float[3,4,2] a, float[3,4,2] b, float[3,4,2] r, float[3,4,2] t, float[2,3,4,6] y)',
         '  a = ScatterND(x, at, u)\n  b = ScatterND <reduction = "add"> (x, at, u)\n  r = ReverseSequence(x, n)\n  t = ReverseSequence <batch_axis = 0, time_axis = 1> (x, m)\n'
         '  y = RotaryEmbedding <rotary_embedding_dim = 4, interleaved = 1> (h, c, s, p)\n')
    made('attention', 'g (float[1,4,3,8] q, float[1,2,5,8] k, float[1,2,5,8] v, bool[3,5] mask, float[2,3,8] q3) => (float[1,4,3,8] y, float[1,4,3,8] m, float[2,3,8] z)',
         '  y = Attention <is_causal = 1> (q, k, v)\n  m = Attention <scale = 0.5> (q, k, v, mask)\n  z = Attention <q_num_heads = 2, kv_num_heads = 2, softcap = 3.0> (q3, q3, q3)\n')
    made('turned', 'g (float[2,4,12] x, float[2,4,3] c, float[2,4,3] s) => (float[2,4,12] y)', '  y = RotaryEmbedding <num_heads = 2> (x, c, s)\n')


def together():
    """Two files compiled as one: what they share is there once, what is theirs has their names."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, model in (('first', 'depthwise'), ('second', 'transformer')):
            done = nnex('convert', os.path.join(ROOT, 'models/small', model + '.onnx'), os.path.join(scratch, name + '.c'), '--set', 'N=1', '--no-verify')
            check('%s.c' % name, done.returncode == 0, done.stderr)
        both = os.path.join(scratch, 'both.c')
        with open(both, 'w') as file: file.write('#include "first.c"\n#include "second.c"\n')
        for compiler in COMPILERS:
            made = subprocess.run([compiler, *FLAGS, '-c', both, '-o', os.path.join(scratch, 'both.o')], capture_output=True, text=True)
            check('two files as one by ' + compiler, made.returncode == 0, made.stderr[:400])


def alive(pid):
    try: os.kill(pid, 0)
    except ProcessLookupError: return False
    with open('/proc/%d/stat' % pid) as file: return file.read().rsplit(')', 1)[1].split()[0] != 'Z'


def compilers():
    """Compilers that fail for reasons of their own, and those that are still at work when nnex ends."""
    with tempfile.TemporaryDirectory() as scratch:
        net, shapes = os.path.join(scratch, 'net.c'), os.path.join(ROOT, 'models/shapes/model.onnx')
        for command in ('false', 'cc -include no/such.h'):
            done = nnex('convert', shapes, net, '--set', 'N=1', CC=command)
            check("'%s' is no compiler" % command, done.returncode == 4 and 'on a source of two lines, too' in done.stderr and '--no-verify' in done.stderr,
                  '%d %s' % (done.returncode, done.stderr))
            check('its lines are lines', '\\u000a' not in done.stderr, done.stderr)
        check('no file is left of them', os.listdir(scratch) == [], str(os.listdir(scratch)))
        foreign = os.path.join(scratch, 'foreign')  # a library of another processor: bytes 18 and 19 of an ELF file
        with open(foreign, 'w') as file:
            file.write('#!/bin/sh\ncc "$@" || exit\nwhile [ "$1" != -o ]; do shift; done\nprintf \'\\363\\0\' | dd of="$2" bs=1 seek=18 conv=notrunc 2> /dev/null\n')
        os.chmod(foreign, 0o755)
        done = nnex('convert', shapes, net, '--set', 'N=1', CC=foreign)
        check('a compiler of another machine', done.returncode == 4 and 'makes programs for another machine' in done.stderr and '--no-verify' in done.stderr,
              '%d %s' % (done.returncode, done.stderr))
        os.remove(foreign)
        slow, mark = os.path.join(scratch, 'slow'), os.path.join(scratch, 'mark')
        with open(slow, 'w') as file: file.write('#!/bin/sh\nsleep 47 & echo $$ $! >%s.new\nmv %s.new %s\nwait\n' % (mark, mark, mark))
        os.chmod(slow, 0o755)
        for how in ('--timeout', 'SIGTERM'):
            words = [NNEX, 'convert', shapes, net, '--set', 'N=1'] + (['--timeout', '2'] if how == '--timeout' else [])
            with subprocess.Popen(words, env={**os.environ, 'CC': slow}, stderr=subprocess.PIPE) as run:
                until = time.monotonic() + 60
                while not os.path.exists(mark) and time.monotonic() < until: time.sleep(0.02)
                if how == 'SIGTERM': run.terminate()
                run.communicate(timeout=60)
            check('%s ends nnex' % how, run.returncode == (3 if how == '--timeout' else -signal.SIGTERM), str(run.returncode))
            if not check('%s: the compiler was started' % how, os.path.exists(mark)): continue
            with open(mark) as file: pids = [int(word) for word in file.read().split()]
            until = time.monotonic() + 5
            while any(alive(pid) for pid in pids) and time.monotonic() < until: time.sleep(0.02)
            check('%s: it ends, and what it started' % how, not any(alive(pid) for pid in pids))
            os.remove(mark)
            check('%s leaves nothing' % how, os.listdir(scratch) == ['slow'], str(os.listdir(scratch)))


def refused_whole(model, options, *words):
    with tempfile.TemporaryDirectory() as scratch:
        done = nnex('convert', model, os.path.join(scratch, 'net.c'), *options)
        lines = done.stderr.strip().split('\n')
        check('%s is refused whole' % model, done.returncode == 4 and all(any(w in line for line in lines[1:]) for w in words), done.stderr)
        check('%s leaves nothing' % model, os.listdir(scratch) == [])


network('shapes', os.path.join(ROOT, 'models/shapes/model.onnx'), ['--set', 'N=2'], sanitized=True)
network('depthwise', os.path.join(ROOT, 'models/small/depthwise.onnx'), ['--set', 'N=1'])
network('transformer', os.path.join(ROOT, 'models/small/transformer.onnx'), ['--set', 'N=1'])
network('integers', os.path.join(ROOT, 'models/shapes/integer'), [], sanitized=True)
with tempfile.TemporaryDirectory() as folder:
    document = os.path.join(folder, 'net.nnef')
    done = nnex('convert', os.path.join(ROOT, 'models/shapes/model.onnx'), document, '--set', 'N=1')
    if check('an NNEF document', done.returncode == 0, done.stderr): network('document', document, [])
with tempfile.TemporaryDirectory() as folder:
    def text(label, body, **how):
        path = os.path.join(folder, label + '.onnxtxt')
        with open(path, 'w') as file: file.write('<ir_version: 8, opset_import: ["" : 18]>\n' + body)
        network(label, path, [], **how)
    # Names that headers have as macros, and what is written; some of them GNU C alone.
    text('names', 'g (float[3,8] LANES, float[8,16] WINDOW, float[16] SIZE_MAX, float[16] M_PI) => (float[3,16] HUGE_VAL, float[16] INT8_MAX) {\n'
         '  a = MatMul(LANES, WINDOW)\n  HUGE_VAL = Add(a, SIZE_MAX)\n  INT8_MAX = Mul(M_PI, SIZE_MAX)\n}\n', dialects=('gnu17',))
    body = ('g (float[2,4] x) => (float[2,1] y, float[2,1] s, float[2,4] n, uint8[2,4] q, float scale, uint8 zero) {\n  axes = Constant <value_ints = [1]> ()\n'
            '  y = ReduceL2(x, axes)\n  s = ReduceSumSquare(x, axes)\n  n = LpNormalization <p = 2> (x)\n  q, scale, zero = DynamicQuantizeLinear(x)\n}\n')
    # Results over what they are made of, and what may not be: read again, in another order, or of another type.
    text('places', 'g (float[1,2,3,3] x) => (float[1,2,3,3] y, float[1,2,3,3] z, int32[1,2,3,3] i, float[18] v, float[3,3] s) {\n'
         '  c = MaxPool <kernel_shape = [1, 1]> (x)\n  r = Neg(c)\n  t = Transpose <perm = [0, 1, 3, 2]> (r)\n  y = Add(r, t)\n  z = Sub(t, y)\n'
         '  p = MaxPool <kernel_shape = [1, 1]> (z)\n  ten = Constant <value_float = 10.0> ()\n  w = Mul(p, ten)\n  i = Cast <to = 6> (w)\n'
         '  flat = Constant <value_ints = [18]> ()\n  q = MaxPool <kernel_shape = [1, 1]> (t)\n  f = Reshape(q, flat)\n  v = Mul(f, f)\n'
         '  m = MatMul(q, q)\n  first = Constant <value_ints = [0, 1]> ()\n  n = ReduceSum <keepdims = 0> (m, first)\n  e = Exp(n)\n  s = Div(e, n)\n}\n', sanitized=True)
    text('dropout', 'g (float[2,4] x) => (float[2,4] y) {\n  r = Relu(x)\n  y = Dropout(r)\n}\n')
    text('large', body, values_of=edges(1e20, -3e19, 2e19, 1, 5, 2, 1, 0))
    text('small', body, values_of=edges(1e-25, -3e-26, 2e-25, 0))
    text('infinite', body, values_of=edges(math.inf, 2, -1, 3, 1))
    text('nan', body, values_of=edges(1, 2, math.nan, 3, 5))
sizes()
codes()
classical()
together()
refusals()
compilers()
if MODELS:
    def more(name, *options): network(name, os.path.join(MODELS, name, 'model.onnx'), [w for o in options for w in ('--set', o)])
    more('mnist_8')
    more('cifar_cnn', 'batch_size=1')
    more('go1_policy')
    more('dtln_1')
    more('cct_2_32_32_128')
    more('mnist_dynquant')
    more('xgboost_classifier_tree', 'input.0=3')
    more('xgboost_regressor_tree', 'input.0=3')
    refused_whole(os.path.join(MODELS, 'silero_vad', 'model.onnx'), ['--set', 'input.0=1', '--set', 'input.1=512', '--set', 'state.1=1'], 'if_else')
print('%d passed, %d failed' % (counts['passed'], counts['failed']))
sys.exit(counts['failed'] > 0)
