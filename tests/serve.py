#!/usr/bin/env python3
"""serve.py NNEX [TEST...]: `nnex serve` as its clients meet it: over sockets, with nothing of nnex on this side.

Answers are compared with the stored outputs of models/shapes (which numpy computed, in double precision) and with values
worked out here. Last line: N passed, N failed.
"""
import email.utils
import http.client
import http.server
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
SHAPES = os.path.join(HERE, '..', 'models', 'shapes')
NNEX = os.path.abspath(sys.argv[1])
LABELS = open(os.path.join(SHAPES, 'labels.txt')).read().split()


# What the tests need of ONNX's messages: tensors of test data.
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_tensor(path):
    """(extents, bytes) of an f32 TensorProto."""
    data, at, extents, raw = open(path, 'rb').read(), 0, [], b''
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            if key >> 3 == 1:
                extents.append(value)
        elif key & 7 == 2:
            size, at = varint(data, at)
            chunk = data[at:at + size]
            at += size
            if key >> 3 == 9:
                raw = chunk
            elif key >> 3 == 4:
                raw = chunk  # packed floats
            elif key >> 3 == 1:
                inner = 0
                while inner < len(chunk):
                    value, inner = varint(chunk, inner)
                    extents.append(value)
        elif key & 7 == 5:
            raw += data[at:at + 4]
            at += 4
        else:
            raise ValueError(path)
    return extents, raw


def floats(raw):
    return list(struct.unpack('<%df' % (len(raw) // 4), raw))


SHAPE8, PICTURES = read_tensor(os.path.join(SHAPES, 'test_data_set_1', 'input_0.pb'))
WANTED = floats(read_tensor(os.path.join(SHAPES, 'test_data_set_1', 'output_0.pb'))[1])
ROW = 3 * 32 * 32 * 4


def picture(i):
    return PICTURES[i * ROW:(i + 1) * ROW]


def wanted(i):
    return WANTED[i * 8:i * 8 + 8]


# ONNX models of one node, for types that the network of shapes lacks.
def field(number, content):
    def length(n):
        out = b''
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])
    if isinstance(content, int):
        return length(number << 3) + length(content)
    if isinstance(content, str):
        content = content.encode()
    return length(number << 3 | 2) + length(len(content)) + content


def port(name, dtype, dims):
    shape = b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def onnx(op, inputs, outputs, attributes=b'', opset=17):
    node = b''.join(field(1, p[0]) for p in inputs) + b''.join(field(2, p[0]) for p in outputs) + field(4, op) + attributes
    graph = field(1, node) + field(2, 'g') + b''.join(field(11, port(*p)) for p in inputs) + \
        b''.join(field(12, port(*p)) for p in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, opset))


TYPES = {1: 'FP32', 2: 'UINT8', 3: 'INT8', 4: 'UINT16', 5: 'INT16', 6: 'INT32', 7: 'INT64', 8: 'BYTES', 9: 'BOOL',
         10: 'FP16', 11: 'FP64', 12: 'UINT32', 13: 'UINT64', 16: 'BF16'}


class Server:
    """`serving`: whether it is waited for until all models are loaded, or until its port is open."""

    def __init__(self, *arguments, env=None, serving=True, preexec_fn=None):
        self.log = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen([NNEX, 'serve', '--port', '0', *(a if isinstance(a, bytes) else str(a) for a in arguments)], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, env=env, preexec_fn=preexec_fn)
        if serving:
            return self.wait_until_serving()
        listening = lambda: re.search(r' listening http=127\.0\.0\.1:(\d+)( grpc=127\.0\.0\.1:\d+)?\n', self.logged())
        check(eventually(lambda: listening() or self.process.poll() is not None) and listening(), 'no server: ' + self.logged())
        self.port = int(listening()[1])

    def wait_until_serving(self):
        line = self.process.stdout.readline()
        over_grpc = re.match(r'nnex: serving on grpc://127\.0\.0\.1:(\d+)$', line.strip())
        if over_grpc:
            self.grpc_port = int(over_grpc[1])
            line = self.process.stdout.readline()
        found = re.match(r'nnex: serving on http://127\.0\.0\.1:(\d+)$', line.strip())
        if not found:
            self.process.wait()
            self.log.seek(0)
            raise AssertionError('no server: %r %s' % (line, self.log.read()))
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                if kind is None:
                    raise AssertionError('the server did not end')
        if kind is None and self.process.returncode != 0:
            raise AssertionError('exit code %s: %s' % (self.process.returncode, self.logged()[-2000:]))
        if kind is None and re.search('ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error:', self.logged()):
            raise AssertionError('a sanitizer: ' + self.logged()[:3000])

    def logged(self):
        self.log.seek(0)
        return self.log.read()

    def connect(self):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)

    def ask(self, method, path, body=None, headers={}, connection=None):
        """status, headers, body"""
        c = connection or self.connect()
        c.request(method, path, body, headers)
        r = c.getresponse()
        out = r.status, r.headers, r.read()
        if connection is None:
            c.close()
        return out

    def json(self, method, path, body=None, headers={}, status=200):
        got, _, text = self.ask(method, path, None if body is None else json.dumps(body), headers)
        check(got == status, '%s %s: status %s (needed %s): %r' % (method, path, got, status, text[:300]))
        return json.loads(text)

    def raw(self, data, timeout=20, end=True):
        """All that comes back for bytes as they are."""
        s = socket.create_connection(('127.0.0.1', self.port), timeout)
        with s:
            s.sendall(data)
            if end:
                s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def memory(self):
        for line in open('/proc/%d/status' % self.process.pid):
            if line.startswith('VmRSS'):
                return int(line.split()[1]) << 10

    def metric(self, name, labels=''):
        text = self.ask('GET', '/metrics')[2].decode()
        found = re.search(r'^%s%s (\S+)$' % (name, re.escape(labels)), text, re.M)
        check(found, 'no metric %s%s' % (name, labels))
        return float(found[1])


def read_all(s):
    out = b''
    try:
        while True:
            part = s.recv(65536)
            if not part:
                return out
            out += part
    except ConnectionResetError:
        return out


def check(good, message):
    if not good:
        raise AssertionError(message)


def eventually(holds):
    """Whether `holds()` becomes true within ten seconds."""
    end = time.monotonic() + 10
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def equal(found, needed, what=''):
    check(found == needed, '%s: found %r; needed %r' % (what, found, needed))


def close(found, needed, what=''):
    check(len(found) == len(needed) and all(abs(a - b) <= 1e-4 for a, b in zip(found, needed)),
          '%s: found %r; needed %r' % (what, found, needed))


def json_request(*pictures, **more):
    data = [x for i in pictures for x in floats(picture(i))]
    return {'inputs': [{'name': 'picture', 'shape': [len(pictures), 3, 32, 32], 'datatype': 'FP32', 'data': data}], **more}


def binary_request(inputs, outputs=None, parameters=None, id=None):
    """body, headers; inputs: name, datatype, shape, bytes."""
    j = {'inputs': [{'name': n, 'datatype': d, 'shape': s, 'parameters': {'binary_data_size': len(b)}}
                    for n, d, s, b in inputs]}
    if outputs is not None:
        j['outputs'] = outputs
    if parameters is not None:
        j['parameters'] = parameters
    if id is not None:
        j['id'] = id
    head = json.dumps(j).encode()
    return head + b''.join(b for _, _, _, b in inputs), {'Inference-Header-Content-Length': str(len(head)),
                                                        'Content-Type': 'application/octet-stream'}


def binary_pictures(*pictures, **more):
    return binary_request([('picture', 'FP32', [len(pictures), 3, 32, 32], b''.join(picture(i) for i in pictures))],
                          parameters={'binary_data_output': True, **more.pop('parameters', {})}, **more)


def binary_answer(headers, body):
    size = int(headers['Inference-Header-Content-Length'])
    j, at, out = json.loads(body[:size]), size, {}
    for o in j['outputs']:
        n = o.get('parameters', {}).get('binary_data_size')
        if n is not None:
            out[o['name']] = body[at:at + n]
            at += n
    equal(at, len(body), 'bytes of the answer')
    return j, out


INFER = '/v2/models/model/infer'


def repository(folder, **models):
    for name, content in models.items():
        path = os.path.join(folder, name.replace('__', '/'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.new', 'wb') as f:
            f.write(content)
        os.rename(path + '.new', path + '.onnx')


def scaled(factor):
    """x of f32[N,4] times a factor, as ONNX: Mul with a constant."""
    constant = field(1, 1) + field(2, 1) + field(8, 'c') + field(9, struct.pack('<f', factor))
    node = field(1, 'x') + field(1, 'c') + field(2, 'y') + field(4, 'Mul')
    graph = field(1, node) + field(2, 'g') + field(5, constant) + field(11, port('x', 1, ['N', 4])) + \
        field(12, port('y', 1, ['N', 4]))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))


def floored_sum():
    """x of f32[N,4] above 1000, summed along the rows, as ONNX: Sub, Relu, CumSum. Numbers below 1000 show no difference."""
    constants = field(5, field(2, 1) + field(8, 'k') + field(9, struct.pack('<f', 1000))) + field(5, field(2, 7) + field(8, 'a') + field(9, bytes(8)))
    nodes = b''.join(field(1, b''.join(field(1, i) for i in inputs) + field(2, output) + field(3, output) + field(4, op))
                     for op, inputs, output in (('Sub', 'xk', 'd'), ('Relu', 'd', 'r'), ('CumSum', 'ra', 'y')))
    graph = nodes + field(2, 'g') + constants + field(11, port('x', 1, ['N', 4])) + field(12, port('y', 1, ['N', 4]))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))


