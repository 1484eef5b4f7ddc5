#!/usr/bin/python3
"""schema.py NNEX: what verbs print with --json is what docs/schema says, and every schema that the sources name is there.

Needs python3-jsonschema; 77 and a sentence where it is missing. Last line: N passed, N failed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

try:
    import jsonschema
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

NNEX = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..')
SHAPES = os.path.join(ROOT, 'models', 'shapes')
FOLDER = os.path.join(ROOT, 'docs', 'schema')
# Formats between parts of nnex, which are told elsewhere: a page's data, a module's weights, requests to programs.
ELSEWHERE = {'nnex.view/1', 'nnex.webnn/1', 'nnex.exchange/1'}

counts = {'passed': 0, 'failed': 0}


def tell(good, what):
    counts['passed' if good else 'failed'] += 1
    print('%s %s' % ('ok     ' if good else 'FAILED ', what))


schemas = {}
for name in sorted(os.listdir(FOLDER)):
    with open(os.path.join(FOLDER, name)) as file:
        schemas[name[:-5].replace('-', '/')] = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schemas[name[:-5].replace('-', '/')])


def of(value, what):
    """Whether the object is of the schema it names, and the schema says all of it."""
    faults = sorted(jsonschema.Draft202012Validator(schemas[value['schema']]).iter_errors(value), key=str)
    tell(not faults, '%s: %s%s' % (value['schema'], what, ''.join('\n    %s: %s' % (f.json_path, f.message[:300]) for f in faults[:5])))


def printed(*words, code=0):
    done = subprocess.run([NNEX, *words], capture_output=True, text=True, cwd=scratch.name)
    if done.returncode != code:
        return tell(False, '%s: exit code %d (needed %d): %s' % (' '.join(words), done.returncode, code, done.stderr[-300:]))
    if code == 0 or done.stdout:
        of(json.loads(done.stdout), ' '.join(os.path.basename(w) if '/' in w else w for w in words))


named = set()
for top in ('apps', 'src', os.path.join('bindings', 'js', 'packages', 'nnex', 'src')):
    for folder, _, files in os.walk(os.path.join(ROOT, top)):
        for name in files:
            with open(os.path.join(folder, name), errors='replace') as file:
                named |= set(re.findall(r'["\'](nnex\.[a-z_]+/\d+)["\']', file.read()))
tell(named - ELSEWHERE == set(schemas), 'one schema for each name in the sources: not both in %s' % sorted((named - ELSEWHERE) ^ set(schemas)))

scratch = tempfile.TemporaryDirectory()
model, picture, labels = (os.path.join(SHAPES, f) for f in ('model.onnx', 'circle.png', 'labels.txt'))
integer = os.path.join(SHAPES, 'integer')


def write(name, text):
    with open(os.path.join(scratch.name, name), 'w') as file:
        file.write(text)


printed('env', '--json')
printed('env', '--measure', '--json')
printed('ops', '--json')
printed('inspect', model, '--json')
printed('inspect', integer, '--json')
printed('why', model, '--json')
printed('why', model, '--set', 'N=2', '--json')
printed('check', model, '--json')
printed('check', integer, '--json')
printed('check', '--rules', '--json')
write('broken.onnx', '\x08no model')
printed('check', 'broken.onnx', '--json', code=1)
printed('check', 'absent.onnx', '--json', code=3)
printed('run', model, '-i', picture, '--json', '--hash', '--topk', '3', '--labels', labels)
printed('run', integer, '--random', '--json')
printed('run', model, '-i', picture, '--json', '--hash-layers')
printed('run', model, '-i', picture, '--json', '--check-nan')
printed('bench', model, '--random', '--seconds', '0.05', '--json')
write('recurrent.nnef', 'version 1.0;\ngraph g(x, h_in) -> (y, h_out) { x = external(shape = [1,4]); h_in = external(shape = [1,4]); s = add(x, h_in); h_out = tanh(s); y = mul(h_out, 2.0); }\n')
printed('bench', 'recurrent.nnef', '--decode', '3', '--json')
subprocess.run([NNEX, 'conform', 'onnx', SHAPES, '--json', 'cases.json', '-q'], capture_output=True, cwd=scratch.name)
with open(os.path.join(scratch.name, 'cases.json')) as file:
    told = json.load(file)
    of(told, 'the file of nnex conform')
    tell(told['passed'] > 0 and len(told['cases']) == told['passed'] + told['failed'] + told['skipped'], 'nnex.conform/1: its counts')
printed('view', model, '-o', 'drawing.svg', '--json')
printed('dump', model, '--json')
printed('dump', model, '--optimized', '--json')
printed('dump', model, '--pass', 'fold_affine', '--json')
write('plain.nnef', 'version 1.0;\ngraph g(x)->(y) {x = external(shape = [2,3]); y = tanh(x);}\n')
printed('format', 'plain.nnef', '--check', '--json', code=1)
printed('format', 'plain.nnef', '--print', '--json')
printed('format', 'plain.nnef', '--json')
printed('format', 'plain.nnef', '--check', '--json')
write('faulty.nnef', 'version 1.0;\ngraph g(x)->(y) {\n')
printed('format', 'faulty.nnef', '--json', code=3)
printed('profile', model, '--random', '--seconds', '0.05', '--json')
for out in ('net.onnx', 'net.nnef.tgz', 'net.webnn', 'net.c'):
    printed('convert', model, out, '--set', 'N=1', '--json')
printed('convert', integer, 'cvm', '--to', 'cvm', '--json')
printed('convert', model, 'sure.nnef.tgz', '--set', 'N=1', '--json', '--certificate', 'sure.json')
with open(os.path.join(scratch.name, 'sure.json')) as file:
    of(json.load(file), 'a certificate of nnex convert')
printed('compare', model, 'net.webnn', '--json')
printed('compare', model, 'net.onnx', '--layers', '--json')
for name, factor in (('a', '2.0'), ('b', '3.0')):
    os.mkdir(os.path.join(scratch.name, name))
    write(name + '/graph.nnef', 'version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2,3]); b = mul(x, %s); y = tanh(b); }\n' % factor)
printed('compare', 'a', 'b', '--json', '--bisect', 'cut.onnx', code=1)
printed('inspect', '--diff', 'a', 'b', '--json', code=1)
printed('extract', model, '-o', 'part.onnx', '--to', 'probabilities', '--json')
printed('rename', model, 'picture=image', '-o', 'renamed.onnx', '--json')
printed('set-shape', model, 'picture=[2,3,32,32]', '-o', 'shaped.onnx', '--json')
printed('set-batch', 'net.onnx', '--batch', '4', '-o', 'batch.onnx', '--json')
write('picture.json', json.dumps([[[[0.5] * 32] * 32] * 3]))
printed('set-input', model, 'picture=picture.json', '--set', 'N=1', '-o', 'constant.onnx', '--json')
printed('simplify', model, '-o', 'simple.onnx', '--json')
printed('fold', model, '-o', 'folded.onnx', '--json')
printed('inline', model, '-o', 'inlined.onnx', '--json')
printed('narrow', model, '-o', 'narrow.onnx', '--to', 'bf16', '--json')
printed('strip', model, '-o', 'stripped.onnx', '--names', '--json')
write('pictures', picture + '\n')
printed('quantize', model, '-o', 'codes.onnx', '--calibrate', 'pictures', '--save-recipe', 'recipe.json', '--json')
printed('quantize', model, '-o', 'again.onnx', '--recipe', 'recipe.json', '--json')
printed('quantize', model, '-o', 'planned.onnx', '--calibrate', 'pictures', '--plan', 'measured', '--json')
printed('quantize', model, '-o', 'codes', '--to', 'nnef', '--set', 'N=1', '--calibrate', 'pictures', '--json')
printed('quantize', model, '-o', 'whole', '--to', 'cvm', '--set', 'N=1', '--calibrate', 'pictures', '--json')
printed('quantize', model, '-o', 'four.onnx', '--weights', 'int4', '--json')
with open(os.path.join(scratch.name, 'recipe.json')) as file:
    of(json.load(file), 'a recipe')
os.symlink(picture, os.path.join(scratch.name, 'circle.png'))
write('list', 'circle.png\nabsent.png\n')
printed('batch', model, '--input', 'list', '--output', 'answers', '--format', 'json', '--topk', '1', '--json', code=1)
os.makedirs(os.path.join(scratch.name, 'bytes'))
os.symlink(picture, os.path.join(scratch.name.encode(), b'bytes', b'\xff.png'))
os.symlink('absent', os.path.join(scratch.name.encode(), b'bytes', b'\xfe.png'))
printed('batch', model, '--input', 'bytes', '--output', 'answers', '--force', '--json', code=1)
with open(os.path.join(scratch.name, 'answers', 'manifest.jsonl')) as file:
    for line in file:
        tell(jsonschema.Draft202012Validator(schemas['nnex.batch/1']).is_valid(json.loads(line)), 'nnex.batch/1: in a manifest: ' + line[:60].strip())
log = subprocess.run([NNEX, 'serve', 'absent.onnx', '--port', '0', '--log', 'json'], capture_output=True, text=True, cwd=scratch.name).stderr
if 'libevent' not in log:  # a build with the server
    with subprocess.Popen([NNEX, 'serve', model, '--port', '0', '--log', 'json', '--log-requests', '--drain-delay', '0'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().split()[-1]
        for path in '/v2/repository/models/model/load', '/v2/models/model/infer':
            try:
                urllib.request.urlopen(urllib.request.Request(address + path, b'{}', {'traceparent': '00-%032x-%016x-01' % (1, 1)})).read()
            except urllib.error.HTTPError:
                pass  # there are no inputs
        server.send_signal(signal.SIGHUP)
        lines = [server.stderr.readline()]
        while json.loads(lines[-1])['event'] != 'reloaded':
            lines.append(server.stderr.readline())
        server.terminate()
        lines += server.stderr.read().splitlines()
    for line in lines + log.splitlines():
        tell(jsonschema.Draft202012Validator(schemas['nnex.serve_log/1']).is_valid(json.loads(line)), 'nnex.serve_log/1: ' + line.strip()[:100])
    events = {json.loads(line)['event'] for line in lines + log.splitlines()}
    tell(events >= {'began', 'listening', 'loaded', 'ready', 'request', 'unloaded', 'reloaded', 'draining', 'ended', 'load failed', 'failed'}, 'nnex.serve_log/1: its events')
    tell(json.loads(lines[0])['schema'] == 'nnex.serve_log/1', 'nnex.serve_log/1: named in the first line')
with open(os.path.join(scratch.name, 'answers', 'circle.png.json')) as file:
    of(json.load(file), 'an answer of nnex batch')
print('%d passed, %d failed' % (counts['passed'], counts['failed']))
sys.exit(counts['failed'] > 0)
