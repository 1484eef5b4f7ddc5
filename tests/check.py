#!/usr/bin/python3
"""check.py NNEX: nnex check over large models and over the corpora of NNEX_SHARED; the page of rules against the program.

Large: a sparse model of 5 GiB is checked and inspected in 2 s and 200 MB, one of 640 MiB written anew in 200 MB. Corpora: every valid model has no error, and is written as the bytes it was read
from. Skips with a
sentence what is not there. Last line: N passed, N failed.
"""
import array
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

NNEX = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..')
SHARED = os.path.abspath(os.environ.get('NNEX_SHARED', os.path.join(ROOT, '..', 'shared')))
SECONDS, MEGABYTES = 2, 200
SLOW = os.environ.get('NNEX_TEST_SHARE')  # set where code is instrumented

counts = {'passed': 0, 'failed': 0}


def tell(good, what):
    counts['passed' if good else 'failed'] += 1
    print('%s %s' % ('ok     ' if good else 'FAILED ', what))


# ---- Bytes of onnx.proto

def varint(n):
    out = b''
    while n >= 0x80:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def head(field, size):
    return varint(field << 3 | 2) + varint(size)


def message(field, data):
    data = data.encode() if isinstance(data, str) else data
    return head(field, len(data)) + data


def port(name, extents):
    shape = b''.join(message(1, number(1, e)) for e in extents)
    return message(1, name) + message(2, message(1, number(1, 1) + message(2, shape)))


def entry(key, text):
    return message(13, message(1, key) + message(2, text))


GIB = 1 << 30
COUNT = 1 << 25  # floats of a weight: 128 MiB


def nodes(n):
    """y = x + w0 + w1 + ..."""
    names = ['x'] + ['t%d' % i for i in range(n - 1)] + ['y']
    return b''.join(message(1, message(1, names[i]) + message(1, 'w%d' % i) + message(2, names[i + 1]) + message(4, 'Add'))
                    for i in range(n))


def external_model(folder, count=40):
    """So many weights of 128 MiB each in one file beside the model."""
    weights = b''.join(
        message(5, number(1, COUNT) + number(2, 1) + message(8, 'w%d' % i) + entry('location', 'weights.bin') +
                entry('offset', str(i * COUNT * 4)) + entry('length', str(COUNT * 4)) + number(14, 1)) for i in range(count))
    graph = nodes(count) + message(2, 'g') + weights + message(11, port('x', [COUNT])) + message(12, port('y', [COUNT]))
    with open(os.path.join(folder, 'weights.bin'), 'wb') as file:
        file.truncate(count * COUNT * 4)
    with open(os.path.join(folder, 'model.onnx'), 'wb') as file:
        file.write(number(1, 8) + message(7, graph) + message(8, number(2, 17)))