def of_numbers(values):
    return {'inputs': [{'name': 'x', 'shape': [len(values) // 4, 4], 'datatype': 'FP32', 'data': values}]}


# The tests.
def test_protocol():
    """Health, metadata, and inference as JSON."""
    with Server(os.path.join(SHAPES, 'model.onnx')) as s:
        equal(s.json('GET', '/v2/health/live'), {'live': True}, 'live')
        equal(s.json('GET', '/v2/health/ready'), {'ready': True}, 'ready')
        about = s.json('GET', '/v2')
        equal(about['name'], 'nnex', 'name')
        equal(set(about['extensions']), {'binary_tensor_data', 'classification', 'model_configuration', 'model_repository', 'parameters', 'statistics'}, 'extensions')  # nothing that is not done
        equal(s.json('GET', '/v2/models/model/ready'), {'name': 'model', 'ready': True}, 'model ready')
        for path in '/v2/models/model', '/v2/models/model/versions/1':
            equal(s.json('GET', path),
                  {'name': 'model', 'versions': ['1'], 'platform': 'onnx',
                   'inputs': [{'name': 'picture', 'datatype': 'FP32', 'shape': [-1, 3, 32, 32]}],
                   'outputs': [{'name': 'probabilities', 'datatype': 'FP32', 'shape': [-1, 8]}]}, path)
        for path in INFER, '/v2/models/model/versions/1/infer':
            answer = s.json('POST', path, json_request(2, 5, id='some "id"'))
            equal((answer['id'], answer['model_name'], answer['model_version']), ('some "id"', 'model', '1'), path)
            equal([(o['name'], o['datatype'], o['shape']) for o in answer['outputs']],
                  [('probabilities', 'FP32', [2, 8])], path)
            close(answer['outputs'][0]['data'], wanted(2) + wanted(5), path)
        nested = json_request(0)
        flat = nested['inputs'][0]['data']
        nested['inputs'][0]['data'] = [[[flat[c * 1024 + y * 32:c * 1024 + y * 32 + 32] for y in range(32)] for c in range(3)]]
        nested['outputs'] = [{'name': 'probabilities', 'parameters': {'binary_data': False}}]
        nested['something'] = {'else': [1, {'b': None}]}
        close(s.json('POST', INFER, nested)['outputs'][0]['data'], wanted(0), 'nested lists')
        check('id' not in s.json('POST', INFER, nested), 'an id that nobody gave')
        status, headers, body = s.ask('HEAD', '/v2/health/live')
        equal((status, body), (200, b''), 'HEAD')


def test_binary():
    """The binary tensor extension."""
    with Server(os.path.join(SHAPES, 'model.onnx')) as s:
        body, headers = binary_pictures(*range(8), id='b')
        status, h, answer = s.ask('POST', INFER, body, headers)
        equal(status, 200, 'status')
        equal(h['Content-Type'], 'application/octet-stream', 'type')
        made = email.utils.parsedate_to_datetime(h['Date']).timestamp()
        check(abs(time.time() - made) < 60, 'Date: found %s' % h['Date'])
        j, out = binary_answer(h, answer)
        equal((j['id'], j['outputs'][0]['shape']), ('b', [8, 8]), 'answer')
        close(floats(out['probabilities']), WANTED, 'eight pictures')
        names = [LABELS[max(range(8), key=lambda k: floats(out['probabilities'])[i * 8 + k])] for i in range(8)]
        equal(names, LABELS, 'labels')
        # one output says otherwise; and binary in, JSON out
        body, headers = binary_request([('picture', 'FP32', [1, 3, 32, 32], picture(3))],
                                       [{'name': 'probabilities', 'parameters': {'binary_data': False}}],
                                       {'binary_data_output': True})
        status, h, answer = s.ask('POST', INFER, body, headers)
        check('Inference-Header-Content-Length' not in h, 'a header length without binary data')
        close(json.loads(answer)['outputs'][0]['data'], wanted(3), 'JSON out')
        # a body that is nothing but the input
        status, h, answer = s.ask('POST', INFER, picture(4) + picture(1), {'Inference-Header-Content-Length': '0'})
        equal(status, 200, answer[:200])
        close(floats(binary_answer(h, answer)[1]['probabilities']), wanted(4) + wanted(1), 'bare body')


def test_types():
    """Every element type there and back, as bytes and (where JSON has it) as JSON."""
    values = {1: ('f', [0.5, -2.0]), 2: ('B', [0, 255]), 3: ('b', [-128, 127]), 4: ('H', [0, 65535]), 5: ('h', [-32768, 32767]),
              6: ('i', [-2**31, 2**31 - 1]), 7: ('q', [-2**63, 2**63 - 1]), 9: ('?', [True, False]), 10: ('e', [1.5, -0.25]),
              11: ('d', [0.1, -1e300]), 12: ('I', [0, 2**32 - 1]), 13: ('Q', [0, 2**64 - 1]), 16: ('H', [0x3f80, 0xc000])}
    folder = tempfile.mkdtemp()
    for code in TYPES:
        repository(folder, **{'t%d' % code: onnx('Identity', [('x', code, ['N', 2])], [('y', code, ['N', 2])])})
    numbers = field(5, field(1, 'value_ints') + field(8, 3) + field(8, 4) + field(20, 7))
    repository(folder, none=onnx('Constant', [], [('y', 7, [2])], numbers))
    try:
        with Server(folder) as s:
            for code, (letter, items) in values.items():
                raw = struct.pack('<2' + letter, *items)
                body, headers = binary_request([('x', TYPES[code], [1, 2], raw)], parameters={'binary_data_output': True})
                status, h, answer = s.ask('POST', '/v2/models/t%d/infer' % code, body, headers)
                equal(status, 200, (TYPES[code], answer[:200]))
                j, out = binary_answer(h, answer)
                equal((j['outputs'][0]['datatype'], out['y']), (TYPES[code], raw), TYPES[code])
                sent = {'inputs': [{'name': 'x', 'shape': [1, 2], 'datatype': TYPES[code], 'data': items}]}
                half = code in (10, 16)
                answer = s.json('POST', '/v2/models/t%d/infer' % code, sent, status=400 if half else 200)
                if half:
                    check('binary data alone' in answer['error'], answer)
                    body, headers = binary_request([('x', TYPES[code], [1, 2], raw)])
                    check(b'binary data alone' in s.ask('POST', '/v2/models/t%d/infer' % code, body, headers)[2], 'FP16 out')
                else:
                    equal(answer['outputs'][0]['data'], items, TYPES[code])
            texts = [b'', 'Größe "1"\n'.encode()]
            raw = b''.join(struct.pack('<I', len(t)) + t for t in texts)
            body, headers = binary_request([('x', 'BYTES', [1, 2], raw)], parameters={'binary_data_output': True})
            _, h, answer = s.ask('POST', '/v2/models/t8/infer', body, headers)
            equal(binary_answer(h, answer)[1]['y'], raw, 'BYTES')
            sent = {'inputs': [{'name': 'x', 'shape': [1, 2], 'datatype': 'BYTES', 'data': [t.decode() for t in texts]}]}
            equal(s.json('POST', '/v2/models/t8/infer', sent)['outputs'][0]['data'], [t.decode() for t in texts], 'BYTES')
            body, headers = binary_request([('x', 'BYTES', [1, 2], struct.pack('<I2sI', 2, b'\xff\xfe', 0))])
            status, _, answer = s.ask('POST', '/v2/models/t8/infer', body, headers)
            check(status == 400 and b'no UTF-8' in answer, 'bytes that JSON lacks: %r' % answer)
            minus = {'inputs': [{'name': 'x', 'shape': [1, 2], 'datatype': 'FP32', 'data': [-0.0, 0.0]}]}
            equal(repr(s.json('POST', '/v2/models/t1/infer', minus)['outputs'][0]['data']), '[-0.0, 0]', 'minus zero')
            for wrong in raw[:-1], raw + b'x', struct.pack('<I', 2**32 - 1) + raw[4:]:
                body, headers = binary_request([('x', 'BYTES', [1, 2], wrong)])
                equal(s.ask('POST', '/v2/models/t8/infer', body, headers)[0], 400, 'BYTES of wrong lengths')
            for code, item in (2, 256), (2, -1), (3, 128), (13, -1), (6, 1.5), (7, 2**63), (9, 2), (2, 'a'), (8, 1):
                sent = {'inputs': [{'name': 'x', 'shape': [1, 2], 'datatype': TYPES[code], 'data': [item, item]}]}
                s.json('POST', '/v2/models/t%d/infer' % code, sent, status=400)
            for code, item in (1, '1e39'), (1, '-1e39'), (11, '1e400'), (2, '256.0'), (7, '1e19'), (13, '2e19'), (9, '2.0'), (6, '0.5'):
                sent = '{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "%s", "data": [0, %s]}]}' % (TYPES[code], item)
                status, _, answer = s.ask('POST', '/v2/models/t%d/infer' % code, sent)
                equal(status, 400, (TYPES[code], item, answer))
            for code, item, value in (7, '1.0', 1), (2, '2.55e2', 255), (13, '1e19', 10**19), (9, '1.0', True), (3, '-0.0', 0), (1, '3.4e38', 3.4e38):
                sent = '{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "%s", "data": [0, %s]}]}' % (TYPES[code], item)
                status, _, answer = s.ask('POST', '/v2/models/t%d/infer' % code, sent)
                check(status == 200 and abs(json.loads(answer)['outputs'][0]['data'][1] - value) <= 1e-6 * abs(value), (TYPES[code], item, answer))
            # whole numbers that no double holds, with a point or an exponent
            for code, item, value in (7, '9007199254740993.0', 2**53 + 1), (7, '-9.007199254740993e15', -2**53 - 1), (13, '18446744073709551615.00', 2**64 - 1), \
                    (7, '-9223372036854775808.0', -2**63), (7, '9223372036854775808.0', None), (13, '18446744073709551616.0', None), (7, '9007199254740993.5', None):
                sent = '{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "%s", "data": [0, %s]}]}' % (TYPES[code], item)
                status, _, answer = s.ask('POST', '/v2/models/t%d/infer' % code, sent)
                equal(json.loads(answer)['outputs'][0]['data'][1] if status == 200 else None, value, (TYPES[code], item, answer))
            # a body that is nothing but the input: of which size it may be
            bare = lambda code, body: json.loads(s.ask('POST', '/v2/models/t%d/infer' % code, body, {'Inference-Header-Content-Length': '0'})[2])['error']
            equal(bare(1, b'1234567'), "input 'x': found 7 bytes; FP32 of shape [N,2] has a multiple of 8", 'bare')
            check('has elements of one size; BYTES needs binary_data_size' in bare(8, b'1234'), bare(8, b'1234'))
            sent = {'inputs': [{'name': 'x', 'shape': [1, 2], 'datatype': 'FP32', 'data': ['NaN', '-Infinity']}]}
            equal(s.json('POST', '/v2/models/t1/infer', sent)['outputs'][0]['data'], ['NaN', '-Infinity'], 'words')
            equal(s.json('POST', '/v2/models/t1/infer',
                         {'inputs': [{'name': 'x', 'shape': [0, 2], 'datatype': 'FP32', 'data': []}]})['outputs'][0],
                  {'name': 'y', 'datatype': 'FP32', 'shape': [0, 2], 'data': []}, 'no rows')
            for sent in {'inputs': []}, {}:
                equal(s.json('POST', '/v2/models/none/infer', sent)['outputs'][0]['data'], [3, 4], 'no inputs')
    finally:
        shutil.rmtree(folder)


def test_errors():
    """Every error that a client can make, with its status; the server answers as before."""
    with Server(os.path.join(SHAPES, 'model.onnx'), '--request-limit', 200000) as s:
        good = json_request(0)

        def refused(status, text, change, path=INFER):
            j = json.loads(json.dumps(good))
            change(j)
            answer = s.json('POST', path, j, status=status)
            check(text in answer['error'], '%r in %r' % (text, answer))

        first = lambda j: j['inputs'][0]
        refused(400, "no input 'image'", lambda j: first(j).update(name='image'))
        refused(400, "found datatype 'FP64'; needed FP32", lambda j: first(j).update(datatype='FP64'))
        refused(400, 'found shape [1,3,32]; needed [N,3,32,32]', lambda j: first(j).update(shape=[1, 3, 32]))
        refused(400, '"data" has 3072 items; shape [2,3,32,32] has 6144', lambda j: first(j).update(shape=[2, 3, 32, 32]))
        refused(400, 'too many', lambda j: first(j).update(shape=[2**62, 3, 32, 32]))
        refused(400, '"shape"', lambda j: first(j).update(shape=[-1, 3, 32, 32]))
        refused(400, 'has no data', lambda j: first(j).pop('data'))
        refused(400, 'has no shape', lambda j: first(j).pop('shape'))
        refused(400, 'no inputs', lambda j: j.pop('inputs'))
        refused(400, 'is given twice', lambda j: j['inputs'].append(first(j)) or first(j).update(data=[]) or
                first(j).update(shape=[0, 3, 32, 32]))
        refused(400, "no output 'scores'", lambda j: j.update(outputs=[{'name': 'scores'}]))
        refused(400, 'asked for twice', lambda j: j.update(outputs=[{'name': 'probabilities'}] * 2))
        refused(400, 'not supported', lambda j: j.update(outputs=[{'name': 'probabilities', 'parameters': {'shared_memory_region': 'r'}}]))
        refused(400, 'must be a whole number', lambda j: j.update(parameters={'timeout': 'soon'}))
        refused(400, 'binary_data_size is 12; 0 bytes are left', lambda j: (first(j).pop('data'), first(j).update(parameters={'binary_data_size': 12})))
        refused(400, 'input \'picture\': "data" has lists of different lengths', lambda j: first(j).update(data=[[1, 2], [3]]))
        refused(400, 'input \'picture\': "shape": found -7; needed extents from 0', lambda j: first(j).update(shape=[1, -7]))
        refused(400, 'input \'picture\': "shape": found 1.5; needed a whole number', lambda j: first(j).update(shape=[1.5]))
        refused(400, "input 'picture' has no datatype; needed FP32", lambda j: first(j).pop('datatype'))
        refused(400, 'an input has no name', lambda j: first(j).pop('name'))
        text = json.dumps(good)
        for member, twice in ('id', '{"id":"a","id":"b",'), ('inputs', '{"inputs":[],'), ('parameters', '{"parameters":{},"parameters":{},'), \
                ("parameter 'timeout'", '{"parameters":{"timeout":1,"timeout":0},'):
            status, _, body = s.ask('POST', INFER, twice + text[1:])
            check(status == 400 and member in json.loads(body)['error'] and 'is given twice' in json.loads(body)['error'], (twice, status, body))
        for member, value in ('name', '"z"'), ('datatype', '"FP64"'), ('shape', '[1]'), ('data', '[]'), ('parameters', '{}'):
            status, _, body = s.ask('POST', INFER, text.replace('"name":', '"%s": %s, "parameters": {}, "name":' % (member, value), 1))
            check(status == 400 and '\\"%s\\" is given twice' % member in body.decode(), (member, status, body))
        refused(404, "no model 'nothing'", lambda j: None, '/v2/models/nothing/infer')
        refused(404, "of version 2", lambda j: None, '/v2/models/model/versions/2/infer')
        for text, why in (b'', 'JSON'), (b'{"inputs":', 'JSON'), (b'[]', 'a list'), (b'7', 'object'), (b'\xff\xfe', 'JSON'), \
                (b'{"inputs":' + b'[' * 70 + b']' * 70 + b'}', ''), (b'{"a":' * 100 + b'1' + b'}' * 100, 'nested deeper'):
            status, _, body = s.ask('POST', INFER, text)
            check(status == 400 and why in json.loads(body)['error'], (text[:20], status, body))
        for path in INFER, '/v2/repository/index':
            status, _, body = s.ask('POST', path, (json.dumps(good) if path == INFER else '{}').encode() + b'\0more')
            check(status == 400 and b'JSON' in body, ('a zero byte', status, body))
        for value in 'x', '-1', '99999999', '1e3':
            status, _, body = s.ask('POST', INFER, b'{}', {'Inference-Header-Content-Length': value})
            check(status == 400 and b'Inference-Header' in body, (value, body))
        body, headers = binary_pictures(0)
        for cut in body[:-4], body + b'1234':
            equal(s.ask('POST', INFER, cut, headers)[0], 400, 'bytes that are missing or too many')
        for method, path, status in ('GET', INFER, 405), ('POST', '/v2', 405), ('DELETE', '/v2/models/model', 405), \
                ('GET', '/', 404), ('GET', '/v1/models', 404), ('GET', '/v2/models/model/nothing', 404), \
                ('GET', '/v2/models/nothing', 404), ('GET', '/v2/models/nothing/ready', 404), ('GET', '/%zz', 400), \
                ('GET', '/v2/health/well', 404), ('POST', '/metrics', 405), ('GET', '/v2/repository/index', 405):
            got, h, body = s.ask(method, path)
            check(got == status and 'error' in json.loads(body), (method, path, got, body))
            check((status == 405) == ('Allow' in h), (method, path, 'Allow'))
        counted = lambda code: s.metric('nnex_inferences_total', '{model="model",version="1",code="%d"}' % code)
        equal(counted(413), 0, 'none so far')
        equal(s.ask('POST', INFER, b'x' * 200001)[0], 413, 'too large')
        equal(counted(413), 1, 'and counted for its model')
        for length in b'99999999999999999999999', b'200001':
            got = s.raw(b'POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\n' % (INFER.encode(), length))
            check(got.startswith(b'HTTP/1.1 413 ') and b'the body has %s bytes; the limit is 200000' % length in got, got)
        got = s.raw(b'POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n' % INFER.encode())
        check(got.startswith(b'HTTP/1.1 413 '), got)
        equal(s.ask('POST', '/v2/repository/index', b'[' * 100000)[0], 413, 'an index request that is too large')
        equal(s.ask('POST', INFER, b'{}', {'Content-Encoding': 'br'})[0], 415, 'br')
        got = s.raw(b'POST %s HTTP/1.1\r\nHost: a\r\n\r\n' % INFER.encode())
        check(got.startswith(b'HTTP/1.1 411 '), got)
        equal([s.metric('nnex_inferences_total', '{model="model",version="1",code="%d"}' % code) for code in (411, 415, 500)],
              [1, 1, 0], 'a request that the client spoilt is no fault of the server')
        close(s.json('POST', INFER, good)['outputs'][0]['data'], wanted(0), 'after all that')


def test_http():
    """HTTP itself: keep-alive, pipelining, chunks, Expect, what is no HTTP, lengths that lie."""
    body, headers = binary_pictures(1)
    request = b'POST %s HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: %s\r\n' % (
        INFER.encode(), headers['Inference-Header-Content-Length'].encode())
    plain = request + b'Content-Length: %d\r\n\r\n' % len(body) + body
    with Server(os.path.join(SHAPES, 'model.onnx'), '--client-timeout', 1) as s:
        c = s.connect()
        c.connect()
        first = c.sock
        for i in range(5):
            status, h, answer = s.ask('POST', INFER, *binary_pictures(i), connection=c)
            close(floats(binary_answer(h, answer)[1]['probabilities']), wanted(i), 'keep-alive')
        check(c.sock is first, 'the connection was not kept')
        c.close()
        # an empty line after a body is none of the next request: it may be late
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        sock.sendall(plain + b'\r\n')
        check(b'model_name' in sock.recv(65536), 'before an empty line')
        time.sleep(1.5)
        sock.sendall(b'GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        check(read_all(sock).startswith(b'HTTP/1.1 200 '), 'after an empty line')
        # pipelined: answers in order, and the last one ends the connection
        health = b'GET /v2/health/live HTTP/1.1\r\nHost: a\r\n%s\r\n'
        got = s.raw(plain + health % b'' + plain + health % b'Connection: close\r\n', end=False)
        equal([int(x) for x in re.findall(rb'HTTP/1\.1 (\d+) ', got)], [200] * 4, 'pipelined')
        equal([m.start() < got.find(b'{"live":true}') for m in re.finditer(b'model_name', got)], [True, False], 'order')
        # empty lines before a request; HTTP/1.0 keeps a connection where it is asked to
        got = s.raw(b'\r\n\r\n\r\n' + health % b'Connection: close\r\n', end=False)
        check(got.startswith(b'HTTP/1.1 200 '), got)
        check(s.raw(b'\r\n' * 20).startswith(b'HTTP/1.1 400 '), 'empty lines for ever')
        old = b'GET /v2/health/live HTTP/1.0\r\n%s\r\n'
        got = s.raw(old % b'Connection: Keep-Alive\r\n' + old % b'', end=False)
        equal([int(x) for x in re.findall(rb'HTTP/1\.1 (\d+) ', got)], [200] * 2, 'HTTP/1.0')
        equal([got.count(b'Connection: keep-alive\r\n'), got.count(b'Connection: close\r\n')], [1, 1], 'Connection')
        # chunks of any size, extensions, trailers; byte by byte
        cuts = [0, 1, 2, 100, 101, 5000, len(body)]
        chunked = request + b'Transfer-Encoding: chunked\r\n\r\n' + b''.join(
            b'%x;ext=1\r\n%s\r\n' % (b - a, body[a:b]) for a, b in zip(cuts, cuts[1:])) + b'0\r\nTrailer: x\r\n\r\n'
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        for i in range(0, 400):
            sock.sendall(chunked[i:i + 1])
        sock.sendall(chunked[400:] + health % b'Connection: close\r\n')
        got = read_all(sock)
        head, _, rest = got.partition(b'\r\n\r\n')
        answer = dict(line.decode().split(': ') for line in head.split(b'\r\n')[1:])
        size = int(answer['Content-Length'])
        close(floats(binary_answer(answer, rest[:size])[1]['probabilities']), wanted(1), 'chunked')
        check(b'{"live":true}' in rest[size:], 'after chunks')
        # Expect: 100-continue
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        sock.sendall(request + b'Expect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' % len(body))
        equal(sock.recv(100), b'HTTP/1.1 100 Continue\r\n\r\n', 'continue')
        sock.sendall(body)
        check(read_all(sock).startswith(b'HTTP/1.1 200 '), 'after continue')
        # what is no HTTP, or could be read in two ways
        post = b'POST %s HTTP/1.1\r\nHost: a\r\n' % INFER.encode()
        for data, status in [
                (b'hello\r\n\r\n', 400), (b'GET /v2 HTTP/2.0\r\nHost: a\r\n\r\n', 505), (b'GET /v2 HTTP/1.1\r\n\r\n', 400),
                (b'GET /v2 HTTP/1.1\nHost: a\n\n', 400), (b'GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400),
                (b'GET /v2 HTTP/1.1\r\nHost : a\r\n\r\n', 400), (b'GET /v2 HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n', 400),
                (b'GET /v2 HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n', 400), (b'GET  HTTP/1.1\r\nHost: a\r\n\r\n', 400),
                (b'G\x00T /v2 HTTP/1.1\r\nHost: a\r\n\r\n', 400), (b'GET /v2 HTTP/1.1\r\nHost: a\r\nX: ' + b'y' * 20000, 431),
                (b'GET /v2 HTTP/1.1\r\nHost: a\r\n' + b'X: y\r\n' * 150 + b'\r\n', 431), (b'GET /' + b'v' * 20000, 431),
                (post + b'Content-Length: 1000000000\r\n\r\nabc', 413),
                (post + b'Content-Length: 99999999999999999999999\r\n\r\n', 413),
                (post + b'Content-Length: -1\r\n\r\n', 400), (post + b'Content-Length: 1, 1\r\n\r\n', 400),
                (post + b'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}', 400),
                (post + b'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
                (post + b'Transfer-Encoding: gzip, chunked\r\n\r\n', 501), (post + b'Expect: 200-ok\r\n\r\n', 417),
                (post + b'Transfer-Encoding: chunked\r\n\r\n3b9aca00\r\nabc', 413),
                (post + b'Transfer-Encoding: chunked\r\n\r\nxyz\r\n', 400),
                (post + b'Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n', 400),
                (post + b'Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n', 400)]:
            got = s.raw(data)
            check(got.startswith(b'HTTP/1.1 %d ' % status) and b'Connection: close' in got, (data[:60], status, got[:200]))
        # fewer bytes than declared: the client is told, and cut
        got = s.raw(post + b'Content-Length: 50\r\n\r\n{}', end=False)
        check(got.startswith(b'HTTP/1.1 408 '), got[:100])
        check(s.metric('nnex_http_clients_cut_total') >= 1, 'cut clients are counted')
    # connections that are kept, more than there may be, shut nobody out
    with Server(os.path.join(SHAPES, 'model.onnx'), '--connections', 3) as s:
        busy = s.connect()
        equal(s.ask('GET', '/v2/health/live', connection=busy)[0], 200, 'a connection that is used')
        kept = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(6)]
        ended, end = threading.Event(), []

        def use():
            while not ended.is_set():
                end.append(s.ask('POST', INFER, *binary_pictures(1), connection=busy)[0])
        using = threading.Thread(target=use)
        using.start()
        equal(s.ask('GET', '/v2/health/live')[0], 200, 'among connections that are kept')
        ended.set()
        using.join()
        check(set(end) == {200}, 'connections that are used stay: %r' % set(end))
        for sock in kept + [busy]:
            sock.close()


def test_connections():
    """Whoever keeps connections gives way at once, whoever was answered, too; few files mean few connections, and a line in the log."""
    model = os.path.join(SHAPES, 'model.onnx')
    with Server(model, '--connections', 50, '--client-timeout', 1, '--idle-timeout', 30) as s:
        kept = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(50)]
        check(eventually(lambda: len(os.listdir('/proc/%d/fd' % s.process.pid)) > 50), 'connections')
        time.sleep(0.2)
        began = time.monotonic()
        for _ in range(40):  # one after the other
            equal(s.ask('GET', '/v2/health/live')[0], 200, 'a new client')
        check(time.monotonic() - began < 1, 'one after the other: %.2f s' % (time.monotonic() - began))
        kept += [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(50)]
        time.sleep(0.3)
        began = time.monotonic()
        at_once = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(40)]
        for sock in at_once:
            sock.sendall(b'GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        for sock in at_once:
            check(read_all(sock).startswith(b'HTTP/1.1 200 '), 'a new client among others')
        check(time.monotonic() - began < 1, 'at once: %.2f s' % (time.monotonic() - began))
        for sock in kept + at_once:
            sock.close()
        # clients that stop in the middle of a request are answered 408, and keep their place no longer than others let them
        stalled = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(50)]
        for sock in stalled:
            sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx' % INFER.encode())
        began = time.monotonic()
        equal(s.ask('GET', '/v2/health/live')[0], 200, 'behind clients that stopped')
        check(time.monotonic() - began < 2, 'behind clients that stopped: %.2f s' % (time.monotonic() - began))
        for sock in stalled:
            sock.close()
        check('connections limited' not in s.logged(), s.logged())
    with Server(model, '--idle-timeout', 0.2) as s:
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        equal(read_all(sock), b'', 'a connection without a request')
        sock.close()

    class Few(Server):
        def __init__(self, *arguments):
            limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
            self.log = tempfile.TemporaryFile('w+')
            self.process = subprocess.Popen([NNEX, 'serve', '--port', '0', *arguments], stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=limit)
            self.wait_until_serving()
    with Few(model) as s:
        check(re.search(r' connections limited connections=20 asked=4096 because=', s.logged()), s.logged())
        kept = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(60)]
        time.sleep(0.2)
        equal(s.ask('GET', '/v2/health/live')[0], 200, 'with few files')
        s.json('POST', '/v2/repository/models/model/load')
        for sock in kept:
            sock.close()


def test_memory():
    """Much declared, and bodies that together pass the limit: no memory is taken for what has not come; what alone passes it is no matter of time."""
    with Server(os.path.join(SHAPES, 'model.onnx'), '--request-limit', 2000000000, '--queue-bytes', 32, '--client-timeout', 3) as s:
        s.json('POST', INFER, json_request(0))
        before = s.memory()
        held = []
        post = b'POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n'
        for _ in range(50):
            sock = socket.create_connection(('127.0.0.1', s.port), 20)
            sock.sendall(post % (INFER.encode(), 30000000) + b'x' * 1000)
            held.append(sock)
        s.json('POST', INFER, json_request(0))
        check(s.memory() - before < 30 << 20, 'memory grew by %d MiB' % ((s.memory() - before) >> 20))
        began = time.monotonic()
        for length, status in (1000000000, b'413'), (None, b'413'):
            sock = socket.create_connection(('127.0.0.1', s.port), 20)
            sock.sendall(post % (INFER.encode(), length) if length else
                         b'POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' % INFER.encode())
            try:
                while time.monotonic() - began < 20:
                    sock.sendall(b'x' * (1 << 20) if length else b'100000\r\n' + b'x' * (1 << 20) + b'\r\n')
            except OSError:
                pass
            check(time.monotonic() - began < 10, 'nobody stopped a client that sends more than there is room for')
            sock.close()
        counted = lambda code: s.metric('nnex_inferences_total', '{model="model",version="1",code="%d"}' % code)
        check(counted(413) >= 1 and counted(413) + counted(429) == 2, 'what could never be held')
        busy = counted(429)
        large = [socket.create_connection(('127.0.0.1', s.port), 20) for _ in range(2)]
        for sock in large:  # each alone would have room
            sock.sendall(post % (INFER.encode(), 20000000))
            try:
                sock.sendall(b'x' * 19000000)
            except OSError:
                pass
        check(eventually(lambda: counted(429) == busy + 1), 'what there is no room for beside others')
        for sock in large:
            sock.close()
        check(s.memory() - before < 100 << 20, 'memory grew by %d MiB' % ((s.memory() - before) >> 20))
        check(s.metric('nnex_http_refused_total') >= 1, 'whom there was no room for is counted')
        for sock in held:
            sock.close()
        time.sleep(0.3)
        close(s.json('POST', INFER, json_request(6))['outputs'][0]['data'], wanted(6), 'after all that')
    folder = tempfile.mkdtemp()
    repository(folder, grow=onnx('Expand', [('x', 1, [1]), ('s', 7, [1])], [('y', 1, ['N'])]))
    limit = 64 << 20
    grown = lambda elements, binary: {'parameters': {'binary_data_output': binary}, 'inputs': [
        {'name': 'x', 'shape': [1], 'datatype': 'FP32', 'data': [0.125]},
        {'name': 's', 'shape': [1], 'datatype': 'INT64', 'data': [elements]}]}
    path = '/v2/models/grow/infer'
    try:
        with Server(folder, '--queue-bytes', limit >> 20, '--client-timeout', 30) as s:
            for binary in True, False:
                answer = s.json('POST', path, grown(limit // 2, binary), status=413)
                check('the answer takes' in answer['error'] and str(limit) in answer['error'], answer)
            body = json.dumps(grown(5000000, True)).encode()
            held = []
            for _ in range(12):  # 20 MB each, which nobody reads
                sock = socket.create_connection(('127.0.0.1', s.port), 20)
                sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' % (
                    path.encode(), len(body)) + body)
                held.append(sock)
            answered = lambda: [s.metric('nnex_inferences_total', '{model="grow",version="1",code="%d"}' % c) for c in (200, 429)]
            check(eventually(lambda: sum(answered()) == 12), 'answers: %r' % answered())
            check(answered()[0] >= 2 and answered()[1] >= 6, 'answered, refused: %r' % answered())
            check(s.metric('nnex_held_bytes') <= limit, 'answers hold more than there is for them')
            for sock in held:
                got = read_all(sock)
                check(got.startswith(b'HTTP/1.1 429 ') and b'Retry-After' in got or len(got) > 20000000, got[:200])
            check(eventually(lambda: s.metric('nnex_held_bytes') == 0), 'memory of answers is given back')
            equal(s.json('POST', path, grown(2, False))['outputs'][0]['data'], [0.125, 0.125], 'after all that')
    finally:
        shutil.rmtree(folder)


def test_slow():
    """Clients that stall, trickle or do not read: cut, while others are answered."""
    many = 1000
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4 * many), most))
    with Server(os.path.join(SHAPES, 'model.onnx'), '--client-timeout', 3) as s:
        socks = []
        for i in range(many):
            sock = socket.create_connection(('127.0.0.1', s.port), 20)
            sock.sendall(b'POST %s HTTP/1.1\r\nHo' % INFER.encode())
            socks.append(sock)
        began = time.monotonic()
        for i in range(20):
            body, headers = binary_pictures(i % 8)
            status, h, answer = s.ask('POST', INFER, body, headers)
            close(floats(binary_answer(h, answer)[1]['probabilities']), wanted(i % 8), 'among slow ones')
        check(s.metric('nnex_http_connections') >= many, 'slow clients were gone before others were answered')
        for sock in socks:
            check(read_all(sock).startswith(b'HTTP/1.1 408 '), 'a stalled client')
            sock.close()
        check(time.monotonic() - began < 20, 'stalled clients were kept')
        # one byte at a time, for ever
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n' % INFER.encode())
        began = time.monotonic()
        try:
            while time.monotonic() - began < 10:
                sock.sendall(b'x')
                time.sleep(0.02)
        except OSError:
            pass
        check(time.monotonic() - began < 8, 'a client that trickles was kept')
        # a client that asks and never reads
        sock = socket.create_connection(('127.0.0.1', s.port), 20)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(5)
        began = time.monotonic()
        try:
            while time.monotonic() - began < 20:
                sock.sendall(b'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n' * 100)
        except OSError:
            pass
        check(time.monotonic() - began < 15, 'a client that reads nothing was kept')
        check(s.metric('nnex_http_clients_cut_total') >= many + 1, 'clients cut')


