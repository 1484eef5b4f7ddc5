#!/usr/bin/env python3
"""convert_corpus.py NNEX MODELS LEAST: every model below the folder into every standard, and from there into every other one, each with the proof that
both compute the same; into C once; and as the opsets of ONNX, those from 11 on without exception. What a standard cannot say must be refused whole (exit code 4, an operation a line), before anything is written; no other
exit code than 0 and 4 may come. Open extents become numbers. Fewer than LEAST proven conversions are a failure. Last line: N passed, N
failed.
"""
import json
import os
import subprocess
import sys
import tempfile

NNEX, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
FORMS = {'onnx': 'onnx', 'nnef': 'tgz', 'webnn': 'webnn', 'cvm': 'cvm', 'c': 'c'}
WRITTEN_ALONE = {'c'}  # nobody reads it
counts = {'passed': 0, 'failed': 0}
pairs = {}


def nnex(*words):
    return subprocess.run([NNEX, *words], capture_output=True, text=True, timeout=600)


def fixed_extents(model):
    """Options that make numbers of all open extents: the first that the network runs with."""
    told = nnex('inspect', model, '--json')
    if told.returncode: return None
    open_axes = []
    for port in json.loads(told.stdout)['inputs']:
        extents = port['type'].partition('[')[2].rstrip(']').split(',')
        open_axes += ['%s.%d' % (port['name'], i) for i, e in enumerate(extents) if e and not e.isdigit()]
    if not open_axes: return []
    for extent in (1, 4, 64, 320, 512):
        options = [word for axis in open_axes for word in ('--set', '%s=%d' % (axis, extent))]
        if nnex('run', model, '--random', '--quiet', *options).returncode == 0: return options
    return None


def convert(source, form, to, named):
    fixed = fixed_extents(source)
    if fixed is None: return fail('%s: it runs with no extents that were tried' % named)
    done = nnex('convert', source, to, '--to', form, '--json', *fixed)
    if done.returncode == 4:
        if os.path.exists(to): return fail('%s: refused, and something was written' % named)
        if ': ' not in done.stderr: return fail('%s: refused without a reason' % named)
        counts['passed'] += 1
        return False
    if done.returncode: return fail('%s: exit code %d: %s' % (named, done.returncode, ' '.join(done.stderr.split())[:400]))
    proof = json.loads(done.stdout)['proof']
    if proof['verdict'] not in ('same', 'identical'): return fail('%s: %s' % (named, proof))
    counts['passed'] += 1
    return True


def fail(what):
    counts['failed'] += 1
    print('FAILED  ' + what)
    return False


models = sorted(os.path.join(folder, name) for folder, _, names in os.walk(ROOT) for name in names if name == 'model.onnx')
for model in models:
    name = os.path.basename(os.path.dirname(model))
    for form, ending in FORMS.items():
        with tempfile.TemporaryDirectory() as scratch:
            first = os.path.join(scratch, 'first.' + ending)
            pair = pairs.setdefault(('onnx', form), [0, 0])
            pair[1] += 1
            if not convert(model, form, first, '%s to %s' % (name, form)): continue
            pair[0] += 1
            for then in FORMS.keys() - {form} - WRITTEN_ALONE if form not in WRITTEN_ALONE else ():
                pair = pairs.setdefault((form, then), [0, 0])
                pair[1] += 1
                pair[0] += convert(first, then, os.path.join(scratch, 'second.' + FORMS[then]), '%s to %s to %s' % (name, form, then))
OPSETS = (7, 9, 11, 12, 13, 15, 17, 18, 19, 20, 21, 23)
opsets = {o: 0 for o in OPSETS}
for model in models:
    name = os.path.basename(os.path.dirname(model))
    with tempfile.TemporaryDirectory() as scratch:
        for opset in OPSETS:
            to = os.path.join(scratch, '%d.onnx' % opset)
            done = nnex('convert', model, to, '--opset', str(opset), '--json')
            told = '%s as opset %d: ' % (name, opset)
            if done.returncode == 4 and opset < 11:
                counts['passed'] += 1
            elif done.returncode or json.loads(done.stdout)['proof']['verdict'] != 'same':
                fail(told + 'exit code %d: %s' % (done.returncode, ' '.join((done.stderr or done.stdout).split())[:300]))
            elif json.loads(done.stdout)['opset'] != opset:
                fail(told + 'written as %s' % json.loads(done.stdout)['opset'])
            elif nnex('check', to).returncode:
                fail(told + 'what was written is not sound')
            else:
                counts['passed'] += 1
                opsets[opset] += 1
print('  as opset: ' + ', '.join('%d of %d as %d' % (n, len(models), o) for o, n in opsets.items()))
for (a, b), (done, tried) in sorted(pairs.items()): print('  %s to %s: %d of %d say it, with proof' % (a, b, done, tried))
proven = sum(done for done, _ in pairs.values())
if proven < int(sys.argv[3]): fail('%d conversions are proven; needed %s' % (proven, sys.argv[3]))
print('%d passed, %d failed' % (counts['passed'], counts['failed']))
sys.exit(counts['failed'] > 0)
