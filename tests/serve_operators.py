#!/usr/bin/env python3
"""serve_operators.py NNEX [TEST...]: what those who operate `nnex serve` rely on: who may ask, what one fault leaves standing, what is told and counted.

As tests/serve.py, whose server and checks it has. Last line: N passed, N failed.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import serve
from serve import INFER, NNEX, SHAPES, Server, binary_request, check, equal, eventually, field, json_request, of_numbers, onnx, port, repository, scaled

MODEL = os.path.join(SHAPES, 'model.onnx')


def reload(s):
    before = s.logged().count(' reloaded ')
    s.process.send_signal(signal.SIGHUP)
    check(eventually(lambda: s.logged().count(' reloaded ') > before), s.logged()[-500:])
    return re.findall(r' reloaded (.*)', s.logged())[-1]


def test_clash():
    """Two models of one name: they alone are missing, at a load and at a reload; at the start it is a mistake."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, a=scaled(2), d=scaled(3))
        with Server(folder) as s:
            answer = lambda name, status=200: s.json('POST', '/v2/models/%s/infer' % name, of_numbers([1, 0, 0, 0]), status=status)
            repository(folder, a=scaled(20), d__1__m=scaled(30), e=scaled(5), f=scaled(6), f__m=scaled(6))
            s.json('POST', '/v2/repository/models/a/load')
            equal(answer('a')['outputs'][0]['data'][0], 20, 'a load of another one')
            for name in 'df':
                why = s.json('POST', '/v2/repository/models/%s/load' % name, status=400)['error']
                check("two models have the name '%s'" % name in why, why)
            equal(answer('d')['outputs'][0]['data'][0], 3, 'what was loaded goes on')
            check("two models have the name 'f'" in answer('f', 503)['error'], 'a new one')
            repository(folder, a=scaled(200))
            check(reload(s).startswith('ok=false error="two models have the name \'d\''), s.logged()[-500:])
            equal([answer(name)['outputs'][0]['data'][0] for name in 'ade'], [200, 3, 5], 'the others of a reload')
            index = {m['name']: (m['state'], 'two models' in m['reason']) for m in s.json('POST', '/v2/repository/index')}
            equal(index, {'a': ('READY', False), 'd': ('READY', True), 'e': ('READY', False), 'f': ('UNAVAILABLE', True)}, 'index')
            equal([s.metric('nnex_reloads_total'), s.metric('nnex_reload_failures_total'), s.metric('nnex_last_reload_successful')], [1, 1, 0], 'metrics')
            os.remove(os.path.join(folder, 'd.onnx'))
            os.remove(os.path.join(folder, 'f.onnx'))
            equal(reload(s), 'ok=true', 'once it is mended')
            equal([answer(name)['outputs'][0]['data'][0] for name in 'adef'], [200, 30, 5, 6], 'all of them')
            equal([s.metric('nnex_reloads_total'), s.metric('nnex_reload_failures_total'), s.metric('nnex_last_reload_successful')], [2, 1, 1], 'metrics')
            s.json('POST', '/v2/repository/models/nothing/load', status=404)
        repository(folder, d=scaled(3))
        out = subprocess.run([NNEX, 'serve', '--port', '0', folder], capture_output=True, text=True, timeout=60)
        check(out.returncode == 2 and "two models have the name 'd'" in out.stderr, (out.returncode, out.stderr))