def test_steady():
    """A client that is slow and does not stall gets its answer and is heard; --client-rate says how slow."""
    folder = tempfile.mkdtemp()
    repository(folder, same=onnx('Identity', [('x', 1, ['N'])], [('y', 1, ['N'])]))
    path, count = '/v2/models/same/infer', 1 << 20
    try:
        with Server(folder, '--client-timeout', 1) as s:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
            sock.settimeout(20)
            sock.connect(('127.0.0.1', s.port))
            body = json.dumps({'inputs': [{'name': 'x', 'shape': [count], 'datatype': 'FP32', 'parameters': {'binary_data_size': 4 * count}}],
                               'parameters': {'binary_data_output': True}}).encode()
            sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n' % (
                path.encode(), len(body), len(body) + 4 * count) + body + bytes(4 * count))
            got = 0
            while got < 4 * count:  # about 700 kB a second
                part = sock.recv(35000)
                check(part, 'cut after %d bytes' % got)
                got += len(part)
                time.sleep(0.05)
            sock.close()
            equal(s.metric('nnex_http_clients_cut_total'), 0, 'cut')
            text = json.dumps({'inputs': [{'name': 'x', 'shape': [5000], 'datatype': 'FP32', 'data': [0] * 5000}]}).encode()
            sock = socket.create_connection(('127.0.0.1', s.port), 20)
            sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' % (path.encode(), len(text)))
            for at in range(0, len(text), 400):  # 4 kB a second
                sock.sendall(text[at:at + 400])
                time.sleep(0.1)
            check(read_all(sock).startswith(b'HTTP/1.1 200 '), 'a slow upload')
            sock.close()
        with Server(folder, '--client-timeout', 1, '--client-rate', 0) as s:
            sock = socket.create_connection(('127.0.0.1', s.port), 20)
            for byte in b'GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n':
                sock.sendall(bytes([byte]))
                time.sleep(0.05)
            check(read_all(sock).startswith(b'HTTP/1.1 200 '), 'a byte now and then')
            sock.close()
    finally:
        shutil.rmtree(folder)


