#!/usr/bin/env python3
"""Instructions that networks take under callgrind, against those stored beside this script.

    tests/instructions.py NNEX MODELS            compares: 5 % more in either column is a failure
    tests/instructions.py NNEX MODELS --renew    writes tests/instructions.baseline anew

MODELS is a folder of networks (NAME/model.onnx, NAME/test_data_set_0). Each is run once, on one thread with the loops of AVX2 (callgrind knows
no wider ones): `start` counts what comes before the run (opening the program, reading, passes), `run` the plan, the first run and its answers.
Counts are those of a compiler and its library: the baseline names them, and others cannot be compared.
Exit codes: 0 nothing needs more, 1 something does or failed, 2 usage, 77 nothing can be compared here (the reason stands in the last line).
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = Path(__file__).resolve().parent / 'instructions.baseline'
LIMIT = 1.05
ISA = 'avx2'
TOO_LONG = {'super_resolution_10'}  # a minute under callgrind
NETWORKS = 20


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def tools(nnex):
    """The compiler that made the program, and valgrind."""
    cache = (Path(nnex).resolve().parent.parent / 'CMakeCache.txt').read_text()
    compiler = re.search(r'^CMAKE_CXX_COMPILER:[A-Z]+=(.+)$', cache, re.M).group(1)
    return f"{first_line(compiler, '--version')}, {first_line('valgrind', '--version')}"


def count(nnex, model, folder):
    """(start, run) of one network."""
    out = Path(folder) / model.name
    command = ['valgrind', '--tool=callgrind', '--dump-before=nnex::Session::run(*', f'--callgrind-out-file={out}', nnex, 'run', model / 'model.onnx',
               '--input', model / 'test_data_set_0', '--threads', '1']
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, 'NNEX_ISA': ISA})
    if done.returncode: raise RuntimeError(f'{model.name}: {done.stderr.strip()[-300:]}')
    parts = [Path(f'{out}.1'), out]
    if not parts[0].exists(): raise RuntimeError(f'{model.name}: Session::run was not seen')
    return tuple(int(re.search(r'^totals: (\d+)', p.read_text(), re.M).group(1)) for p in parts)


def count_all(nnex, models):
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {m.name: pool.submit(count, nnex, m, folder) for m in models}
        return {name: job.result() for name, job in jobs.items()}


def read_baseline():
    made_by, rows = '', {}
    for line in BASELINE.read_text().splitlines():
        if line.startswith('# made by: '): made_by = line[len('# made by: '):]
        if line and not line.startswith('#'):
            name, start, run = line.split()
            rows[name] = (int(start), int(run))
    return made_by, rows


def renew(nnex, folder):
    models = sorted((m for m in folder.iterdir() if (m / 'model.onnx').exists() and m.name not in TOO_LONG), key=lambda m: m.name)[:NETWORKS]
    rows = count_all(nnex, models)
    text = ['# Instructions of networks under callgrind, loops of AVX2, one thread; tests/instructions.py compares and renews them.',
            f'# made by: {tools(nnex)}', '# network start run'] + [f'{name} {start} {run}' for name, (start, run) in rows.items()]
    BASELINE.write_text('\n'.join(text) + '\n')
    print(f'{BASELINE}: {len(rows)} networks')
    return 0


def compare(nnex, folder):
    made_by, wanted = read_baseline()
    here = tools(nnex)
    if here != made_by:
        print(f'the baseline is that of {made_by}; here is {here}')
        return 77
    missing = [name for name in wanted if not (folder / name / 'model.onnx').exists()]
    if missing: raise RuntimeError(f"{folder} lacks {', '.join(missing)}")
    found = count_all(nnex, [folder / name for name in wanted])
    worse, better = [], 0
    for name in wanted:
        for part, was, now in zip(('start', 'run'), wanted[name], found[name]):
            better += now < was / LIMIT
            if now > was * LIMIT: worse.append(f'{name}: {part} takes {now} instructions; the baseline has {was}: {100 * (now / was - 1):.1f} % more')
    for line in worse: print(line)
    if better: print(f'{better} counts fell by more than 5 %: renew the baseline')
    return 1 if worse else 0


def main():
    words = [w for w in sys.argv[1:] if w != '--renew']
    if len(words) != 2 or not Path(words[0]).exists() or not Path(words[1]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    if not any(Path(p, 'valgrind').exists() for p in os.environ['PATH'].split(':')):
        print('valgrind is missing')
        return 77
    flags = re.search(r'^flags.*', Path('/proc/cpuinfo').read_text(), re.M)
    if not flags or 'avx2' not in flags.group().split():
        print('this machine has no AVX2')
        return 77
    try:
        return (renew if '--renew' in sys.argv else compare)(words[0], Path(words[1]))
    except RuntimeError as failed:
        print(failed)
        return 1


sys.exit(main())