def whole_model(folder):
    """One weight of 5 GiB in the model's own file, which no protocol buffer may have."""
    size = 5 * GIB
    front = nodes(1) + message(2, 'g') + message(11, port('x', [size // 4])) + message(12, port('y', [size // 4]))
    fields = number(1, size // 4) + number(2, 1) + message(8, 'w0') + head(9, size)
    tensor = head(5, len(fields) + size) + fields
    model = number(1, 8) + message(8, number(2, 17)) + head(7, len(front) + len(tensor) + size)
    with open(os.path.join(folder, 'model.onnx'), 'wb') as file:
        file.write(model + front + tensor)
        file.truncate(file.tell() + size)


def measured(words, code, bound=SECONDS, room=MEGABYTES):
    """Runs it; its output. The time and memory are told against the bounds."""
    start = time.monotonic()
    child = subprocess.Popen([NNEX, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds, megabytes = time.monotonic() - start, usage.ru_maxrss / 1024
    what = '%s %s' % (words[0], '/'.join(words[1].split('/')[-2:]))
    tell(child.returncode == code, '%s: exit code %d (needed %d): %s' % (what, child.returncode, code, output[-300:].strip()))
    if not SLOW:
        tell(seconds < bound and megabytes < room,
             '%s: %.2f s, %.0f MB (needed less than %d s, %d MB)' % (what, seconds, megabytes, bound, room))
    return output


def large():
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, make in (('external', external_model), ('whole', whole_model)):
                os.mkdir(os.path.join(folder, name))
                make(os.path.join(folder, name))
        except OSError as e:
            print('skipped the large models: %s' % e)
            return
        model = os.path.join(folder, 'external', 'model.onnx')
        tell(': sound\n' in measured(['check', model], 0), 'a model of 5 GiB in two files is sound')
        tell('%d parameters' % (40 * COUNT) in measured(['inspect', model], 0), 'and all its weights are counted')
        model = os.path.join(folder, 'whole', 'model.onnx')
        tell('onnx/message-size' in measured(['check', model], 0), 'one of 5 GiB in one file is told')
        measured(['check', model, '--strict'], 1)
        measured(['inspect', model], 0)
        with open(os.path.join(folder, 'external', 'weights.bin'), 'r+b') as file:
            file.truncate(5 * GIB - 1)
        report = measured(['check', os.path.join(folder, 'external', 'model.onnx')], 1)
        tell("initializer 'w39': " in report and '[onnx/external-range]' in report, 'a file that is a byte short is told')


def moved():
    """640 MiB of weights go from one other file into another, and are proven to be the same, a piece at a time."""
    with tempfile.TemporaryDirectory() as folder:
        external_model(folder, 5)
        out, sure = os.path.join(folder, 'out.onnx'), os.path.join(folder, 'sure.json')
        told = measured(['convert', os.path.join(folder, 'model.onnx'), out, '--external-data', '--certificate', sure], 0, 120)
        tell('field by field' in told, 'what was written is proven to be the same')
        with open(sure) as file:
            tell(json.load(file)['proof']['verdict'] == 'identical', 'the certificate says so')
        tell(os.path.getsize(out + '.data') == 5 * COUNT * 4, 'all weights are in the other file')


def compared():
    """Two models of 1 GiB of weights each, of which one weight differs: it is found in little more memory than one has."""
    side, count = 4096, 16
    weight = side * side * 4
    with tempfile.TemporaryDirectory() as folder:
        for name, seed in (('weights.bin', 1), ('other.bin', 2)):
            floats = array.array('f', ((i * 7 + seed) % 1001 / 10010 - 0.05 for i in range(side * 64)))
            with open(os.path.join(folder, name), 'wb') as file:
                for _ in range(count if seed == 1 else 1):
                    for _ in range(side // 64):
                        file.write(floats)
        for name, other in (('a', None), ('b', 9)):
            names = ['x'] + ['t%d' % i for i in range(2 * count - 1)] + ['y']
            graph = b''.join(
                message(1, message(1, names[2 * i]) + message(1, 'w%d' % i) + message(2, names[2 * i + 1]) + message(4, 'MatMul')) +
                message(1, message(1, names[2 * i + 1]) + message(2, names[2 * i + 2]) + message(4, 'Tanh')) for i in range(count))
            graph += message(2, 'g') + b''.join(
                message(5, number(1, side) + number(1, side) + number(2, 1) + message(8, 'w%d' % i) +
                        entry('location', 'other.bin' if i == other else 'weights.bin') +
                        entry('offset', str(0 if i == other else i * weight)) + entry('length', str(weight)) + number(14, 1))
                for i in range(count))
            graph += message(11, port('x', [1, side])) + message(12, port('y', [1, side]))
            with open(os.path.join(folder, name + '.onnx'), 'wb') as file:
                file.write(number(1, 8) + message(7, graph) + message(8, number(2, 17)))
        told = measured(['compare', os.path.join(folder, 'a.onnx'), os.path.join(folder, 'b.onnx'), '--random'], 1, 120,
                        MEGABYTES + (count * weight >> 20))
        tell("first tensor that differs: 't18'" in told, 'the product by the other weight is named')


def corpora():
    folders = [os.path.join(SHARED, 'models', 'onnx')]
    archives = [os.path.join(SHARED, 'conformance', 'onnx', n + '.tar.xz') for n in ('node', 'simple', 'pytorch', 'light')]
    if not os.path.isdir(folders[0]) or not os.path.isfile(archives[0]):
        print('skipped the corpora: %s is absent (set NNEX_SHARED)' % SHARED)
        return
    with tempfile.TemporaryDirectory() as scratch:
        for archive in archives:
            with tarfile.open(archive) as file:
                for member in file:
                    if member.isfile() and member.name.endswith('.onnx'):
                        path = os.path.join(scratch, member.name.replace('/', '_'))
                        with open(path, 'wb') as out:
                            shutil.copyfileobj(file.extractfile(member), out)
        models = sorted(os.path.join(folder, name) for top in [scratch] + folders for folder, _, names in os.walk(top)
                        for name in names if name.endswith('.onnx'))
        results = []
        for at in range(0, len(models), 200):
            done = subprocess.run([NNEX, 'check', '--sarif', *models[at:at + 200]], capture_output=True, text=True)
            results += json.loads(done.stdout)['runs'][0]['results']
        wrong = ['%s: %s' % (r['locations'][0]['physicalLocation']['artifactLocation']['uri'], r['message']['text'])
                 for r in results if r['level'] == 'error']
        tell(len(models) > 1400 and not wrong, '%d models of the corpora have no error%s' %
             (len(models), ''.join('\n    ' + w for w in wrong[:10])))
        out, changed = os.path.join(scratch, 'written.onnx'), []
        for model in models[::7] if SLOW else models:
            done = subprocess.run([NNEX, 'convert', model, out, '--no-verify', '--force', '-q'], capture_output=True, text=True)
            if done.returncode or not filecmp.cmp(model, out, shallow=False):
                changed.append('%s: %s' % (os.path.basename(model), done.stderr.strip() or 'other bytes'))
        tell(not changed, 'each of them is written as the same bytes%s' % ''.join('\n    ' + c for c in changed[:10]))


def page():
    """docs/onnx-rules.md holds the table as the program prints it."""
    table = subprocess.run([NNEX, 'check', '--rules'], capture_output=True, text=True).stdout
    with open(os.path.join(ROOT, 'docs', 'onnx-rules.md')) as file:
        tell(len(table) > 1000 and table in file.read(), 'docs/onnx-rules.md has the table of nnex check --rules')


def rules():
    """docs/nnef-rules.md has every rule that a fault of NNEF names."""
    name = re.compile(r'"((?:[LSTDIAEBCQ]|O-[A-Z]+-)[0-9]+)"')
    named = set()
    for folder in ('src/standards/nnef', 'src/graph/text'):
        for at, _, files in os.walk(os.path.join(ROOT, folder)):
            for file in files:
                with open(os.path.join(at, file)) as text:
                    named.update(name.findall(text.read()))
    with open(os.path.join(ROOT, 'docs', 'nnef-rules.md')) as file:
        page = file.read()
    missing = sorted(r for r in named if '\n| %s | ' % r not in page)
    tell(len(named) > 100 and not missing, 'docs/nnef-rules.md has the %d rules of NNEF %s' % (len(named), missing))


page()
rules()
large()
moved()
compared()
corpora()
print('%d passed, %d failed' % (counts['passed'], counts['failed']))
sys.exit(counts['failed'] > 0)