class Hostile:
    """Requests of an enemy, each from its seed: good ones of every kind with bytes changed, lost, doubled and swapped, lengths that lie, numbers at
    every edge, and JSON that is nested, doubled or none."""

    NUMBERS = (b'0', b'1', b'-1', b'2147483648', b'4294967295', b'4294967296', b'9223372036854775807', b'9223372036854775808', b'1000000000',
               b'18446744073709551616', b'1e308', b'0x10', b'1.5', b'', b' 7 ', b'+3', b'null', b'NaN', b'"5"', b'[]', b'{}', b'\xff\xfe')
    HEADERS = (b'Content-Length', b'Inference-Header-Content-Length', b'Transfer-Encoding', b'Expect', b'Host', b'timeout', b'Content-Encoding',
               b'Connection', b'traceparent', b'tracestate', b'X-API-Key', b'Content-Type')
    VALUES = NUMBERS + (b'chunked', b'chunked, chunked', b'gzip', b'100-continue', b'close', b'keep-alive, \x00', b'\r\n\r\n', b'a' * 9000, b'%s%n%p')
    WORDS = (b'"binary_data_size":', b'"shape":', b'"data":', b'"timeout":', b'"inputs":', b'"datatype":', b'"parameters":', b'"name":', b'"binary_data":')

    def __init__(self, s):
        body, headers = binary_pictures(1, 2)
        text = json.dumps(json_request(3)).encode()
        small = json.dumps(json_request(3)).encode()[:200] + b']}]}'
        chunks = b''.join(b'%x\r\n%s\r\n' % (len(body[i:i + 5000]), body[i:i + 5000]) for i in range(0, len(body), 5000)) + b'0\r\n\r\n'
        header = b'Inference-Header-Content-Length: %s\r\n' % headers['Inference-Header-Content-Length'].encode()
        post = lambda path, more, body: b'POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n' % (path, more, len(body)) + body
        infer = INFER.encode()
        self.good = [post(infer, b'', text), post(infer, b'', small), post(infer, header, body), post(infer, b'Inference-Header-Content-Length: 0\r\n', picture(4)),
                     b'POST %s HTTP/1.1\r\nHost: a\r\n%sTransfer-Encoding: chunked\r\n\r\n' % (infer, header) + chunks,
                     b'GET /v2/models/model HTTP/1.1\r\nHost: a\r\n\r\n', b'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n',
                     post(b'/v2/repository/index', b'', b'{"ready": true}'), b'HEAD /v2/health/ready HTTP/1.0\r\n\r\n']
        self.server = s

    def request(self, seed):
        r = random.Random(seed)
        data = r.choice(self.good)
        for _ in range(r.choice((1, 1, 2, 3, 8))):
            end = data.find(b'\r\n\r\n') % (len(data) + 1)
            at = r.randrange(len(data) + 1) if r.random() < 0.5 else r.randrange(min(len(data), end + 400) + 1)
            kind = r.randrange(12)
            if kind == 0:
                data = data[:at] + bytes([r.randrange(256)]) + data[at + 1:]
            elif kind == 1:
                data = data[:at] + r.randbytes(r.choice((1, 4, 100))) + data[at:]
            elif kind == 2:
                data = data[:at] + data[at + r.choice((1, 2, 50, 5000)):]
            elif kind == 3:
                data = data[:at]
            elif kind == 4:
                data = data[:at] + data[at:at + r.choice((1, 10, 1000))] * r.choice((2, 50)) + data[at:]
            elif kind in (5, 6):  # a header more, or another value for one
                name, value = r.choice(self.HEADERS), r.choice(self.VALUES)
                if kind == 5 or name not in data:
                    data = data[:data.find(b'\r\n') + 2] + name + b': ' + value + b'\r\n' + data[data.find(b'\r\n') + 2:]
                else:
                    data = re.sub(re.escape(name) + rb': [^\r]*', lambda _, n=name, v=value: n + b': ' + v, data, count=1)
            elif kind == 7:  # a number of the head or of the JSON
                places = [m.span() for m in re.finditer(rb'\d+', data[:end + 2000])]
                a, b = r.choice(places) if places else (at, at)
                data = data[:a] + r.choice(self.NUMBERS) + data[b:]
            elif kind == 8:
                word = r.choice(self.WORDS)
                data = data.replace(word, r.choice((word + r.choice(self.NUMBERS) + b',' + word, word + r.choice(self.NUMBERS), r.choice(self.WORDS))), 1)
            elif kind == 9:  # nested deep
                data = data[:at] + r.choice((b'[', b'{"a":', b'"\\u', b'(')) * r.choice((10, 100, 20000)) + data[at:]
            elif kind == 10:  # 1 GB declared
                data = re.sub(rb'Content-Length: \d+', b'Content-Length: %d' % r.choice((10**9, 64 << 20, (64 << 20) + 1)), data, count=1)
            else:
                data = data + r.choice(self.good)
        return data

    def send(self, seed):
        """What came back. One of eight leaves its end open, as if more were to come; then the first of it."""
        data = self.request(seed)
        try:
            if seed // 8 % 8:
                return self.server.raw(data)
            with socket.create_connection(('127.0.0.1', self.server.port), 20) as s:
                s.sendall(data)
                return s.recv(65536) if data.strip() else b''
        except (BrokenPipeError, ConnectionResetError):
            return b''


def test_hostile():
    """10,000 hostile requests: each is answered with a status of HTTP or cut, nothing is 500, and the server is as it was."""
    requests, clients = 10000, 8
    with Server(os.path.join(SHAPES, 'model.onnx'), '--client-timeout', 0.5, '--queue-bytes', 64) as s:
        hostile, faults, statuses = Hostile(s), [], {}
        close(s.json('POST', INFER, json_request(6))['outputs'][0]['data'], wanted(6), 'before')

        def client(k):
            for seed in range(k, requests, clients):
                try:
                    got = hostile.send(seed)
                except Exception as e:  # pylint: disable=broad-except
                    faults.append('seed %d: %r' % (seed, e))
                    return
                found = re.match(rb'HTTP/1\.1 (\d{3}) ', got)
                status = int(found[1]) if found else 0
                statuses[status] = statuses.get(status, 0) + 1
                if (got and not found) or status == 500:
                    faults.append('seed %d: %r' % (seed, got[:200]))
        threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
        for t in threads[:]:
            t.start()
        middle = None
        while any(t.is_alive() for t in threads):
            time.sleep(0.2)
            if middle is None and sum(statuses.values()) > requests / 4:
                middle = s.memory()
        for t in threads:
            t.join()
        check(not faults, faults[:3])
        equal(sum(statuses.values()), requests, 'requests')
        print('  %s' % ', '.join('%s: %d' % (k or 'cut', v) for k, v in sorted(statuses.items())))
        check(statuses.get(400, 0) > requests / 10 and len(statuses) > 6, statuses)
        close(s.json('POST', INFER, json_request(6))['outputs'][0]['data'], wanted(6), 'after')
        eventually(lambda: s.metric('nnex_held_bytes') == 0)
        equal((s.metric('nnex_held_bytes'), s.metric('nnex_inferences_in_flight', '{model="model",version="1"}')), (0, 0), 'held')
        check(s.memory() < middle + (64 << 20), 'memory grew from %d to %d MiB' % (middle >> 20, s.memory() >> 20))