def test_reload_turns():
    """What is asked for during a reload does not wait for the rest of it, nor is it undone by it."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, **{'m%03d' % i: scaled(1) for i in range(300)}, z=scaled(2))
        with Server(folder, '--threads', 1) as s:
            repository(folder, z=scaled(3))
            s.process.send_signal(signal.SIGHUP)
            loads = lambda: s.logged().count(' loaded model=m')
            check(eventually(lambda: loads() > 300), 'no reload')
            s.json('POST', '/v2/repository/models/z/unload')
            s.json('POST', '/v2/repository/models/m299/load')
            seen = loads()
            check(seen < 590, 'a load waited for %d of 300 models' % (seen - 300))
            check(eventually(lambda: ' reloaded ok=true' in s.logged()), s.logged()[-500:])
            s.json('POST', '/v2/models/z/infer', of_numbers([1, 0, 0, 0]), status=503)  # who unloaded it came later
            equal(s.logged().count(' loaded model=m299 '), 2, 'and loaded it once')


def test_hosts():
    """A name that a page chose is no own name of the server's (DNS rebinding)."""
    body = json.dumps(json_request(0))
    asked = lambda s, host, origin=None, method='POST', path=INFER: s.ask(
        method, path, body if method == 'POST' else None, {'Host': host, **({'Origin': origin} if origin else {})})[0]
    with Server(MODEL) as s:
        for host, status in ('evil.example:8000', 403), ('127.0.0.1.evil.example', 403), ('localhost:8000', 200), ('127.0.0.1:8000', 200), ('[::1]:8000', 200), \
                ('a.localhost', 200), ('10.0.0.7', 200), ('LOCALHOST', 200), ('127.1.evil', 403), ('[evil.example]:8000', 403):
            equal(asked(s, host, 'http://' + host), status, host)
            equal(asked(s, host), 200, 'no page')
    with Server(MODEL, '--allow-host', 'Models.example', '--allow-host', 'other') as s:
        for host, status in ('models.example:8000', 200), ('MODELS.example', 200), ('other', 200), ('127.0.0.1:%d' % s.port, 200), ('evil.example', 421), ('', 421):
            for method, path in ('GET', '/metrics'), ('GET', '/v2/health/ready'), ('POST', INFER):
                equal(asked(s, host, None, method, path), status, (host, path))
        equal(asked(s, 'models.example:8000', 'http://models.example:8000'), 200, 'a page of its own')
        equal(asked(s, 'models.example:8000', 'http://other:8000'), 403, 'a page of another')
        # A whole address counts before the header, as RFC 9112 says; what is no host is refused.
        for line, host, status in (('GET http://evil.example/v2', 'other', 421), ('GET http://other:80/v2', 'evil.example', 200), ('GET /v2', 'a b/c@d', 400), ('GET http://me@other/v2', 'other', 400)):
            with socket.create_connection(('127.0.0.1', s.port), timeout=20) as raw:
                raw.sendall(f'{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode())
                told = raw.makefile('rb').readline().decode()
            check(told.startswith(f'HTTP/1.1 {status} '), f'{line}, Host: {host}: {told}')
    out = subprocess.run([NNEX, 'serve', MODEL, '--allow-host', 'http://a'], capture_output=True, text=True, timeout=60)
    check(out.returncode == 2 and "--allow-host: found 'http://a'; needed a name" in out.stderr, out.stderr)


def test_long_texts_of_the_log():
    """A client's own text comes back whole and is cut in the log."""
    with Server(MODEL, '--log-requests') as s:
        id = 'é' * 100_000
        status, _, answer = s.ask('POST', INFER, json.dumps(json_request(0, id=id)))
        equal((status, json.loads(answer)['id']), (200, id), 'the answer')
        check(eventually(lambda: ' request ' in s.logged()), s.logged()[-500:])
        check(max(map(len, s.logged().splitlines())) < 30_000, 'a line of the log')


def test_paths():
    """A path of the protocol has one spelling: what a proxy's rule does not know, nobody answers."""
    with Server(MODEL) as s:
        for method, path in ('POST', '/v2/%72epository/models/model/unload'), ('POST', '/v2/repository/models/model/unloa%64'), ('POST', '/v2/repository%2Fmodels/model/unload'), \
                ('POST', '/v2/repository/models/model/unload/'), ('POST', '/v2//repository/models/model/unload'), ('GET', '/metrics/'), ('GET', '/%6detrics'), ('GET', '/v2/'):
            status = s.ask(method, path, '{}' if method == 'POST' else None)[0]
            equal(status, 400 if '%' in path else 404, path)
        for path in '/v2/models/%6dodel/infer', '/v2/models/model/versions/%31/infer':  # names are what they are, however they are sent
            s.json('POST', path, json_request(0))


def proxied(name, port, folder):
    """The project's configuration before one replica: the process and its port."""
    text = open(os.path.join(serve.HERE, '..', 'deploy', name)).read()
    front, figures = [serve.socket.create_server(('127.0.0.1', 0)) for _ in range(2)]
    ports = [sock.getsockname()[1] for sock in (front, figures)]
    for named, other in ('8001', port), ('8002', port), ('8003', port), ('8080', ports[0]), ('8404', ports[1]):
        text = re.sub(r'\b%s\b' % named, str(other), text)
    path = os.path.join(folder, name)
    with open(path, 'w') as f:
        f.write(text)
    for sock in front, figures:
        sock.close()
    words = ['haproxy', '-db', '-f', path] if name == 'haproxy.cfg' else ['nginx', '-c', path, '-e', path + '.errors', '-g', 'daemon off; pid %s.pid;' % path]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin'}), ports[0]


def test_proxies():
    """What the project's configurations of HAProxy and nginx keep from clients, however it is written; their own pages may ask."""
    for name in 'haproxy.cfg', 'nginx.conf':
        if not shutil.which(name.split('.')[0], path=os.environ['PATH'] + ':/usr/sbin'):
            print('  %s is not there' % name.split('.')[0])
            continue
        with tempfile.TemporaryDirectory() as folder, Server(MODEL) as s:
            proxy, front = proxied(name, s.port, folder)
            direct, s.port = s.port, front
            try:
                check(eventually(lambda: up(s)), name)
                for verb in 'load', 'unload':
                    for path in '/v2/repository/models/model/', '/v2/%72epository/models/model/', '/v2/repository/model%73/model/', '/v2//repository/models/model/', \
                            '/v2/./repository/models/model/', '/v2/models/../repository/models/model/', '/v2/models/%2e%2e/repository/models/model/', '/V2/repository/models/model/':
                        for end in '', '/', '?x':
                            check(s.ask('POST', path + verb + end, '{}')[0] in (400, 404), (name, path + verb + end))
                for path in '/metrics', '/metrics/', '/%6detrics', '//metrics', '/v2/../metrics', '/metrics?x', '/v2/models/../../metrics':
                    check(s.ask('GET', path)[0] in (400, 404), (name, path))
                equal([s.ask('GET', path)[0] for path in ('/v2', '/v2/health/live', '/v2/models/model', '/v2/models/model/stats')], [200] * 4, name)
                equal(s.ask('POST', '/v2/repository/index', '{}')[0], 200, name)
                equal(s.ask('POST', INFER, json.dumps(json_request(0)), {'Origin': 'http://127.0.0.1:%d' % front})[0], 200, 'a page of the proxy ' + name)
                equal(s.ask('POST', INFER, json.dumps(json_request(0)), {'Origin': 'http://evil'})[0], 403, 'another page')
            finally:
                proxy.terminate()
                proxy.wait()
                s.port = direct


def up(s):
    try:
        return s.ask('GET', '/v2/health/ready')[0] == 200
    except OSError:
        return False


def test_pages():
    """Every answer to a page that may ask can be read by it, those to requests that nobody read whole, too."""
    page = {'Origin': 'https://app.example'}
    with Server(MODEL, '--allow-origin', page['Origin'], '--client-timeout', 1) as s:
        post = b'POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: https://app.example\r\n' % INFER.encode()
        for status, rest in (413, b'Content-Length: 99999999\r\n\r\n'), (417, b'Expect: foo\r\n\r\n'), (431, b'Cookie: ' + b'a' * 20000 + b'\r\n\r\n'), (411, b'\r\n'), \
                (431, b'A: b\r\n' * 200 + b'\r\n'), (501, b'Transfer-Encoding: gzip\r\n\r\n'), (400, b'Content-Length: x\r\n\r\n'), (408, b'Content-Length: 9\r\n\r\n1'):
            got = s.raw(post + rest, end=False)
            check(got.startswith(b'HTTP/1.1 %d ' % status) and got.count(b'Access-Control-Allow-Origin: https://app.example\r\n') == 1, (status, got))
        got = s.raw((post + b'Content-Length: 99999999\r\n\r\n').replace(b'app', b'other'))
        check(got.startswith(b'HTTP/1.1 4') and b'Access-Control' not in got, got)


def test_no_http():
    """What is no HTTP is told so at once, and not after it has stalled."""
    with Server(MODEL, '--client-timeout', 30) as s:
        for data in b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc', b'hello\r\n', b'GET /v2\r\n', bytes(100):
            began = time.monotonic()
            got = s.raw(data, end=False)
            check(got.startswith(b'HTTP/1.1 400 ') and time.monotonic() - began < 10, (data, got))


def test_booleans():
    """A BOOL is 0 or 1, in bytes as in JSON."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, b=onnx('Identity', [('x', 9, ['N'])], [('y', 9, ['N'])]))
        with Server(folder) as s:
            for raw, status in (b'\0\1\1', 200), (b'\1\2\0', 400), (b'\0\0\xff', 400):
                body, headers = binary_request([('x', 'BOOL', [3], raw)], parameters={'binary_data_output': True})
                for b, h in (body, headers), (raw, {'Inference-Header-Content-Length': '0'}):
                    got, h, answer = s.ask('POST', '/v2/models/b/infer', b, h)
                    check(got == status and (got == 200 and answer.endswith(raw) or b"input 'x': found %d in its bytes, which BOOL does not hold" % max(raw) in answer), (raw, answer))
            why = s.json('POST', '/v2/models/b/infer', {'inputs': [{'name': 'x', 'datatype': 'BOOL', 'shape': [1], 'data': ['true']}]}, status=400)['error']
            check('needed numbers, true or false' in why, why)
            digits = '1' * 400
            status, _, answer = s.ask('POST', '/v2/models/b/infer', '{"inputs": [{"name": "x", "datatype": "BOOL", "shape": [1], "data": [%s]}]}' % digits)
            check(status == 400 and b'which no number of 64 bits holds' in answer and b'JSON' not in answer and len(answer) < 200, answer)


def test_statistics():
    """What Triton's clients read of a model's statistics, and of all models'."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, g=onnx('Gather', [('t', 1, [4]), ('i', 7, ['N', 1])], [('y', 1, ['N', 1])]), other=scaled(2))
        with Server(folder, '--max-batch', 8) as s:
            rows = lambda *indices: {'inputs': [{'name': 't', 'datatype': 'FP32', 'shape': [4], 'data': [1, 2, 3, 4]},
                                                {'name': 'i', 'datatype': 'INT64', 'shape': [len(indices), 1], 'data': indices}]}
            for _ in range(5):
                s.json('POST', '/v2/models/g/infer', rows(99, 1), status=400)
            s.ask('POST', '/v2/models/g/infer', 'no request')
            s.ask('POST', '/v2/models/g/infer', None, {'Content-Length': '999999999'})
            for _ in range(3):
                s.json('POST', '/v2/models/other/infer', of_numbers([1] * 8))
            s.json('POST', '/v2/models/g/infer', rows(1, 2))
            g, other = s.json('GET', '/v2/models/stats')['model_stats']
            equal([g, other], [s.json('GET', '/v2/models/%s/stats' % name)['model_stats'][0] for name in ('g', 'other')], 'of all')
            counts = lambda m: {k: v['count'] for k, v in m['inference_stats'].items() if v['count']}
            equal((g['inference_count'], g['execution_count'], counts(g)),
                  (1, 1, {'success': 1, 'fail': 7, 'queue': 1, 'compute_input': 1, 'compute_infer': 1, 'compute_output': 1}), 'g, whose rows nobody knows')
            equal((other['inference_count'], other['execution_count'], counts(other)),
                  (6, 3, {'success': 3, 'queue': 3, 'compute_input': 3, 'compute_infer': 3, 'compute_output': 3}), 'other')
            check(g['inference_stats']['fail']['ns'] > 0, g)
            batch, = other['batch_stats']
            equal((batch['batch_size'], batch['compute_infer']['count']), (2, 3), 'runs by rows')
            check(0 < batch['compute_infer']['ns'] <= other['inference_stats']['success']['ns'], other)
            repository(folder, stats=scaled(2))
            s.json('POST', '/v2/repository/models/stats/load')
            equal(s.json('GET', '/v2/models/stats')['name'], 'stats', 'a model of that name')
        # of requests that share a run each has all of its time
        with Server(folder, '--max-batch', 8, '--batch-delay', 200000, '--instances', 1) as s:
            threads = [threading.Thread(target=lambda: s.json('POST', '/v2/models/other/infer', of_numbers([1] * 4))) for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            m = s.json('GET', '/v2/models/other/stats')['model_stats'][0]
            equal((m['inference_count'], m['inference_stats']['compute_infer']['count']), (8, 8), m)
            check(m['execution_count'] < 8 and sum(b['batch_size'] * b['compute_infer']['count'] for b in m['batch_stats']) == 8, m)


def test_full_disk():
    """Lines of the log for which there is no room are counted, and told once there is."""
    lost = lambda s: s.metric('nnex_log_lines_lost_total')

    class Logging(Server):
        def __init__(self, log, *arguments):
            self.log = tempfile.TemporaryFile('w+')
            self.process = subprocess.Popen([NNEX, 'serve', '--port', '0', *arguments], stdout=subprocess.PIPE, stderr=log, text=True)
            self.wait_until_serving()
    with open('/dev/full', 'w') as full, Logging(full, MODEL, '--log-requests') as s:
        before = lost(s)
        for _ in range(5):
            s.ask('GET', '/v2')
        check(lost(s) >= before + 5 > 5, 'lost: %g, %g' % (before, lost(s)))

    def limited():
        serve.resource.setrlimit(serve.resource.RLIMIT_FSIZE, (5000, 1 << 30))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile('w+') as log:
        process = subprocess.Popen([NNEX, 'serve', '--port', '0', MODEL, '--log', 'json', '--log-requests'], stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limited)
        s = Server.__new__(Server)
        s.log, s.process = log, process
        s.wait_until_serving()
        with s:
            for _ in range(60):
                s.ask('GET', '/v2')
            missing = lost(s)
            check(missing > 10, 'lost: %g' % missing)
            subprocess.run(['prlimit', '--pid', str(process.pid), '--fsize=1000000000'], check=True)
            s.ask('GET', '/v2/models/model')
            events = []
            for line in s.logged().splitlines():
                try:
                    events.append(json.loads(line))
                except ValueError:
                    events.append(None)  # the line that was cut
            told = [e['lines'] for e in events if e and e['event'] == 'log lines lost']
            check(len(told) == 1 and told[0] >= missing and events.count(None) <= 1, (told, missing, events[-4:]))
            equal(events[-1]['path'], '/v2/models/model', 'the line after that')


def test_process():
    """What Prometheus' own libraries tell of a process."""
    with Server(MODEL) as s:
        began = s.metric('process_start_time_seconds')
        check(abs(time.time() - began) < 60, began)
        files = len(os.listdir('/proc/%d/fd' % s.process.pid))
        check(files <= s.metric('process_open_fds') <= files + 2, (files, s.metric('process_open_fds')))
        check(s.metric('process_max_fds') > 64 and s.metric('process_virtual_memory_bytes') > s.metric('process_resident_memory_bytes') > 1 << 20, 'limits')
        equal(s.metric('process_start_time_seconds'), began, 'it began once')
        serve.check_exposition(s.ask('GET', '/metrics')[2].decode())


def test_systemd():
    """What a service tells systemd: that it is ready, loads again, and ends."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        path = os.path.join(folder, 'notify')
        told.bind(path)
        told.settimeout(20)
        with Server(MODEL, env={**os.environ, 'NOTIFY_SOCKET': path}) as s:
            equal(told.recv(1000), b'READY=1', 'once all is loaded')
            s.process.send_signal(signal.SIGHUP)
            check(re.fullmatch(rb'RELOADING=1\nMONOTONIC_USEC=\d+', told.recv(1000)), 'on SIGHUP')
            equal(told.recv(1000), b'READY=1', 'once all is loaded again')
            s.process.send_signal(signal.SIGTERM)
            equal(told.recv(1000), b'STOPPING=1', 'at the end')
            s.process.wait(20)
        with Server(MODEL, env={**os.environ, 'NOTIFY_SOCKET': '@nnex-%d' % os.getpid()}):
            pass  # where nobody listens nothing happens


def peak(s):
    for line in open('/proc/%d/status' % s.process.pid):
        if line.startswith('VmHWM'):
            return int(line.split()[1]) << 10


def test_texts():
    """Texts take memory as the objects that they become, and it is asked for before it is taken."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, t=onnx('Identity', [('x', 8, ['N'])], [('y', 8, ['N'])]))
        with Server(folder, '--queue-bytes', 64) as s:
            def ask(texts, binary):
                if not binary:
                    return s.ask('POST', '/v2/models/t/infer', json.dumps({'inputs': [{'name': 'x', 'datatype': 'BYTES', 'shape': [len(texts)], 'data': texts}]}))
                body, headers = binary_request([('x', 'BYTES', [len(texts)], b''.join(struct.pack('<I', len(x)) + x.encode() for x in texts))], parameters={'binary_data_output': True})
                return s.ask('POST', '/v2/models/t/infer', body, headers)
            for binary in True, False:
                before = peak(s)
                status, _, answer = ask([''] * 3000000, binary)
                check(status == 413 and b'hold' in answer, (binary, status, answer[:200]))
                check(peak(s) - before < 48 << 20, 'memory grew by %d MiB' % (peak(s) - before >> 20))
                equal(ask(['', 'a' * 1000] * 1000, binary)[0], 200, binary)
            check(eventually(lambda: s.metric('nnex_held_bytes') == 0), 'memory is given back')
            # what others hold leaves less
            with socket.create_connection(('127.0.0.1', s.port), 20) as other:
                other.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 40000000\r\n\r\n' % INFER.encode() + b'x' * 39000000)
                check(eventually(lambda: s.metric('nnex_held_bytes') >= 39000000), 'a large body')
                status, h, answer = ask([''] * 800000, True)
                check(status == 429 and h['Retry-After'], (status, answer[:200]))


def test_idle_memory():
    """A session that nobody uses gives back what its runs took."""
    with tempfile.TemporaryDirectory() as folder:
        constant = field(5, field(1, 2) + field(2, 7) + field(8, 's') + field(9, struct.pack('<2q', 6000, 4000)))
        axis = field(5, field(2, 7) + field(8, 'a') + field(9, bytes(8)))
        nodes = b''.join(field(1, b''.join(field(1, i) for i in inputs) + field(2, output) + field(4, op) + more) for op, inputs, output, more in (
            ('Expand', 'xs', 'e', b''), ('CumSum', 'ea', 'c', b''), ('ReduceMax', 'c', 'y', field(5, field(1, 'keepdims') + field(3, 0) + field(20, 2)))))
        graph = nodes + field(2, 'g') + constant + axis + field(11, port('x', 1, [1])) + field(12, port('y', 1, []))
        with open(os.path.join(folder, 'wide.onnx'), 'wb') as f:
            f.write(field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17)))
        with Server(folder) as s:
            ask = lambda: s.json('POST', '/v2/models/wide/infer', {'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [1], 'data': [1]}]})['outputs'][0]['data']
            before = s.memory()
            equal(ask(), [6000], 'a sum')
            check(s.memory() - before > 64 << 20, 'a run took %d MiB' % (s.memory() - before >> 20))
            end = time.monotonic() + 20
            while s.memory() - before > 32 << 20 and time.monotonic() < end:
                time.sleep(0.2)
            check(s.memory() - before < 32 << 20, 'it holds %d MiB' % (s.memory() - before >> 20))
            equal(ask(), [6000], 'after that')


class OverSocket(Server):
    """A server that is asked through a socket in a folder; `command`: what starts it."""

    def __init__(self, path, command, env=None):
        self.path, self.log = path, tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env, close_fds=False)
        line = self.process.stdout.readline().strip()
        check(line.endswith('http://unix:' + path), (line, self.logged()))

    def connect(self):
        c = http.client.HTTPConnection('localhost', timeout=30)
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(self.path)
        return c


def test_unix_socket():
    """A socket in a folder: asked, replaced where nobody listens any more, removed at the end, and in nobody's place."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'nnex.sock')
        command = [NNEX, 'serve', MODEL, '--host', 'unix:' + path, '--log-requests', '--idle-timeout', '1']
        with OverSocket(path, command) as s:
            serve.close(s.json('POST', INFER, json_request(3))['outputs'][0]['data'], serve.wanted(3), 'an answer')
            check(' peer=unix' in s.logged() and ' listening http=unix:%s\n' % path in s.logged(), s.logged())
            other = subprocess.run(command, capture_output=True, text=True, timeout=60)
            check(other.returncode == 3 and 'cannot listen on unix:%s: Address already in use' % path in other.stderr, other.stderr)
            idle = s.connect()
            equal(idle.sock.recv(10), b'', 'an idle connection ends')
            s.process.kill()
            s.process.wait()
            s.process.returncode = 0
        with OverSocket(path, command) as s:  # where one was killed
            equal(s.ask('GET', '/v2')[0], 200, 'again')
        check(not os.path.exists(path), 'it is removed')
    for words, code, text in (['--host', 'unix:'], 3, 'the path has 0 bytes'), (['--host', 'unix:/' + 'a' * 200], 3, 'the path has 201 bytes'), \
            (['--host', 'unix:/nowhere/x'], 3, 'No such file'), (['--host', 'unix:/tmp/x', '--grpc-port', '0'], 2, '--grpc-port: found --host unix:/tmp/x'):
        out = subprocess.run([NNEX, 'serve', MODEL, *words], capture_output=True, text=True, timeout=60)
        check(out.returncode == code and text in out.stderr, (words, out.returncode, out.stderr))


def test_handed_over():
    """The socket of a unit: it is served, and stays for the next server."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, 'nnex.sock')
        listener.bind(path)
        listener.listen(16)
        start = 'exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=%%d exec "$@"' % listener.fileno()
        os.set_inheritable(listener.fileno(), True)
        command = lambda count: ['bash', '-c', start % count, 'bash', NNEX, 'serve', MODEL, '--port', '1']
        for _ in range(2):
            with OverSocket(path, command(1)) as s:
                equal(s.ask('GET', '/v2')[0], 200, 'an answer')
        check(os.path.exists(path), 'it is not the server\'s')
        out = subprocess.run(command(2), capture_output=True, text=True, timeout=60, close_fds=False)
        check(out.returncode == 3 and 'LISTEN_FDS is 2; needed one socket' in out.stderr, out.stderr)
        with Server(MODEL, env={**os.environ, 'LISTEN_FDS': '1', 'LISTEN_PID': '1'}) as s:  # another process' socket
            equal(s.ask('GET', '/v2')[0], 200, 'a port')


def test_figures():
    """docs/serving-metrics.md names every metric, as the server describes it, and every event of the log."""
    text = open(os.path.join(serve.HERE, '..', 'docs', 'serving-metrics.md')).read()
    with Server(MODEL) as s:
        told = dict(re.findall(r'^# HELP (\S+) (.*)$', s.ask('GET', '/metrics')[2].decode(), re.M))
    equal(dict(re.findall(r'^\| `(\w+)` \| \w+ \| (.*?) \|$', text, re.M)), told, 'metrics')
    sources = os.path.join(serve.HERE, '..', 'apps', 'serve')
    events = {e for name in os.listdir(sources) if name.endswith('.cpp') for e in re.findall(r'log_?\.line\("([^"]+)"', open(os.path.join(sources, name)).read())}
    equal({e for e in re.findall(r'^\| `([a-z ]+)` \| [^|]* \|$', text, re.M)}, events | {'log lines lost'}, 'events')


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
