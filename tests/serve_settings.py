#!/usr/bin/env python3
"""serve_settings.py NNEX [TEST...]: what `nnex serve` takes for single models, what all of them may take, and what the index tells.

As tests/serve.py, whose server and checks it has. Last line: N passed, N failed.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

import serve
from serve import NNEX, Server, check, equal, eventually, field, of_numbers, port, repository, scaled


def write(path, value):
    with open(path + '.new', 'w') as f:
        f.write(value if isinstance(value, str) else json.dumps(value))
    os.rename(path + '.new', path)


def reload(s, ok):
    before = s.logged().count(' reloaded ')
    s.process.send_signal(signal.SIGHUP)
    check(eventually(lambda: s.logged().count(' reloaded ') > before), s.logged()[-500:])
    check(s.logged().splitlines()[-1].split(' reloaded ')[-1].startswith('ok=' + ok), s.logged()[-500:])


def weighted(megabytes):
    """x of f32[4] plus the sum of so many MiB of weights, as ONNX: ReduceSum, Add."""
    count = megabytes << 18
    constant = field(1, count) + field(2, 1) + field(8, 'w') + field(9, b'\0' * (count * 4))
    nodes = field(1, field(1, 'w') + field(2, 's') + field(4, 'Sqrt')) + \
        field(1, field(1, 's') + field(2, 'r') + field(4, 'ReduceSum')) + field(1, field(1, 'x') + field(1, 'r') + field(2, 'y') + field(4, 'Add'))
    graph = nodes + field(2, 'g') + field(5, constant) + field(11, port('x', 1, ['N', 4])) + field(12, port('y', 1, ['N', 4]))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))


def test_settings():
    """Settings of single models: what they change, where they are shown, and when they are read again."""
    with tempfile.TemporaryDirectory() as folder:
        models, path = os.path.join(folder, 'models'), os.path.join(folder, 'settings.json')
        repository(models, a=scaled(2), b=scaled(3), slow=serve.SLOW)
        write(path, {'a': {'instances': 2, 'threads': 1, 'max-batch': 3, 'batch-delay': 250, 'queue': 7, 'timeout': 2.5, 'warm-up': 4},
                     'b': {'set': {'N': 2}}, 'slow': {'timeout': 0.05, 'threads': 1}})
        with Server(models, '--model-settings', path, '--max-batch', 5) as s:
            config = lambda name: s.json('GET', '/v2/models/%s/config' % name)
            a = config('a')
            equal((a['max_batch_size'], a['instance_group'][0]['count'], a['dynamic_batching'], a['model_warmup']),
                  (3, 2, {'max_queue_delay_microseconds': 250}, [{'name': 'warm-up', 'batch_size': 1, 'count': 4}]), 'config of a')
            equal(a['parameters'], {'threads': {'string_value': '1'}, 'queue': {'string_value': '7'}, 'timeout_microseconds': {'string_value': '2500000'}}, 'parameters of a')
            equal(s.json('POST', '/v2/models/a/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [2, 4, 6, 8], 'a')
            equal(s.metric('nnex_inference_run_seconds_count', '{model="a",version="1"}'), 1, 'runs to warm up are no requests')
            equal(s.json('GET', '/v2/models/b')['inputs'][0]['shape'], [2, 4], 'b')
            check('model_warmup' not in config('b') and config('b')['max_batch_size'] == 0, config('b'))
            status, _, answer = s.ask('POST', '/v2/models/slow/infer', *serve.slow_request(6))
            equal(status, 504, answer[:100])
            # read again by a load and by a reload
            write(path, {'a': {'max-batch': 4}, 'b': {}})
            s.json('POST', '/v2/repository/models/a/load')
            equal((config('a')['max_batch_size'], config('b')['max_batch_size']), (4, 0), 'after a load')
            reload(s, 'true')
            equal((config('a')['max_batch_size'], config('b')['max_batch_size']), (4, 5), 'after a reload')
            # what is wrong with it changes nothing
            write(path, {'a': {'treads': 1}})
            check("settings.json: model 'a': found 'treads' (did you mean 'threads'?)" in s.json('POST', '/v2/repository/models/a/load', status=400)['error'], 'a load')
            reload(s, 'false')
            equal(config('a')['max_batch_size'], 4, 'a')
            write(path, {'other': {}, 'a': {'max-batch': 2}})
            reload(s, 'false')
            equal(config('a')['max_batch_size'], 2, 'the others, where one is not there')
            os.remove(path)
            reload(s, 'false')
            equal(config('a')['max_batch_size'], 2, 'without the file')


def test_wrong_settings():
    """What is wrong with a file of settings is said with file, model, member, found and needed."""
    with tempfile.TemporaryDirectory() as folder:
        models, path = os.path.join(folder, 'models'), os.path.join(folder, 'settings.json')
        repository(models, a=scaled(2))
        for text, words in [
                ('{"a": {\n"threads": 1,}}', 'settings.json: not JSON at line 2, column 14'), ('[]', 'settings.json: found []; needed an object of models'),
                ('{"a": 1}', "model 'a': found 1; needed an object of settings"), ('{"aa": {}}', "settings.json: no model 'aa' (did you mean 'a'?); found 'a'"),
                ('{"a": {"quue": 1}}', "model 'a': found 'quue' (did you mean 'queue'?); needed one of 'instances', 'threads'"),
                ('{"a": {"threads": -1}}', "model 'a': threads: found -1; needed a whole number from 0 to"), ('{"a": {"queue": 0}}', 'queue: found 0; needed a whole number from 1'),
                ('{"a": {"max-batch": 1.5}}', 'max-batch: found 1.5; needed'), ('{"a": {"batch-delay": 99999999999999999999}}', 'batch-delay: found'),
                ('{"a": {"timeout": 0}}', 'timeout: found 0; needed seconds'), ('{"a": {"timeout": "1"}}', 'timeout: found "1"; needed seconds'),
                ('{"a": {"set": {"N": "x"}}}', "set: 'N': found \"x\"; needed a whole number"), ('{"a": {"set": 3}}', 'set: found 3; needed an object'),
                ('{"a": {"set-shape": {"x": 3}}}', "set-shape: 'x': found 3; needed a list of extents"), ('{"a": {"threads": 1, "threads": 2}}', "'threads' is there twice"),
                ('{"a": {"warm-up": true}}', 'warm-up: found true'), ('', 'not JSON')]:
            write(path, text)
            out = subprocess.run([NNEX, 'serve', '--port', '0', models, '--model-settings', path], capture_output=True, text=True, timeout=60)
            check(out.returncode == 2 and words in out.stderr, (text, out.returncode, out.stderr))
        write(path, '{"a": {"set": {"M": 2}}}')
        out = subprocess.run([NNEX, 'serve', '--port', '0', models, '--model-settings', path], capture_output=True, text=True, timeout=60)
        check(out.returncode == 2 and "'M'" in out.stderr, (out.returncode, out.stderr))
        out = subprocess.run([NNEX, 'serve', '--port', '0', models, '--model-settings', 'nowhere'], capture_output=True, text=True, timeout=60)
        check(out.returncode == 3 and 'nowhere' in out.stderr, (out.returncode, out.stderr))


def test_total_memory():
    """All models together have a bound: a load or an update that would pass it is refused, and what was loaded goes on."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, a=weighted(20), b=weighted(20))
        limits = '--queue-bytes', 10, '--total-memory', 100
        with Server(folder, *limits) as s:
            index = lambda: {m['name']: (m['state'], m['reason']) for m in s.json('POST', '/v2/repository/index')}
            check(' memory=2097' in s.logged(), s.logged())
            s.json('POST', '/v2/repository/models/a/load')  # beside the old one: 60 of 90
            repository(folder, c=weighted(60), d=weighted(40))
            why = s.json('POST', '/v2/repository/models/c/load', status=400)['error']
            check('needed 60.0 MiB (weights 60.0); found 50.0 MiB of 90.0 that --total-memory leaves to models, which hold 40.0' in why, why)
            check(index()['c'][0] == 'UNAVAILABLE' and 'needed 60.0 MiB' in index()['c'][1], index())
            equal(s.json('POST', '/v2/models/a/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [1, 2, 3, 4], 'a')
            s.json('POST', '/v2/repository/models/d/load')
            why = s.json('POST', '/v2/repository/models/a/load', status=400)['error']  # an update
            check('found 10.0 MiB' in why and index()['a'][0] == 'READY', (why, index()))
            equal(s.json('POST', '/v2/models/a/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [1, 2, 3, 4], 'the old one')
            s.json('POST', '/v2/repository/models/d/unload')
            s.json('POST', '/v2/repository/models/a/load')
        out = subprocess.run([NNEX, 'serve', '--port', '0', folder, *map(str, limits)], capture_output=True, text=True, timeout=60)
        check(out.returncode == 3 and '--total-memory' in out.stderr, (out.returncode, out.stderr))
        out = subprocess.run([NNEX, 'serve', '--port', '0', folder, '--total-memory', '512'], capture_output=True, text=True, timeout=60)
        check(out.returncode == 2 and 'needed more than --queue-bytes 512' in out.stderr, (out.returncode, out.stderr))


def test_gone():
    """The index tells of models whose file has gone, whether they answer on or not."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, a=scaled(2), b=scaled(3), c=scaled(4))
        with Server(folder) as s:
            index = lambda: {m['name']: (m['state'], m['reason']) for m in s.json('POST', '/v2/repository/index')}
            for name in 'ab':
                os.remove(os.path.join(folder, name + '.onnx'))
            s.json('POST', '/v2/repository/models/b/unload')
            a, b = (os.path.join(folder, name + '.onnx') for name in 'ab')
            equal(index(), {'a': ('READY', "'%s' is no longer there: what was loaded of it answers on" % a), 'b': ('UNAVAILABLE', "unloaded; '%s' is no longer there" % b),
                            'c': ('READY', '')}, 'index')
            s.json('POST', '/v2/repository/models/a/load', status=400)
            equal(s.json('POST', '/v2/models/a/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [2, 4, 6, 8], 'a')
            repository(folder, a=scaled(5))
            equal(index()['a'], ('READY', ''), 'once it is there again')


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