def test_soak():
    """A minute (NNEX_SOAK: so many seconds) of everything at once, reloads too: every answer right, and memory flat."""
    seconds = float(os.environ.get('NNEX_SOAK', 60))
    folder = tempfile.mkdtemp()
    repository(folder, model=open(os.path.join(SHAPES, 'model.onnx'), 'rb').read(), scale=scaled(2))
    collector = Collector()
    try:
        with Server(folder, '--instances', 2, '--max-batch', 4, '--client-timeout', 2, '--otlp', collector.url) as s:
            hostile, faults, counts, end = Hostile(s), [], [0] * 5, time.monotonic() + seconds

            def pictures(k, i, connection):
                status, h, answer = s.ask('POST', INFER, *binary_pictures(i % 8, id=str(i)), connection=connection)
                equal(status, 200, answer[:200])
                close(floats(binary_answer(h, answer)[1]['probabilities']), wanted(i % 8), 'a picture')

            def text(k, i, connection):
                status, _, answer = s.ask('POST', INFER, json.dumps(json_request(i % 8)), connection=connection)
                equal(status, 200, answer[:200])
                close(json.loads(answer)['outputs'][0]['data'], wanted(i % 8), 'a picture as JSON')

            def numbers(k, i, connection):
                status, _, answer = s.ask('POST', '/v2/models/scale/infer', json.dumps(of_numbers([i] * 4 * (1 + i % 3))), connection=connection)
                equal((status, json.loads(answer)['outputs'][0]['data']), (200, [2 * i] * 4 * (1 + i % 3)), 'numbers')

            def leaves(k, i, connection):
                body, headers = binary_pictures(*range(8))
                sock = socket.create_connection(('127.0.0.1', s.port), 20)
                sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: %s\r\nContent-Length: %d\r\n\r\n' % (
                    INFER.encode(), headers['Inference-Header-Content-Length'].encode(), len(body)) + body)
                sock.close()
                s.json('POST', '/v2/repository/models/%s/load' % ('scale', 'model')[i % 2]) if i % 50 == 0 else hostile.send(64 * i + 9)
                time.sleep(0.01)

            def client(k, what):
                connection, i = s.connect(), k
                try:
                    while time.monotonic() < end:
                        what(k, i, connection)
                        counts[k] += 1
                        i += 7
                        collector.spans.clear()
                        collector.resources.clear()
                except Exception as e:  # pylint: disable=broad-except
                    faults.append('%s: %r' % (what.__name__, e))
            threads = [threading.Thread(target=client, args=(k, what)) for k, what in enumerate((pictures, pictures, text, numbers, leaves))]
            for t in threads:
                t.start()
            sizes = []
            while any(t.is_alive() for t in threads):
                time.sleep(0.5)
                sizes.append(s.memory())
            for t in threads:
                t.join()
            check(not faults, faults[:3])
            third = len(sizes) // 3
            first, last = max(sizes[:third]), max(sizes[-third:])
            print('  %d requests; at most %.1f MiB in the first third, %.1f MiB in the last' % (sum(counts), first / 2**20, last / 2**20))
            check(last <= first * 1.05 + (4 << 20), 'memory grew: %s' % [x >> 20 for x in sizes[::max(1, len(sizes) // 20)]])
            check(min(counts) > seconds, counts)
    finally:
        shutil.rmtree(folder)


# A product that takes tens of milliseconds a row, of matrices that NNEX_SLOW makes smaller for a build that is not optimised.
SIDE = int(os.environ.get('NNEX_SLOW', 1024))
SLOW = onnx('MatMul', [('a', 1, ['N', SIDE, SIDE]), ('b', 1, ['N', SIDE, SIDE])], [('y', 1, ['N', SIDE, SIDE])])


# Eight such products, one after the other, of one input.
SLOWER = field(1, 8) + field(7, b''.join(
    field(1, field(1, 'x') + field(1, 'y%d' % i if i else 'x') + field(2, 'y%d' % (i + 1)) + field(4, 'MatMul')) for i in range(8)) +
    field(2, 'g') + field(11, port('x', 1, ['N', SIDE, SIDE])) + field(12, port('y8', 1, ['N', SIDE, SIDE]))) + field(8, field(1, '') + field(2, 17))


def slow_request(rows, **parameters):
    zero = b'\0' * (4 * rows * SIDE * SIDE)
    return binary_request([('a', 'FP32', [rows, SIDE, SIDE], zero), ('b', 'FP32', [rows, SIDE, SIDE], zero)],
                          parameters={'binary_data_output': True, **parameters})


def test_deadlines():
    """504 when the time is over (waiting or running), 429 when the queue is full, and clients that leave."""
    folder = tempfile.mkdtemp()
    repository(folder, slow=SLOW, fast=scaled(2))
    try:
        with Server(folder, '--queue', 2, '--threads', 1, '--timeout', 30) as s:
            path = '/v2/models/slow/infer'
            body, headers = slow_request(1, timeout=1)
            status, _, answer = s.ask('POST', path, body, headers)
            check(status == 504 and b'time' in answer, (status, answer[:200]))
            body, headers = slow_request(1)
            equal(s.ask('POST', path, body, {**headers, 'timeout': '1'})[0], 504, 'as a header')
            equal(s.ask('POST', path, body, {**headers, 'timeout': 'x'})[0], 400, 'no number')
            equal(s.ask('POST', path, body, headers)[0], 200, 'without a timeout')
            # more at once than run and wait
            body, headers = slow_request(4)
            statuses, threads = [], []

            def one():
                status, h, answer = s.ask('POST', path, body, headers)
                if status == 429:
                    equal(h['Retry-After'], '1', 'Retry-After')
                statuses.append(status)
            for _ in range(10):
                threads.append(threading.Thread(target=one))
                threads[-1].start()
            for t in threads:
                t.join()
            check(set(statuses) == {200, 429} and statuses.count(200) >= 3, statuses)
            equal(s.metric('nnex_inferences_total', '{model="slow",version="1",code="429"}'), statuses.count(429), 'counted')
            # who leaves is not waited for: three are there at once but for a byte, so that none is answered before all have left
            left = []
            for _ in range(3):
                sock = socket.create_connection(('127.0.0.1', s.port), 20)
                sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: %s\r\nContent-Length: %d\r\n\r\n'
                             % (path.encode(), headers['Inference-Header-Content-Length'].encode(), len(body)) + body[:-1])
                left.append(sock)
            for sock in left:
                sock.sendall(body[-1:])
            in_flight = lambda: s.metric('nnex_inferences_in_flight', '{model="slow",version="1"}')
            check(eventually(lambda: in_flight() >= 2), 'none is at work')
            for sock in left:
                sock.close()
            check(eventually(lambda: s.metric('nnex_http_clients_gone_total') >= 1), 'nobody left')
            check(eventually(lambda: s.metric('nnex_inferences_total', '{model="slow",version="1",code="499"}') >= 1), '499')
            check(eventually(lambda: in_flight() == 0), 'in flight, with nobody there')
            eventually(lambda: s.metric('nnex_held_bytes') == 0)
            equal(s.metric('nnex_held_bytes'), 0, 'held bytes, with nothing in flight')
            equal(s.json('POST', '/v2/models/fast/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [2, 4, 6, 8], 'fast')
    finally:
        shutil.rmtree(folder)


def test_batches():
    """Requests that run together have the answers that they have alone, byte for byte; a wrong one harms no other."""
    folder = tempfile.mkdtemp()
    softmax = onnx('Softmax', [('x', 1, ['N', 4])], [('y', 1, ['N', 4])], field(5, field(1, 'axis') + field(20, 2) + field(3, 0)))
    table = field(1, 4) + field(2, 1) + field(8, 'w') + field(9, struct.pack('<4f', 10, 11, 12, 13))
    graph = field(1, field(1, 'w') + field(1, 'x') + field(2, 'y') + field(3, 'pick') + field(4, 'Gather')) + field(2, 'g')
    graph += field(5, table) + field(11, port('x', 7, ['N'])) + field(12, port('y', 1, ['N']))
    table = field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))
    repository(folder, model=open(os.path.join(SHAPES, 'model.onnx'), 'rb').read(), mixed=softmax, table=table, summed=floored_sum())
    try:
        with Server(folder, '--instances', 1, '--max-batch', 8, '--batch-delay', 20000, '--log', 'json') as s:
            alone = []
            for i in range(8):
                status, h, answer = s.ask('POST', INFER, *binary_pictures(i))
                alone.append(binary_answer(h, answer)[1]['probabilities'])
                close(floats(alone[i]), wanted(i), 'alone')
            faults = []

            def client(n):
                try:
                    c = s.connect()
                    for k in range(30):
                        pictures = [(n + k) % 8] + ([(n + 3) % 8] if k % 3 == 0 else [])
                        status, h, answer = s.ask('POST', INFER, *binary_pictures(*pictures, id='%d.%d' % (n, k)), connection=c)
                        j, out = binary_answer(h, answer)
                        equal((status, j['id']), (200, '%d.%d' % (n, k)), 'whose')
                        equal(out['probabilities'], b''.join(alone[i] for i in pictures), 'together')
                except Exception as e:  # pylint: disable=broad-except
                    faults.append(e)

            def reader(n):
                try:
                    for k in range(30):
                        asked = [(n + i) % 4 for i in range(k % 4)] + ([9] if (n + k) % 5 == 0 else [])
                        sent = {'inputs': [{'name': 'x', 'shape': [len(asked)], 'datatype': 'INT64', 'data': asked}]}
                        answer = s.json('POST', '/v2/models/table/infer', sent, status=400 if 9 in asked else 200)
                        if 9 in asked:
                            equal(answer['error'], "node 'pick' (Gather): gather: index 9 is outside [-4, 4) of axis 0", 'a fault')
                        else:
                            equal(answer['outputs'][0]['data'], [10 + i for i in asked], 'among faults, and no rows')
                except Exception as e:  # pylint: disable=broad-except
                    faults.append(e)
            threads = [threading.Thread(target=f, args=(n,)) for n in range(8) for f in (client, reader)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            check(not faults, faults[:1])
            runs = s.metric('nnex_batch_rows_count', '{model="model",version="1"}')
            rows = s.metric('nnex_batch_rows_sum', '{model="model",version="1"}')
            check(runs < rows * 0.7, 'nothing ran together: %d rows in %d runs' % (rows, runs))
            loaded = {e['model']: e for e in map(json.loads, s.logged().splitlines()) if e['event'] == 'loaded'}
            check(loaded['model']['batches'] is True, loaded['model'])
            check(loaded['table']['batches'] is True, loaded['table'])
            check(loaded['mixed']['batches'] is False and loaded['mixed']['because'].endswith('works along the rows of f32[N,4]'), loaded['mixed'])
            check(loaded['summed']['batches'] is False and loaded['summed']['because'] == "node 'y' (CumSum) works along the rows of f32[N,4]",
                  loaded['summed'])
            alone = [s.json('POST', '/v2/models/summed/infer', of_numbers([n] * 4))['outputs'][0]['data'] for n in (2500, 5000)]
            answers = {}

            def sums(n):
                for k in range(20):
                    answers[n, k] = s.json('POST', '/v2/models/summed/infer', of_numbers([n] * 4))['outputs'][0]['data']
            threads = [threading.Thread(target=sums, args=(n,)) for n in (2500, 5000)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            check(all(answers[n, k] == alone[i] for i, n in enumerate((2500, 5000)) for k in range(20)), answers)
    finally:
        shutil.rmtree(folder)


def test_repository():
    """Versions, index, load, unload, reload; a broken file changes nothing; paths lead nowhere else."""
    folder = tempfile.mkdtemp()
    repository(folder, scale__1__model=scaled(10), scale__2__model=scaled(20), other=scaled(3))
    try:
        with Server(folder) as s:
            ask = lambda version='', model='scale', status=200: s.json(
                'POST', '/v2/models/%s%s/infer' % (model, version and '/versions/' + version), of_numbers([1, 2, 3, 4]),
                status=status)
            equal(ask()['outputs'][0]['data'], [20, 40, 60, 80], 'the highest version')
            equal(ask()['model_version'], '2', 'its name')
            ask('1', status=404)
            equal(s.json('POST', '/v2/repository/index'),
                  [{'name': 'other', 'version': '1', 'state': 'READY', 'reason': ''},
                   {'name': 'scale', 'version': '2', 'state': 'READY', 'reason': ''}], 'index')
            # a new version, and a new model
            repository(folder, scale__10__model=scaled(100), fresh=scaled(7))
            check({'name': 'fresh', 'version': '1', 'state': 'UNAVAILABLE', 'reason': 'not loaded'} in
                  s.json('POST', '/v2/repository/index', {}), 'a model that came later')
            check(not [m for m in s.json('POST', '/v2/repository/index', {'ready': True}) if m['name'] == 'fresh'], 'ready alone')
            ask(model='fresh', status=404)
            s.json('POST', '/v2/repository/models/fresh/load')
            equal(ask(model='fresh')['outputs'][0]['data'], [7, 14, 21, 28], 'fresh')
            equal(ask()['model_version'], '2', 'until it is loaded')
            s.json('POST', '/v2/repository/models/scale/load', {'parameters': {}})
            equal((ask()['model_version'], ask()['outputs'][0]['data']), ('10', [100, 200, 300, 400]), '10 is above 2')
            ready = lambda: sorted(re.findall(r'^nnex_model_ready\{model="(.*)",version="(.*)"\} (\d)$', s.ask('GET', '/metrics')[2].decode(), re.M))
            equal(ready(), [('fresh', '1', '1'), ('other', '1', '1'), ('scale', '10', '1')], 'versions that are gone are not counted as missing')
            # a new version that is broken
            repository(folder, scale__11__model=b'no model at all')
            why = s.json('POST', '/v2/repository/models/scale/load', status=400)['error']
            reasons = {m['version']: m['reason'] for m in s.json('POST', '/v2/repository/index') if m['name'] == 'scale'}
            check(reasons['10'] == '' and reasons['11'] and reasons['11'] in why, reasons)
            check(('scale', '11', '0') in ready(), 'a version that is broken')
            equal(s.json('GET', '/v2/models/scale/versions/11/ready', status=503)['reason'], reasons['11'], 'why')
            s.json('GET', '/v2/models/scale/versions/12/ready', status=404)
            shutil.rmtree(os.path.join(folder, 'scale', '11'))
            # of several versions each is loaded by itself
            with Server(folder, '--versions', 0) as each:
                repository(folder, scale__10__model=b'no model at all', scale__12__model=scaled(12), scale__13__model=b'nor that')
                why = each.json('POST', '/v2/repository/models/scale/load', status=400)['error']
                answer = each.json('POST', '/v2/models/scale/infer', of_numbers([1, 2, 3, 4]))
                equal((answer['model_version'], answer['outputs'][0]['data']), ('12', [12, 24, 36, 48]), 'beside versions that are broken')
                answer = each.json('POST', '/v2/models/scale/versions/10/infer', of_numbers([1, 2, 3, 4]))
                equal(answer['outputs'][0]['data'], [100, 200, 300, 400], 'what a version was before its file broke')
                states = {m['version']: (m['state'], m['reason']) for m in each.json('POST', '/v2/repository/index') if m['name'] == 'scale'}
                equal([states[v][0] for v in ('1', '2', '10', '12', '13')], ['READY', 'READY', 'READY', 'READY', 'UNAVAILABLE'], states)
                check(states['13'][1] in why, (states, why))
                for broken in '12', '13':
                    shutil.rmtree(os.path.join(folder, 'scale', broken))
                repository(folder, scale__10__model=scaled(100))
            # a broken file
            with open(os.path.join(folder, 'other.onnx.new'), 'wb') as f:
                f.write(b'no model at all')
            os.rename(os.path.join(folder, 'other.onnx.new'), os.path.join(folder, 'other.onnx'))
            check('other' in s.json('POST', '/v2/repository/models/other/load', status=400)['error'], 'broken')
            equal(ask(model='other')['outputs'][0]['data'], [3, 6, 9, 12], 'what was loaded goes on')
            # a model in the request itself
            for name in 'config', 'file:1/model.onnx':
                answer = s.json('POST', '/v2/repository/models/fresh/load', {'parameters': {name: 'x'}}, status=400)
                check(name in answer['error'] and 'not supported' in answer['error'], answer)
            s.json('POST', '/v2/repository/models/fresh/load', {'parameters': 7}, status=400)
            # what Triton's clients ask
            config = s.json('GET', '/v2/models/scale/config')
            equal((config['name'], config['max_batch_size'], config['input']), ('scale', 8, [{'name': 'x', 'data_type': 'TYPE_FP32', 'dims': [4]}]), 'config')
            stats = s.json('GET', '/v2/models/scale/versions/10/stats')['model_stats']
            equal([(m['name'], m['version']) for m in stats], [('scale', '10')], 'statistics')
            # a new one that is broken: its own clients miss it, and nobody else
            repository(folder, bad=b'no model at all')
            why = s.json('POST', '/v2/repository/models/bad/load', status=400)['error']
            equal(s.json('GET', '/v2/health/ready'), {'ready': True}, 'beside a new model that is broken')
            # broken, and not to be waited for
            for path, body in ('/v2/models/bad/ready', None), ('/v2/models/bad', None), ('/v2/models/bad/infer', '{}'):
                status, h, answer = s.ask('POST' if body else 'GET', path, body)
                told = json.loads(answer)
                check(status == 503 and 'Retry-After' not in h and told.get('reason', told.get('error')).split(': ')[-1] in why, (path, status, answer, why))
            equal(s.json('GET', '/v2/models/bad/ready', status=503)['ready'], False, 'the broken one')
            ask(model='bad', status=503)
            bad, = [m for m in s.json('POST', '/v2/repository/index') if m['name'] == 'bad']
            check(bad['state'] == 'UNAVAILABLE' and bad['reason'] and bad['reason'] in why, bad)
            os.remove(os.path.join(folder, 'bad.onnx'))
            s.json('POST', '/v2/repository/models/bad/load', status=404)
            s.json('GET', '/v2/models/bad/ready', status=404)
            check('"bad"' not in s.ask('GET', '/metrics')[2].decode(), 'a model that is gone is counted')
            # unload
            s.json('POST', '/v2/repository/models/fresh/unload', {'parameters': {'unload_dependents': False}})
            ask(model='fresh', status=503)
            equal(s.json('GET', '/v2/models/fresh/ready', status=503), {'name': 'fresh', 'ready': False, 'reason': 'unloaded'}, 'ready')
            status, h, answer = s.ask('POST', '/v2/models/fresh/infer', '{}')
            check(status == 503 and 'Retry-After' not in h and b'is not loaded: unloaded' in answer, (status, answer))
            equal(s.json('GET', '/v2/health/ready'), {'ready': True}, 'what was unloaded is not waited for')
            for name in 'nothing', '..', '%2e%2e%2fother', '%2fetc%2fpasswd':
                s.json('POST', '/v2/repository/models/%s/load' % name, status=404)
                s.json('POST', '/v2/repository/models/%s/unload' % name, status=404)
            # SIGHUP loads what is there by now
            repository(folder, other=scaled(5), late=scaled(9), bad=b'no model at all')
            os.remove(os.path.join(folder, 'fresh.onnx'))
            s.process.send_signal(signal.SIGHUP)
            check(eventually(lambda: 'reloaded ok=false' in s.logged()), s.logged()[-500:])
            equal(s.json('GET', '/v2/health/ready'), {'ready': True}, 'beside a new model that is broken')
            os.remove(os.path.join(folder, 'bad.onnx'))
            eventually(lambda: b'"late"' in s.ask('POST', '/v2/repository/index', '{"ready": true}')[2])
            equal(ask(model='late')['outputs'][0]['data'], [9, 18, 27, 36], 'late')
            eventually(lambda: ask(model='other')['outputs'][0]['data'] == [5, 10, 15, 20])
            equal(ask(model='other')['outputs'][0]['data'], [5, 10, 15, 20], 'other')
            ask(model='fresh', status=404)
            # What was a model and is none any more answers on.
            repository(folder, pair__a=scaled(6))
            s.json('POST', '/v2/repository/models/pair/load')
            repository(folder, pair__b=scaled(7))
            check('2 models lie in it' in s.json('POST', '/v2/repository/models/pair/load', status=400)['error'], 'two models')
            s.process.send_signal(signal.SIGHUP)
            eventually(lambda: 'passed over' in s.logged())
            equal(ask(model='late')['outputs'][0]['data'], [9, 18, 27, 36], 'late')
            equal(ask(model='pair')['outputs'][0]['data'], [6, 12, 18, 24], 'pair')
        with Server(folder, '--versions', 0, '--model', 'mine=' + os.path.join(folder, 'late.onnx')) as s:
            equal(s.json('GET', '/v2/models/scale')['versions'], ['1', '2', '10'], 'all versions')
            equal(s.json('POST', '/v2/models/scale/versions/1/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'],
                  [10, 20, 30, 40], 'version 1')
            equal(s.json('POST', '/v2/models/mine/infer', of_numbers([1, 0, 0, 0]))['outputs'][0]['data'], [9, 0, 0, 0], 'mine')
        # A folder that is away for a moment takes no model away.
        with Server(folder) as s:
            os.rename(folder, folder + '.away')
            try:
                for reloads in 1, 2:
                    s.process.send_signal(signal.SIGHUP)
                    check(eventually(lambda: s.logged().count('reloaded ok=false') == reloads), s.logged()[-500:])
                check("cannot read" in s.logged() and folder in s.logged().split('reloaded')[-1], s.logged()[-500:])
                equal([(m['name'], m['state']) for m in s.json('POST', '/v2/repository/index')], [(name, 'READY') for name in ('late', 'other', 'scale')], 'index')
                check('cannot read' in s.json('POST', '/v2/repository/models/late/load', status=400)['error'], 'a load meanwhile')
                equal(ask(model='late')['outputs'][0]['data'], [9, 18, 27, 36], 'late')
            finally:
                os.rename(folder + '.away', folder)
            s.process.send_signal(signal.SIGHUP)
            check(eventually(lambda: re.search(r' reloaded ok=true$', s.logged(), re.M)), s.logged()[-500:])
        # What no answer can have is not loaded.
        with tempfile.TemporaryDirectory() as other:
            sequence = field(1, 'y') + field(2, field(4, field(1, field(1, field(1, 1)))))
            node = field(1, 'x') + field(2, 'y') + field(4, 'SequenceConstruct')
            graph = field(1, node) + field(2, 'g') + field(11, port('x', 1, [2])) + field(12, sequence)
            model = field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))
            repository(other, good=scaled(2))
            with Server(other) as s:
                repository(other, list=model)
                why = s.json('POST', '/v2/repository/models/list/load', status=400)['error']
                check("output 'y' is sequence(" in why and 'which the protocol cannot carry' in why, why)
                check([m for m in s.json('POST', '/v2/repository/index') if m['name'] == 'list' and 'cannot carry' in m['reason']], 'index')
            out = subprocess.run([NNEX, 'serve', '--port', '0', other], capture_output=True, text=True, timeout=60)
            check(out.returncode == 4 and 'cannot carry' in out.stderr, (out.returncode, out.stderr))
        # What is no model is named in the log; the rest is served.
        os.makedirs(os.path.join(folder, 'empty'))
        for name in 'notes.txt', '.hidden':
            open(os.path.join(folder, name), 'w').close()
        os.symlink('nowhere', os.path.join(folder, 'link.onnx'))
        os.mkfifo(os.path.join(folder, 'pipe.onnx'))
        shutil.copytree(os.path.join(folder, 'scale', '2'), os.path.join(folder, 'scale', '011'))
        os.makedirs(os.path.join(folder, 'scale', '12'))
        with Server(folder, '--log', 'json') as s:
            passed = {os.path.basename(e['path']): e['because'] for e in map(json.loads, s.logged().splitlines()) if e['event'] == 'passed over'}
            equal(passed, {'empty': 'no model lies in it', 'notes.txt': "its name is not that of a model's file",
                           'pair': '2 models lie in it: a.onnx, b.onnx', 'link.onnx': 'it is a link that leads nowhere', 'pipe.onnx': 'it is no file',
                           '011': 'its name is no version: needed a whole number from 1 on, without zeros before it', '12': 'no model lies in it'}, 'passed over')
            equal([m['name'] for m in s.json('POST', '/v2/repository/index', {'ready': True})], ['late', 'other', 'scale'], 'the rest')
            s.json('GET', '/v2/models/pair', status=404)
    finally:
        shutil.rmtree(folder)


def hammer(server, seconds, path, clients=6, again=True, times=None, reopened=None):
    """Clients that ask for 1, 2, 3, 4 times a factor as fast as they can; the factors that they saw, in order each.
    again: a connection that ends before any byte of an answer is opened again, as every client of HTTP does, and noted in
    `reopened`; else that is a fault. times: what each request took, in seconds, is added to it."""
    stop, seen, faults = time.monotonic() + seconds, [[] for _ in range(clients)], []
    body = json.dumps(of_numbers([1, 2, 3, 4]))

    def client(n):
        c = server.connect()
        while time.monotonic() < stop:
            began = time.monotonic()
            try:
                status, h, answer = server.ask('POST', path, body, connection=c)
            except Exception as e:  # pylint: disable=broad-except
                if again and isinstance(e, ConnectionRefusedError):
                    return
                if again and isinstance(e, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)):
                    c = server.connect()
                    if reopened is not None:
                        reopened.append(n)
                    continue
                faults.append(repr(e))
                return
            data = json.loads(answer)['outputs'][0]['data'] if status == 200 else answer
            if status != 200 or data != [data[0] * k for k in (1, 2, 3, 4)]:
                faults.append((status, data))
                return
            seen[n].append(data[0])
            if times is not None:
                times.append(time.monotonic() - began)
            if h['Connection'] == 'close':
                c.close()
                c = server.connect()
    threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
    for t in threads:
        t.start()
    return threads, seen, faults


def test_reload_under_load():
    """A model is replaced again and again while clients ask: every answer is right, none is lost, none goes back."""
    folder = tempfile.mkdtemp()
    repository(folder, scale__1__model=scaled(1))
    try:
        with Server(folder, '--instances', 2) as s:
            threads, seen, faults = hammer(s, 4, '/v2/models/scale/infer')
            last = 1
            while any(t.is_alive() for t in threads):
                last += 1
                repository(folder, **{'scale__%d__model' % last: scaled(last)})
                s.json('POST', '/v2/repository/models/scale/load')
                time.sleep(0.05)
            for t in threads:
                t.join()
            check(not faults, faults[:3])
            check(last > 3 and all(len(x) > 10 for x in seen), (last, [len(x) for x in seen]))
            for x in seen:
                equal(x, sorted(x), 'versions in order')
            check(max(max(x) for x in seen) >= last - 3, 'new versions are seen')
    finally:
        shutil.rmtree(folder)


def test_start():
    """While models load the port is open: alive and not ready; each answers when it is loaded; SIGTERM and errors end it."""
    folder = tempfile.mkdtemp()
    repository(folder, first=scaled(2), second=SLOWER)  # whose rows are tried together when it is loaded
    try:
        with Server(folder, '--threads', 1, serving=False) as s:
            check(eventually(lambda: s.ask('GET', '/v2/models/first/ready')[0] == 200), 'the first model')
            equal(s.json('POST', '/v2/models/first/infer', of_numbers([1, 2, 3, 4]))['outputs'][0]['data'], [2, 4, 6, 8], 'first')
            equal(s.json('GET', '/v2/health/live'), {'live': True}, 'live')
            equal(s.json('GET', '/v2/health/ready', status=503), {'ready': False}, 'ready')
            equal(s.json('GET', '/v2/models/second/ready', status=503), {'name': 'second', 'ready': False, 'reason': 'not loaded yet'}, 'second ready')
            for path in '/v2/health/ready', '/v2/models/second/ready', '/v2/models/second':
                equal(s.ask('GET', path)[1]['Retry-After'], '1', path)
            status, h, _ = s.ask('POST', '/v2/models/second/infer', '{}')
            equal((status, h['Retry-After']), (503, '1'), 'second')
            check({'name': 'second', 'version': '1', 'state': 'UNAVAILABLE', 'reason': 'not loaded yet'} in
                  s.json('POST', '/v2/repository/index'), 'index')
            s.wait_until_serving()
            check(re.search(r' loaded model=second .*\n\S+ ready\n$', s.logged()), s.logged())
            equal(s.json('GET', '/v2/health/ready'), {'ready': True}, 'ready')
            equal([m['name'] for m in s.json('POST', '/v2/repository/index', {'ready': True})], ['first', 'second'], 'loaded')
        with Server(folder, '--threads', 1, '--drain-delay', 0, serving=False) as s:
            check(eventually(lambda: s.ask('GET', '/v2/models/first/ready')[0] == 200), 'the first model')
            s.process.send_signal(signal.SIGTERM)
            equal((s.process.wait(20), s.process.stdout.read()), (0, ''), 'SIGTERM while a model is loaded')
            check(' loaded model=second' not in s.logged(), 'a model that is being loaded is not waited for')
        with Server(folder, '--threads', 1, '--drain-delay', 20000, serving=False) as s:
            check(eventually(lambda: s.ask('GET', '/v2/models/first/ready')[0] == 200), 'the first model')
            s.process.send_signal(signal.SIGTERM)
            check(eventually(lambda: ' loaded model=second' in s.logged()), 'loaded while it drains')
            s.process.send_signal(signal.SIGTERM)
            equal((s.process.wait(20), s.process.stdout.read()), (0, ''), 'SIGTERM while a model is loaded')
            check(' draining ' in s.logged() and not re.search(r' ready\n', s.logged()), s.logged())
        with open(os.path.join(folder, 'third.onnx'), 'wb') as f:
            f.write(b'nothing')
        s = Server(folder, '--threads', 1, serving=False)
        equal((s.process.wait(60), s.process.stdout.read()), (3, ''), 'a broken model')
        check("loading model 'third'" in s.logged(), s.logged()[-500:])
    finally:
        shutil.rmtree(folder)


def test_index():
    """The index looks at the folder without holding up anybody."""
    folder = tempfile.mkdtemp()
    repository(folder, scale=scaled(2))
    for i in range(5000):
        os.mkdir(os.path.join(folder, 'folder%d' % i))
    try:
        with Server(folder) as s:
            found, others = [], 0
            looks = threading.Thread(target=lambda: found.extend(s.json('POST', '/v2/repository/index')))
            connection = s.connect()
            looks.start()
            while looks.is_alive():
                equal(s.ask('GET', '/v2/health/live', connection=connection)[0], 200, 'live')
                others += 1
            looks.join()
            equal([m['name'] for m in found], ['scale'], 'index')
            check(others > 100, '%d requests were answered while the index looked' % others)
        # nor does the start know what is there before it has looked
        with Server(folder, serving=False) as s:
            connection, statuses = s.connect(), []
            while not statuses or statuses[-1] == 503:
                statuses.append(s.ask('POST', '/v2/models/scale/infer', json.dumps(of_numbers([1, 2, 3, 4])), connection=connection)[0])
            check(statuses[-1] == 200 and len(statuses) > 10, 'not yet, and then: found %s' % statuses[-20:])
            s.json('GET', '/v2/models/nothing', status=404)
    finally:
        shutil.rmtree(folder)


def test_signals():
    """A signal that comes while the server cleans up ends it at once, with the exit code that it would have had."""
    folder = tempfile.mkdtemp()
    repository(folder, slow=SLOWER)
    try:
        for cut in False, True:
            c = Collector(hangs=True)  # which the end waits for, five seconds
            with Server(folder, '--otlp', c.url, '--threads', 1, '--max-batch', 1) as s:
                s.ask('GET', '/v2')
                if cut:
                    body, headers = binary_request([('x', 'FP32', [12, SIDE, SIDE], b'\0' * (48 * SIDE * SIDE))])
                    sock = socket.create_connection(('127.0.0.1', s.port), 20)
                    sock.sendall(b'POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n' % (
                        len(body), b''.join(b'%s: %s\r\n' % (k.encode(), v.encode()) for k, v in headers.items())) + body)
                    check(eventually(lambda: s.metric('nnex_inferences_in_flight', '{model="slow",version="1"}') == 1), 'in flight')
                s.process.send_signal(signal.SIGINT)
                if cut:
                    check(eventually(lambda: ' draining' in s.logged()), s.logged()[-500:])
                    s.process.send_signal(signal.SIGINT)
                check(eventually(lambda: ' ended all_answered=%s\n' % ('false' if cut else 'true') in s.logged()), s.logged()[-500:])
                began = time.monotonic()
                s.process.send_signal(signal.SIGTERM)
                equal(s.process.wait(20), int(cut), 'exit code')
                check(time.monotonic() - began < 2, 'it ended after %.1f s' % (time.monotonic() - began))
                s.process.returncode = 0
    finally:
        shutil.rmtree(folder)


def test_drain():
    """SIGTERM: not ready at once, answers what it has taken and what comes meanwhile, ends with 0; SIGINT at once."""
    folder = tempfile.mkdtemp()
    repository(folder, scale=scaled(2), slow=SLOW)
    try:
        with Server(folder, '--drain-delay', 700, '--instances', 2, '--threads', 1) as s:
            threads, seen, faults = hammer(s, 20, '/v2/models/scale/infer')
            body, headers = slow_request(4)
            late = []

            def one():
                late.append(s.ask('POST', '/v2/models/slow/infer', body, headers)[0])
            slow = [threading.Thread(target=one) for _ in range(3)]
            time.sleep(0.5)
            for t in slow:
                t.start()
            time.sleep(0.4)
            s.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            equal(s.ask('GET', '/v2/health/ready')[0], 503, 'ready, while it ends')
            equal(s.ask('GET', '/v2/health/live')[0], 200, 'live, while it ends')
            equal(s.process.wait(30), 0, 'exit code')
            for t in threads + slow:
                t.join()
            check(not faults, faults[:3])
            equal(late, [200] * 3, 'requests in flight')
            check(all(len(x) > 10 for x in seen), [len(x) for x in seen])
            check('"all_answered":true' in s.logged() or 'all_answered=true' in s.logged(), s.logged()[-500:])
        with Server(folder) as s:
            began = time.monotonic()
            s.process.send_signal(signal.SIGINT)
            equal(s.process.wait(10), 0, 'exit code')
            check(time.monotonic() - began < 2, 'SIGINT is obeyed at once')
        answered = 0
        for _ in range(5):  # a machine that is busy may be late with some of them
            with Server(folder) as s:
                sock = socket.create_connection(('127.0.0.1', s.port), 20)
                check(eventually(lambda: s.metric('nnex_http_connections') == 2), 'connections')
                s.process.send_signal(signal.SIGINT)
                time.sleep(0.02)
                try:
                    sock.sendall(b'GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n')
                    got = read_all(sock)
                except OSError:
                    got = b''
                sock.close()
                equal(s.process.wait(20), 0, 'exit code')
                answered += got.startswith(b'HTTP/1.1 200 ') and b'Connection: close' in got
        check(answered > 0, 'a request on the way when the server ends is answered')
    finally:
        shutil.rmtree(folder)


def test_operations():
    """Keys, traces, logs, metrics."""
    key = tempfile.NamedTemporaryFile('w', suffix='.keys')
    key.write('first key\nsecond\n')
    key.flush()
    model = os.path.join(SHAPES, 'model.onnx')
    with Server(model, '--model', b'l\xe4nge=' + model.encode(), '--api-key', key.name, '--log', 'json', '--log-requests') as s:
        equal(s.ask('GET', '/v2/health/ready')[0], 200, 'health needs no key')
        for headers in {}, {'X-API-Key': 'third'}, {'Authorization': 'Bearer '}, {'Authorization': 'Basic second'}:
            for method, path in ('POST', INFER), ('GET', '/metrics'), ('GET', '/v2'), ('POST', '/v2/repository/models/model/unload'):
                status, h, _ = s.ask(method, path, '{}' if method == 'POST' else None, headers)
                equal((status, h['WWW-Authenticate']), (401, 'Bearer'), (headers, path))
        # a body without a key is not read: no memory for it, no "100 Continue"
        post = b'POST %s HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 50000000\r\n%s\r\n'
        for shown, answer in (b'', b'HTTP/1.1 401 '), (b'X-API-Key: second\r\n', b'HTTP/1.1 100 '):
            with socket.create_connection(('127.0.0.1', s.port), 20) as sock:
                sock.sendall(post % (INFER.encode(), shown))
                got = sock.recv(1000)
                check(got.startswith(answer) and (b'WWW-Authenticate: Bearer' in got) == (not shown), (shown, got))
        trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
        for headers in {'X-API-Key': 'first key'}, {'Authorization': 'Bearer second'}, {'Authorization': 'bearer  second'}, \
                {'Authorization': 'Bearer other', 'X-API-Key': 'second'}:
            status, h, answer = s.ask('POST', INFER, json.dumps(json_request(7)), {**headers, 'traceparent': trace})
            equal((status, h['traceparent']), (200, trace), headers)
            close(json.loads(answer)['outputs'][0]['data'], wanted(7), 'with a key')
        for wrong in trace.upper(), trace[:-1], trace.replace('4bf9', 'zzzz'), '00-' + '0' * 32 + trace[35:], 'x\ty':
            _, h, _ = s.ask('GET', '/v2', headers={'X-API-Key': 'second', 'traceparent': wrong})
            check('traceparent' not in h, wrong)
        lines = [json.loads(line) for line in s.logged().splitlines()]
        traced = [e for e in lines if e.get('traceparent') == trace]
        equal([(e['status'], e['path'], e['method']) for e in traced], [(200, INFER, 'POST')] * 4, 'log')
        check(not [e for e in lines if 'key' in json.dumps(e).lower() and e['event'] == 'request' and 'second' in json.dumps(e)], 'keys in the log')
        s.raw(b'GET /v2\r\n\r\n')
        s.raw(b'PUT /v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n')
        lines = [json.loads(line) for line in s.logged().splitlines()]
        equal([(e['status'], e['method'], e['path']) for e in lines if e['event'] == 'request' and e['status'] >= 400 and e['status'] != 401],
              [(400, '', ''), (413, 'PUT', '/v2/x')], 'requests that nobody read whole are in the log')
        text = s.ask('GET', '/metrics', headers={'X-API-Key': 'second'})[2].decode()  # all of it UTF-8
        check('nnex_model_ready{model="l\ufffdnge",version="1"} 1\n' in text, 'a name that is no UTF-8')
        check_exposition(text)
        if shutil.which('promtool'):
            out = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True)
            check(out.returncode == 0 and not out.stderr.strip() and not out.stdout.strip(), out.stdout + out.stderr)
        else:
            print('  promtool is not there: metrics are checked here alone')
        check('nnex_inferences_total{model="model",version="1",code="200"} 4\n' in text, 'answers are counted')
        check(re.search('^nnex_http_responses_total{code="401"} 17$', text, re.M) and 'nnex_http_responses_total{code="413"} 1\n' in text,
              'those of HTTP, too: ' + text[:2000])
        # why a request failed, of which model, and whose
        shown = {'X-API-Key': 'second'}
        s.ask('POST', INFER, json.dumps({**json_request(0), 'id': 'a 7', 'outputs': [{'name': 'scores'}]}), shown)
        s.ask('POST', INFER, json.dumps({**json_request(0), 'id': 'a 8'}), shown)
        s.ask('GET', '/v2/models/nothing', headers=shown)
        lines = [e for e in map(json.loads, s.logged().splitlines()) if e['event'] == 'request'][-3:]
        equal([(e['status'], e.get('model'), e.get('version'), e.get('id'), e.get('because')) for e in lines],
              [(400, 'model', '1', 'a 7', "no output 'scores'; the model has: 'probabilities'"), (200, 'model', '1', 'a 8', None),
               (404, None, None, None, "no model 'nothing'")], 'because')
        key.seek(0)
        key.truncate()
        key.write('new\n')
        key.flush()
        s.process.send_signal(signal.SIGHUP)
        eventually(lambda: s.ask('GET', '/v2', headers={'X-API-Key': 'new'})[0] == 200)
        equal(s.ask('GET', '/v2', headers={'X-API-Key': 'new'})[0], 200, 'a key that came later')
        equal(s.ask('GET', '/v2', headers={'X-API-Key': 'second'})[0], 401, 'a key that went')
        key.seek(0)
        key.truncate()
        key.write('\n')
        key.flush()
        s.process.send_signal(signal.SIGHUP)
        reloads = lambda: [e for e in map(json.loads, s.logged().splitlines()) if e['event'] == 'reloaded']
        check(eventually(lambda: len(reloads()) == 2), reloads())
        equal([(e['ok'], 'has no key' in e.get('keys', ''), 'error' in e) for e in reloads()], [(True, False, False), (False, True, False)], 'reloads')
        equal(s.ask('GET', '/v2', headers={'X-API-Key': 'new'})[0], 200, 'keys stay where the file has none')


def test_log():
    """Nobody waits for a log that nobody reads; what is lost is told once it is read again. A pipe that is read has every line."""
    model = os.path.join(SHAPES, 'model.onnx')

    class Piped(Server):
        def __init__(self, *arguments):
            self.end, out = os.pipe()
            self.log = tempfile.TemporaryFile('w+')
            self.process = subprocess.Popen([NNEX, 'serve', '--port', '0', *arguments], stdout=subprocess.PIPE, stderr=out, text=True)
            os.close(out)
            self.wait_until_serving()

        def rest(self):
            with os.fdopen(self.end, 'rb') as f:
                return f.read().decode().splitlines()
    with Piped(model, '--log-requests') as s:
        c = s.connect()
        path = '/v2/models/' + 'x' * 3000
        for _ in range(600):
            equal(s.ask('GET', path, connection=c)[0], 404, 'a request')
        lost = int(s.metric('nnex_log_lines_lost_total'))
        check(lost > 50, '%d lines were lost' % lost)
        s.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        equal(s.process.wait(20), 0, 'exit code')
        check(time.monotonic() - began < 5, 'the end waited for the log')
        os.close(s.end)
    with Piped(model, '--log-requests', '--log', 'json') as s:
        c = s.connect()
        for _ in range(600):
            equal(s.ask('GET', path, connection=c)[0], 404, 'a request')
        reader = []
        lost = int(s.metric('nnex_log_lines_lost_total'))
        thread = threading.Thread(target=lambda: reader.extend(s.rest()))
        thread.start()
        check(eventually(lambda: s.ask('GET', '/v2', connection=c)[0] == 200), 'after that')
        s.process.send_signal(signal.SIGTERM)
        equal(s.process.wait(20), 0, 'exit code')
        thread.join(20)
        lines = [json.loads(line) for line in reader]
        equal(sum(e['lines'] for e in lines if e['event'] == 'log lines lost'), lost, 'lines lost')
        equal(len([e for e in lines if e.get('path') == path]), 600 - lost, 'and those that were not')
        equal([lines[-1]['event'], lines[-2]['event']], ['ended', 'draining'], 'the last ones')
    folder = tempfile.mkdtemp()
    repository(folder, scale=scaled(2), bad=b'no model at all')
    try:
        out = subprocess.run([NNEX, 'serve', '--port', '0', '--log', 'json', folder], capture_output=True, text=True, timeout=60)
        lines = [json.loads(line) for line in out.stderr.splitlines()]
        check(lines[-1]['event'] == 'failed' and 'bad.onnx' in lines[-1]['error'], lines)
        equal(out.returncode, 3, 'exit code')
    finally:
        shutil.rmtree(folder)


def test_access():
    """Who may load models, and which web pages may ask."""
    keys = [tempfile.NamedTemporaryFile('w', suffix='.keys') for _ in range(2)]
    for file, text in zip(keys, ['# a comment\n  \t user \r\n#user2\n', 'operator\n']):
        file.write(text)
        file.flush()
    model = os.path.join(SHAPES, 'model.onnx')
    load, index, body = '/v2/repository/models/model/load', '/v2/repository/index', json.dumps(json_request(0))
    with Server(model, '--api-key', keys[0].name, '--control-key', keys[1].name) as s:
        for key, asked, loads in ('user', 200, 401), ('operator', 401, 200), ('# a comment', 401, 401), ('#user2', 401, 401), (None, 401, 401):
            headers = {'X-API-Key': key} if key else {}
            equal([s.ask('POST', INFER, body, headers)[0], s.ask('POST', index, '{}', headers)[0], s.ask('POST', load, '{}', headers)[0]],
                  [asked, asked, loads], key)
    with Server(model, '--model-control', 'none', '--control-key', keys[1].name) as s:
        for verb in 'load', 'unload':
            status, _, text = s.ask('POST', load.replace('load', verb), '{}', {'X-API-Key': 'operator'})
            check(status == 403 and b'--model-control none' in text, (status, text))
        equal([s.ask('POST', index, '{}')[0], s.ask('POST', INFER, body)[0]], [200, 200], 'all else')
    with Server(model) as s:
        here = 'http://127.0.0.1:%d' % s.port
        for origin, status in ('http://evil.example', 403), ('null', 403), (here, 200), (here.upper(), 200), ('http://127.0.0.1:1', 403), (here + '0', 403):
            for path in INFER, load, index:
                got, h, text = s.ask('POST', path, body if path == INFER else '{}', {'Origin': origin, 'Content-Type': 'text/plain'})
                equal((got, 'Access-Control-Allow-Origin' in h), (status, False), (origin, path, text[:200]))
        equal(s.ask('POST', load, '{}', {'Origin': 'http://localhost', 'Host': 'localhost:80'})[0], 200, 'the port of the scheme')
        status, h, text = s.ask('OPTIONS', INFER, None, {'Origin': 'http://a', 'Access-Control-Request-Method': 'POST'})
        equal((status, 'Access-Control-Allow-Origin' in h), (403, False), text)
        # a body that is refused is not read
        with socket.create_connection(('127.0.0.1', s.port), 20) as sock:
            sock.sendall(b'POST %s HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nExpect: 100-continue\r\nContent-Length: 9999\r\n\r\n' % INFER.encode())
            check(sock.recv(1000).startswith(b'HTTP/1.1 403 '), 'a large body of a page')
        got = s.raw(b'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        check(got.startswith(b'HTTP/1.1 204 No Content\r\n') and b'Allow: GET, HEAD, POST, OPTIONS\r\n' in got and b'Content-Length' not in got, got)
        equal(s.ask('POST', '/v2')[1]['Allow'], 'GET, HEAD', 'Allow')
    for words in (['--allow-origin', 'https://app.example', '--allow-origin', 'http://other'], ['--allow-origin', '*']):
        with Server(model, '--api-key', keys[0].name, *words) as s:
            allowed = 'https://app.example'
            status, h, text = s.ask('OPTIONS', INFER, None, {'Origin': allowed, 'Access-Control-Request-Method': 'POST'})
            equal((status, text, h['Access-Control-Allow-Origin']), (204, b'', allowed), 'whether the page may ask')
            check('POST' in h['Access-Control-Allow-Methods'] and 'X-API-Key' in h['Access-Control-Allow-Headers'], h)
            for key, status in ('user', 200), ('', 401):
                got, h, _ = s.ask('POST', INFER, body, {'Origin': allowed, 'X-API-Key': key})
                equal((got, h['Access-Control-Allow-Origin'], h['Vary']), (status, allowed, 'Origin'), 'a page that may ask')
            equal(s.ask('POST', INFER, body, {'Origin': 'http://evil', 'X-API-Key': 'user'})[0], 403 if len(words) > 2 else 200, 'another one')
    for file in keys:
        file.close()


class Collector:
    """What OpenTelemetry's collector is to the server: takes messages of OTLP (JSON) and keeps their spans; `hangs`: answers nobody."""

    def __init__(self, hangs=False, statuses=()):
        self.spans, self.resources, self.messages, statuses = [], [], 0, list(statuses)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers['Content-Length']))
                if hangs:
                    time.sleep(60)
                collector.messages += 1
                status = statuses.pop(0) if statuses else 200
                if self.path != '/v1/traces' or self.headers['Content-Type'] != 'application/json':
                    status = 404
                for resource in json.loads(body)['resourceSpans'] if status == 200 else ():
                    collector.resources.append({a['key']: a['value']['stringValue'] for a in resource['resource']['attributes']})
                    collector.spans += [span for scope in resource['scopeSpans'] for span in scope['spans']]
                self.send_response(status)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'{}')

            def log_message(self, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.http.daemon_threads = True
        self.url = 'http://127.0.0.1:%d' % self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def attributes(span):
    return {a['key']: next(iter(a['value'].values())) for a in span.get('attributes', ())}


def test_traces():
    """Spans for a collector: of the client's trace, with queue and run; one that is away, refuses or hangs delays nobody."""
    model = os.path.join(SHAPES, 'model.onnx')
    trace, parent = '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'
    c = Collector(statuses=[503])
    began = time.time_ns()
    with Server(model, '--otlp', c.url) as s:
        for flags in '01', '00':
            status, h, _ = s.ask('POST', INFER, json.dumps(json_request(1)), {'traceparent': '00-%s-%s-%s' % (trace, parent, flags),
                                                                             'tracestate': 'vendor=x'})
            equal((status, h['traceparent']), (200, '00-%s-%s-%s' % (trace, parent, flags)), 'traceparent')
        s.ask('POST', '/v2/models/absent/infer', '{}')
        s.ask('GET', '/v2/health/ready')
        eventually(lambda: s.metric('nnex_spans_sent_total') == 2)
        equal(c.messages, 2, 'a message that was to be sent again')
        address = '127.0.0.1:%d' % s.port
    ended = time.time_ns()
    servers = [span for span in c.spans if span['kind'] == 2]
    equal(len(servers), 2, c.spans)
    span = servers[0]
    equal((span['traceId'], span['parentSpanId'], span['traceState'], span['name']),
          (trace, parent, 'vendor=x', 'POST /v2/models/{model}/infer'), 'the client\'s trace')
    equal({k: attributes(span)[k] for k in ('http.request.method', 'url.path', 'http.response.status_code')},
          {'http.request.method': 'POST', 'url.path': INFER, 'http.response.status_code': '200'}, 'attributes')
    times = lambda x: (int(x['startTimeUnixNano']), int(x['endTimeUnixNano']))
    check(began - 10**9 <= times(span)[0] <= times(span)[1] <= ended + 10**9, (began, times(span), ended))
    parts = [x for x in c.spans if x.get('parentSpanId') == span['spanId']]
    equal([(x['name'], x['traceId']) for x in parts], [('queue', trace), ('run', trace)], 'parts')
    check(times(span)[0] <= times(parts[0])[0] <= times(parts[0])[1] <= times(parts[1])[0] <= times(parts[1])[1] <= times(span)[1], c.spans)
    equal(attributes(parts[1]), {'nnex.batch_rows': '1'}, 'rows')
    other = servers[1]
    check('parentSpanId' not in other and other['traceId'] != trace and attributes(other)['http.response.status_code'] == '404', other)
    equal(c.resources[0], {'service.name': 'nnex', 'service.version': c.resources[0]['service.version'], 'service.instance.id': address}, 'resource')
    # Nobody listens there; nobody answers there: requests are as fast, the end comes soon, and what was lost is counted.
    with socket.create_server(('127.0.0.1', 0)) as nobody:
        away = 'http://127.0.0.1:%d' % nobody.getsockname()[1]
    for url in away, Collector(hangs=True).url:
        with Server(model, '--otlp', url, '--drain-delay', 0) as s:
            connection = s.connect()
            longest = 0
            end = time.monotonic() + 3
            while time.monotonic() < end:
                sent = time.monotonic()
                equal(s.ask('POST', INFER, *binary_pictures(0), connection=connection)[0], 200, url)
                longest = max(longest, time.monotonic() - sent)
            check(longest < 1, 'a request took %.2f s' % longest)
            began = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            equal(s.process.wait(20), 0, 'exit code')
            check(time.monotonic() - began < 10, 'the end waited for the collector')
    with Server(model, '--otlp', Collector(statuses=[400]).url) as s:
        s.ask('GET', '/v2')
        eventually(lambda: s.metric('nnex_spans_dropped_total') == 1)
        equal((s.metric('nnex_spans_sent_total'), s.metric('nnex_spans_dropped_total')), (0, 1), 'refused')


def check_exposition(text):
    """The text format of Prometheus: HELP and TYPE before each family, once; counters end in _total; buckets ascend."""
    kinds, described, buckets = {}, set(), {}
    for line in text.splitlines():
        if line.startswith('# HELP '):
            name = line.split()[2]
            check(name not in described, name + ' is described twice')
            described.add(name)
        elif line.startswith('# TYPE '):
            kinds[line.split()[2]] = line.split()[3]
        else:
            found = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line)
            check(found, 'no sample: ' + line)
            float(found[3])
            name = found[1]
            family = re.sub('_(bucket|sum|count)$', '', name) if name not in kinds else name
            check(family in kinds and family in described, 'not described: ' + name)
            check(kinds[family] != 'counter' or name.endswith('_total'), 'a counter without _total: ' + name)
            if name.endswith('_bucket'):
                series = re.sub(r',?le="[^"]*"', '', found[2])
                check(buckets.get((family, series), 0) <= float(found[3]), 'buckets: ' + line)
                buckets[family, series] = float(found[3])
    equal(set(kinds), described, 'HELP and TYPE')


