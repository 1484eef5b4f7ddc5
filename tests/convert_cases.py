#!/usr/bin/env python3
"""convert_cases.py NNEX SHARED LEAST: the models of the conformance sets, a case each (ONNX's archives; NNEF's values, valid rules, containers and graphs
of others; CVM's models), into every standard, and what was written back into that of the source, each with the proof that both compute the same. What a
standard cannot say must be refused whole (exit code 4), before anything is written; no other exit code than 0 and 4 may come of a model that can be read.
Open extents stay open, which leaves out standards that need numbers. Fewer than LEAST proven conversions are a failure. Networks of more than 20 million parameters are left to convert_corpus.py's
kind. Last line: N passed, N failed.
"""
import collections
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

NNEX, SHARED = os.path.abspath(sys.argv[1]), os.path.join(sys.argv[2], 'conformance')
ENDINGS = {'onnx': '.onnx', 'nnef': '.tgz', 'webnn': '.webnn', 'cvm': ''}
MAX_PARAMETERS = 20_000_000


def onnx_cases(scratch):
    for name in ('node', 'simple', 'pytorch', 'light'):
        with tarfile.open(os.path.join(SHARED, 'onnx', name + '.tar.xz')) as archive:
            for member in archive:
                if not member.isfile() or not member.name.endswith('.onnx'): continue
                path = os.path.join(scratch, name + '_' + member.name.replace('/', '_'))
                with open(path, 'wb') as out: out.write(archive.extractfile(member).read())
                yield 'onnx', path


def nnef_cases(scratch):
    folder = os.path.join(SHARED, 'nnef')
    with open(os.path.join(folder, 'values', 'values.json')) as file:
        for case in json.load(file)['cases']:
            path = os.path.join(scratch, 'value_' + case['id'] + '.nnef')
            with open(path, 'w') as out: out.write(case['graph'])
            yield 'nnef', path
    for part in ('rules', 'containers', 'graphs'):
        with open(os.path.join(folder, part, 'index.json')) as file: index = json.load(file)
        for case in index.get('cases') or index['units']:
            if case['verdict'] != 'valid': continue
            name = case.get('file') or case.get('path') or case.get('name') or case.get('unit')
            yield 'nnef', os.path.join(folder, part, name)


def cvm_cases():
    folder = os.path.join(SHARED, 'cvm', 'models')
    for name in sorted(os.listdir(folder)):
        if os.path.isdir(os.path.join(folder, name)): yield 'cvm', os.path.join(folder, name)


def nnex(*words):
    return subprocess.run([NNEX, *words], capture_output=True, text=True, timeout=600)


def converted(source, to, form, options):
    """'proven', 'unproven', 'refused', or what is wrong."""
    done = nnex('convert', source, to, '--to', form, '--json', *options)
    if done.returncode == 4: return 'refused' if ': ' in done.stderr and not os.path.exists(to) else 'refused in a wrong way: ' + done.stderr[:300]
    if done.returncode == 2 and '--set SYMBOL=N fixes them' in done.stderr: return 'open'
    if done.returncode: return 'exit code %d: %s' % (done.returncode, ' '.join(done.stderr.split())[:400])
    return {'same': 'proven', 'identical': 'proven', 'unproven': 'unproven'}[json.loads(done.stdout)['proof']['verdict']]


def one(case):
    """(pair, result) of every conversion of the case; nothing of what cannot be read or is large."""
    form, source = case
    out = []
    options = ['--seed-weights', '1'] if form == 'nnef' else []
    told = nnex('inspect', source, '--json', *options)
    if told.returncode: return [((form, 'nothing'), 'unread')]
    if json.loads(told.stdout).get('parameters', 0) > MAX_PARAMETERS: return [((form, 'nothing'), 'large')]
    with tempfile.TemporaryDirectory() as scratch:
        for to, ending in ENDINGS.items():
            first = os.path.join(scratch, 'first' + ending)
            result = converted(source, first, to, options)
            out.append(((form, to), result))
            if result in ('proven', 'unproven') and to != form:
                out.append(((to, form), converted(first, os.path.join(scratch, 'back_' + to + ENDINGS[form]), form, ['--archive-ratio', '100000'])))
            if os.path.isfile(first): os.remove(first)
    return out


def main():
    counts, wrong = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory() as scratch:
        cases = [*cvm_cases(), *nnef_cases(scratch), *onnx_cases(scratch)]  # the longest first
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for (_, source), results in zip(cases, pool.map(one, cases)):
                for pair, result in results:
                    known = result in ('proven', 'unproven', 'refused', 'open', 'unread', 'large')
                    counts[pair][result if known else 'failed'] += 1
                    if not known: wrong.append('%s, %s to %s: %s' % (os.path.basename(source), *pair, result))
    for what in wrong: print('FAILED  ' + what)
    for (a, b), results in sorted(counts.items()):
        print('  %s to %s: %s' % (a, b, ', '.join('%d %s' % (n, what) for what, n in sorted(results.items()))))
    proven = sum(results['proven'] for results in counts.values())
    failed = len(wrong) + (proven < int(sys.argv[3]))
    if proven < int(sys.argv[3]): print('FAILED  %d conversions are proven; needed %s' % (proven, sys.argv[3]))
    print('%d passed, %d failed' % (sum(sum(r.values()) for r in counts.values()) - len(wrong), failed))
    return failed > 0


if __name__ == '__main__': sys.exit(main())