def test_set():
    """Of several models each takes of --set what it has; a symbol that none has is a mistake."""
    folder = tempfile.mkdtemp()
    repository(folder, scale=scaled(2), fixed=onnx('Relu', [('x', 1, [2])], [('y', 1, [2])]))
    os.makedirs(os.path.join(folder, 'other'))
    shutil.copy(os.path.join(folder, 'scale.onnx'), os.path.join(folder, 'other', 'model.onnx'))
    open(os.path.join(folder, 'other', 'config.pbtxt'), 'w').write('max_batch_size: 0\n')
    try:
        with Server('--set', 'N=2', folder) as s:
            equal(s.json('GET', '/v2/models/scale')['inputs'][0]['shape'], [2, 4], 'fixed')
            equal(s.json('GET', '/v2/models/fixed')['inputs'][0]['shape'], [2], 'as it was')
            check(re.search(r'passed over path=\S*config\.pbtxt because="options are those of the command line"', s.logged()), s.logged())
        out = subprocess.run([NNEX, 'serve', '--port', '0', '--set', 'M=2', folder], capture_output=True, text=True, timeout=60)
        check(out.returncode == 2 and "no symbol 'M' in any model" in out.stderr, out.stderr)
    finally:
        shutil.rmtree(folder)


def test_usage():
    """What the command line refuses."""
    folder = tempfile.mkdtemp()
    busy = socket.create_server(('127.0.0.1', 0))
    model = os.path.join(SHAPES, 'model.onnx')
    with open(os.path.join(folder, 'broken.onnx'), 'wb') as f:
        f.write(b'nothing')
    bare = tempfile.mkdtemp()
    os.makedirs(os.path.join(bare, 'empty'))
    try:
        for words, code, text in [
                ([], 2, 'needed a model'), (['nowhere.onnx'], 3, 'nowhere.onnx'), ([folder], 3, 'broken'), ([bare], 2, 'no model lies in it'),
                ([model, '--port', '70000'], 2, '70000'), ([model, '--model', 'x'], 2, 'NAME=PATH'),
                ([model, '--model', 'model=' + model], 2, 'two models'), ([model, '--api-key', 'nowhere'], 3, 'nowhere'),
                ([model, '--port', str(busy.getsockname()[1])], 3, 'in use'), ([model, '--log', 'xml'], 2, 'xml'),
                ([model, '--timeout', '1e300'], 2, 'needed a number above 0, below 1e+300'), ([model, '--grpc-port', '-1'], 2, 'needed a whole number of at least 0'),
                ([model, '--allow-origin', 'foo'], 2, "found 'foo'; needed scheme://host"), ([model, '--allow-origin', 'http://a/'], 2, 'without a path'),
                ([model, '--batch-delay', '99999999999'], 2, 'needed a whole number of at least 0, at most 2147483647'),
                ([model, '--host', '999.1.1.1'], 3, 'cannot listen'), ([model, '--otlp', 'https://a'], 2, 'needed http://'),
                ([model, '--otlp', 'a:b'], 2, 'needed http://'), ([model, '--otlp', 'http://a:99999'], 2, '--otlp')]:
            out = subprocess.run([NNEX, 'serve', '--port', '0'][:2 if '--port' in words else 4] + words, capture_output=True,
                                 text=True, timeout=60)
            check(out.returncode == code and text in out.stderr, (words, out.returncode, out.stderr))

        def few_threads():  # each has so large a stack that memory is there for some
            resource.setrlimit(resource.RLIMIT_STACK, (256 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        if b'__asan_init' not in open(NNEX, 'rb').read():  # whose shadow passes every limit
            out = subprocess.run([NNEX, 'serve', '--port', '0', model, '--instances', '100'], capture_output=True, text=True,
                                 timeout=60, preexec_fn=few_threads)
            check(out.returncode == 3 and 'each of 100 instances' in out.stderr, (out.returncode, out.stderr))
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(bare)
        busy.close()


def test_document():
    """The commands of docs/serving.md, as they stand there but for ports: one server after the other, then three replicas behind HAProxy."""
    if not shutil.which('curl'):
        return print('  curl is not there: nothing of the document is run')
    root = os.path.join(HERE, '..')
    lines = [line[4:].rstrip() for line in open(os.path.join(root, 'docs', 'serving.md')) if line.startswith('    ')]
    replicas = next(i for i, line in enumerate(lines) if line.startswith('for port in 8001 8002 8003'))
    starts = [i for i, line in enumerate(lines) if line.startswith('nnex serve ')]
    check(len(starts) >= 4 and starts[-1] < replicas, 'servers in the document: %s' % [lines[i] for i in starts])
    before, began = os.getcwd(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(os.path.join(root, 'models')), os.path.join(folder, 'models'))
        os.chdir(folder)
        try:
            asked = 0
            for i, end in zip(starts, starts[1:] + [replicas]):
                words = lines[i].split()[2:]
                if '--grpc-port' in words and not os.path.exists(os.path.join(os.path.dirname(NNEX), 'nnex-grpc.so')):
                    print('  this build has no nnex-grpc.so: its command is left out')
                    continue
                if '--grpc-port' in words:
                    words[words.index('--grpc-port') + 1] = '0'
                with Server(*words) as s:
                    for line in lines[i + 1:end]:
                        out = subprocess.run(line.replace(':8000', ':%d' % s.port), shell=True, capture_output=True, text=True)
                        check(out.returncode == 0 and 'error' not in out.stdout, (line, out.stdout[:300], out.stderr))
                        asked += 'infer' in line and document_answer(out.stdout)
            equal(asked, 2, 'requests')
            if not shutil.which('haproxy', path=os.environ['PATH'] + ':/usr/sbin'):
                return print('  haproxy is not there: the three replicas are left out')
            three_replicas(root, [line for line in lines[replicas:] if not line.startswith('deploy/test')])
        finally:
            os.chdir(before)
    seconds = time.monotonic() - began
    print('  from the first command to the answer of three replicas: %.1f s' % seconds)
    check(seconds < 300, 'five minutes were not enough')


def document_answer(text):
    """1, for an answer to the document's request."""
    outputs = json.loads(text)['outputs'][0]
    check(outputs['shape'] == [1, 8] and abs(sum(outputs['data']) - 1) < 1e-4, text)
    return 1


def three_replicas(root, commands):
    """The document's commands in one shell in this folder, nnex and haproxy on its PATH; other ports in place of those that are taken."""
    os.makedirs('bin')
    os.symlink(NNEX, 'bin/nnex')
    os.makedirs('deploy')
    text, config = '\n'.join(commands) + '\n', open(os.path.join(root, 'deploy', 'haproxy.cfg')).read()
    for named in '8001', '8002', '8003', '8080', '8404':
        try:
            socket.create_server(('127.0.0.1', int(named))).close()
        except OSError:
            with socket.create_server(('127.0.0.1', 0)) as free:
                other = str(free.getsockname()[1])
            print('  port %s is taken: %s' % (named, other))
            text, config = (re.sub(r'\b%s\b' % named, other, x) for x in (text, config))
    with open('deploy/haproxy.cfg', 'w') as f:
        f.write(config)
    with open('log', 'w+') as log:
        environment = {**os.environ, 'PATH': os.path.abspath('bin') + ':' + os.environ['PATH'] + ':/usr/sbin'}
        shell = subprocess.Popen(['bash', '-c', text + 'echo; echo That is all'], stdout=subprocess.PIPE, stderr=log, text=True, env=environment, start_new_session=True)
        lines = []
        try:
            for line in shell.stdout:
                lines.append(line.strip())
                if lines[-1] == 'That is all':
                    break
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
            shell.stdout.read()  # servers hold it open until they end
            shell.wait()
        log.seek(0)
        answers = [line for line in lines if line.startswith('{')]
        check(len(answers) == 1 and document_answer(answers[0]), (lines, log.read()[-1000:]))


def test_weights():
    """A large file may be rewritten while it is served: it is not mapped."""
    rows, side = 18 << 16, 16  # 72 MiB; other verbs map files from 64 MiB on
    tensor = field(1, rows) + field(1, side) + field(2, 1) + field(8, 'w')
    graph = field(1, field(1, 'w') + field(1, 'x') + field(2, 'y') + field(4, 'Gather')) + field(2, 'g')
    rest = field(11, port('x', 7, ['N'])) + field(12, port('y', 1, ['N', side]))
    with tempfile.TemporaryDirectory() as folder:
        table = b''.join(struct.pack('<f', i) * side for i in range(rows))
        path = os.path.join(folder, 'table.onnx')
        with open(path, 'wb') as f:
            f.write(field(1, 8) + field(7, graph + field(5, tensor + field(9, table)) + rest) + field(8, field(1, '') + field(2, 17)))
        del table
        asked = list(range(0, rows, 64))  # an element of each page
        body, headers = binary_request([('x', 'INT64', [len(asked)], struct.pack('<%dq' % len(asked), *asked))], parameters={'binary_data_output': True})
        needed = b''.join(struct.pack('<f', i) * side for i in asked)

        def ask(s):
            status, h, answer = s.ask('POST', '/v2/models/table/infer', body, headers)
            equal(status, 200, answer[:200])
            check(binary_answer(h, answer)[1]['y'] == needed, 'rows')
        # a cache that cannot be used is told of
        with open(os.path.join(folder, 'file'), 'w') as f:
            f.write('no folder')
        os.utime(path, (1e9, 1e9))  # of what was just written nothing is kept
        for cache, found in (os.path.join(folder, 'file', 'x'), ' not kept in the cache model=table version=1 because='), (os.path.join(folder, 'cache'), ' cache=written\n'), \
                (os.path.join(folder, 'cache'), ' cache=found\n'):
            with Server(path, '--cache', cache) as s:
                check(found in s.logged(), (found, s.logged()))
        with Server(path) as s:
            check(path not in open('/proc/%d/maps' % s.process.pid).read(), 'the file is mapped')
            with open(path, 'r+b') as f:
                f.write(bytes(16 << 20))
                f.truncate(16 << 20)
            ask(s)
            s.json('POST', '/v2/repository/models/table/load', status=400)
            ask(s)


def test_unit():
    """deploy/nnex-serve.service: systemd takes it, and stops nothing that still drains."""
    text = open(os.path.join(HERE, '..', 'deploy', 'nnex-serve.service')).read()
    seconds = lambda pattern: float(re.search(pattern, text, re.M)[1])
    drains = seconds(r'^ExecStart=.* --drain-delay (\d+)') / 1000 + seconds(r'^ExecStart=.* --drain-timeout (\d+)')
    given = seconds(r'^TimeoutStopSec=(\d+)$')
    check(given >= drains + 8, 'TimeoutStopSec is %g; draining takes up to %g s, and 5 s for spans' % (given, drains))
    if not shutil.which('systemd-analyze'):
        return print('  systemd-analyze is not there: the unit is not verified')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'nnex-serve.service')
        with open(path, 'w') as f:
            f.write(text.replace('/usr/bin/nnex', NNEX))  # which must be there
        out = subprocess.run(['systemd-analyze', 'verify', '--man=no', path], capture_output=True, text=True)
        ours = [line for line in (out.stdout + out.stderr).splitlines() if 'nnex-serve' in line]
        check(out.returncode == 0 and not ours, out.stdout + out.stderr)


def test_capacity():
    """deploy/capacity measures and computes, small; the tables of docs/capacity.md follow from their figures by its model."""
    root = os.path.join(HERE, '..')
    rows = [[cell.strip(' `') for cell in line.split('|')[1:-1]] for line in open(os.path.join(root, 'docs', 'capacity.md')) if line.startswith('| ')]
    measured = {r[0].split('`')[0]: (float(r[1]), float(r[2]), float(r[3])) for r in rows if len(r) == 4 and r[1].isdigit()}
    proxy = float(re.search(r'costs it ([\d.]+) us', open(os.path.join(root, 'docs', 'capacity.md')).read())[1])
    about = lambda found, needed: abs(found - needed) <= (0.06 if needed < 10 else max(0.51, 0.01 * needed))
    computed = [r for r in rows if len(r) == 6 and r[1].isdigit()]
    check(len(measured) == 3 and len(computed) == 9, (measured, computed))
    for name, nodes, rate, cores, network, memory in computed:
        size, us, mib = measured[name]
        needed = int(nodes) * 8 * 0.7 * 1e6 / us
        check(about(float(rate), needed) and about(float(cores), needed * proxy / 1e6 / 0.7) and about(float(network), needed * size / 1e6) and
              about(float(memory), 8 * mib), (name, nodes, needed))
    out = subprocess.run([os.path.join(root, 'deploy', 'capacity'), NNEX, '--seconds', '0.4', '--rounds', '2', '--nodes', '1', '20', '--cores', '4', '--json'],
                         capture_output=True, text=True)
    if out.returncode == 77:
        return print('  ' + out.stdout.strip())
    check(out.returncode == 0, out.stderr[-500:])
    j = json.loads(out.stdout)
    check(all(j['measured']['small'][key] > 0 for key in ('rate', 'cpu_us', 'bare_cpu_us', 'p50_us')) and len(j['must_hold']) == 4, j)
    for a, b in zip(j['computed'][::2], j['computed'][1::2]):
        check(about(b['rate'], 20 * a['rate']) and about(a['rate'], 4 * 0.7e6 / j['measured'][a['model']]['cpu_us']), (a, b))
    # A bound that a busy machine keeps, too; deploy/capacity --check has the real ones.
    check(j['measured']['small']['cpu_ratio'] > 0.7, 'a small model takes %(cpu_us).1f us of a core, a bare server %(bare_cpu_us).1f' % j['measured']['small'])


def main(names_of=globals()):
    tests = {name[5:]: f for name, f in names_of.items() if name.startswith('test_')}
    names = sys.argv[2:] or list(tests)
    failed = 0
    for name in names:
        began = time.monotonic()
        try:
            tests[name]()
            print('ok      %s (%.1f s): %s' % (name, time.monotonic() - began, tests[name].__doc__.splitlines()[0]))
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print('FAILED  %s: %s: %s' % (name, type(e).__name__, e))
        sys.stdout.flush()
    print('%d passed, %d failed' % (len(names) - failed, failed))
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
