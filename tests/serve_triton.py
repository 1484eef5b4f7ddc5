#!/usr/bin/env python3
"""serve_triton.py NNEX [TEST...]: `nnex serve` as Triton's client of HTTP (tritonclient.http) asks it: its requests, member by member, and its reading of answers.

As tests/serve.py, whose server and checks it has. Last line: N passed, N failed.
"""
import gzip
import json
import os
import struct
import sys
import tempfile
import time
import zlib

import serve
from serve import INFER, SHAPES, Server, check, close, equal, eventually, floats, onnx, picture, repository, wanted

MODEL = os.path.join(SHAPES, 'model.onnx')


class Input:
    """InferInput: binary data unless it is asked for JSON."""

    def __init__(self, name, shape, datatype, data, binary=True, **parameters):
        self.tensor = {'name': name, 'shape': shape, 'datatype': datatype}
        self.raw = data if binary and data is not None else None
        if self.raw is not None:
            parameters['binary_data_size'] = len(data)
        if parameters:
            self.tensor['parameters'] = parameters
        if self.raw is None and data is not None:
            self.tensor['data'] = data


def output(name, binary=True, class_count=0, **parameters):
    """InferRequestedOutput."""
    if class_count:
        parameters['classification'] = class_count
    return {'name': name, 'parameters': {**parameters, 'binary_data': binary}}


def infer(s, inputs, outputs=None, model='model', version='', request_id='', sequence_id=0, sequence_start=False, sequence_end=False, priority=0, timeout=None,
          request_compression=None, response_compression=None, parameters=None, status=200):
    """InferenceServerClient.infer(): the JSON of the answer, its binary outputs, and its headers."""
    request, its = {}, {}
    if request_id:
        request['id'] = request_id
    if sequence_id:
        its.update(sequence_id=sequence_id, sequence_start=sequence_start, sequence_end=sequence_end)
    if priority:
        its['priority'] = priority
    if timeout is not None:
        its['timeout'] = timeout
    request['inputs'] = [i.tensor for i in inputs]
    if outputs:
        request['outputs'] = outputs
    else:
        its['binary_data_output'] = True
    its.update(parameters or {})
    if its:
        request['parameters'] = its
    body, headers = json.dumps(request).encode(), {}
    if any(i.raw is not None for i in inputs):
        headers['Inference-Header-Content-Length'] = str(len(body))
        body += b''.join(i.raw for i in inputs if i.raw is not None)
    if request_compression:
        headers['Content-Encoding'] = request_compression
        body = gzip.compress(body) if request_compression == 'gzip' else zlib.compress(body)
    if response_compression:
        headers['Accept-Encoding'] = response_compression
    got, its, answer = s.ask('POST', '/v2/models/%s%s/infer' % (model, version and '/versions/' + version), body, headers)
    equal(got, status, answer[:300])
    if its['Content-Encoding'] == 'gzip':
        answer = gzip.decompress(answer)
    elif its['Content-Encoding'] == 'deflate':
        answer = zlib.decompress(answer)
    size = int(its['Inference-Header-Content-Length'] or len(answer))
    j, at, raw = json.loads(answer[:size]), size, {}
    for o in j.get('outputs', []):
        n = o.get('parameters', {}).get('binary_data_size')
        if n is not None:
            raw[o['name']] = answer[at:at + n]
            at += n
    equal(at, len(answer), 'bytes of the answer')
    return j, raw, its


def pictures(*which, **more):
    data = b''.join(picture(i) for i in which)
    return Input('picture', [len(which), 3, 32, 32], 'FP32', data if more.get('binary', True) else floats(data), **more)


def test_requests():
    """Binary data and JSON, both ways and mixed; id, priority, timeout and parameters of the client's own."""
    with Server(MODEL) as s:
        for binary_in in True, False:
            j, raw, _ = infer(s, [pictures(0, 2, binary=binary_in)], request_id='7')
            equal((j['id'], j['model_name'], j['model_version']), ('7', 'model', '1'), 'names')
            close(floats(raw['probabilities']), wanted(0) + wanted(2), 'binary unless it is asked otherwise')
            for binary_out in True, False:
                j, raw, headers = infer(s, [pictures(1, binary=binary_in)], [output('probabilities', binary_out)])
                equal([(o['name'], o['datatype'], o['shape']) for o in j['outputs']], [('probabilities', 'FP32', [1, 8])], 'output')
                close(floats(raw['probabilities']) if binary_out else j['outputs'][0]['data'], wanted(1), 'numbers')
                equal(headers['Content-Type'], 'application/octet-stream' if binary_out else 'application/json', 'Content-Type')
                check('id' not in j, j)
        for more in {'priority': 1}, {'priority': 2 ** 64 - 1}, {'timeout': 0}, {'timeout': 5_000_000}, {'parameters': {'mine': 'x', 'other': 1.5, 'flag': True}}, {'version': '1'}:
            close(floats(infer(s, [pictures(3)], **more)[1]['probabilities']), wanted(3), more)
        equal(infer(s, [pictures(3)], version='2', status=404)[0], {'error': "no model 'model' of version 2"}, 'version')
        check('timeout' in infer(s, [pictures(3)], timeout=-1, status=400)[0]['error'], 'timeout')
        check('timeout' in infer(s, [pictures(3)], timeout='1', status=400)[0]['error'], 'timeout')


def test_timeout():
    """`timeout` counts microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, slow=serve.SLOW)
        with Server(folder, '--threads', 1) as s:
            zero, shape = b'\0' * (8 * serve.SIDE ** 2), [2, serve.SIDE, serve.SIDE]
            two = [Input(name, shape, 'FP32', zero) for name in 'ab']
            began = time.monotonic()
            infer(s, two, model='slow', timeout=1000, status=504)
            infer(s, two, model='slow', timeout=60_000_000)
            check(time.monotonic() - began < 60, 'a minute')


def test_refused():
    """What nnex lacks of Triton is refused by its name: shared memory and sequences."""
    with Server(MODEL) as s:
        region = {'shared_memory_region': 'r', 'shared_memory_byte_size': 12288, 'shared_memory_offset': 0}
        equal(infer(s, [pictures(0, **region)], status=400)[0]['error'], "input 'picture': the parameter 'shared_memory_region' is not supported", 'input')
        equal(infer(s, [Input('picture', [1, 3, 32, 32], 'FP32', None, **region)], status=400)[0]['error'],
              "input 'picture': the parameter 'shared_memory_region' is not supported", 'input without data')
        check("output 'probabilities': the parameter 'shared_memory_region' is not supported" in
              infer(s, [pictures(0)], [output('probabilities', **region)], status=400)[0]['error'], 'output')
        check("the parameter 'sequence_id' is not supported" in infer(s, [pictures(0)], sequence_id=5, sequence_start=True, status=400)[0]['error'], 'sequence')
        for kind in 'systemsharedmemory', 'cudasharedmemory':
            s.json('GET', '/v2/%s/status' % kind, status=404)
            s.json('POST', '/v2/%s/region/r/register' % kind, {'key': '/r', 'offset': 0, 'byte_size': 64}, status=404)
        extensions = s.json('GET', '/v2')['extensions']
        check('binary_tensor_data' in extensions and 'classification' in extensions and not [e for e in extensions if 'shared' in e or 'sequence' in e], extensions)


def texts(raw):
    out, at = [], 0
    while at < len(raw):
        size, = struct.unpack_from('<I', raw, at)
        out.append(raw[at + 4:at + 4 + size].decode())
        at += 4 + size
    return out


def test_classification():
    """`classification`: the largest numbers of each row as texts VALUE:INDEX, the largest first; of a model without rows that run together of all of them."""
    with tempfile.TemporaryDirectory() as folder:
        repository(folder, rows=serve.scaled(2), whole=onnx('Identity', [('x', 7, [2, 2])], [('y', 7, [2, 2])]), words=onnx('Identity', [('x', 8, [2])], [('y', 8, [2])]))
        with Server(folder) as s:
            rows = Input('x', [2, 4], 'FP32', struct.pack('<8f', 1, 4, 4, -3, 0.25, float('nan'), 5, 6))
            j, raw, _ = infer(s, [rows], [output('y', class_count=3)], model='rows')
            equal([(o['name'], o['datatype'], o['shape']) for o in j['outputs']], [('y', 'BYTES', [2, 3])], 'output')
            equal(texts(raw['y']), ['8.000000:1', '8.000000:2', '2.000000:0', '12.000000:3', '10.000000:2', '0.500000:0'], 'classes')
            j = infer(s, [rows], [output('y', binary=False, class_count=9)], model='rows')[0]
            equal((j['outputs'][0]['shape'], j['outputs'][0]['data'][:4]), ([2, 4], ['8.000000:1', '8.000000:2', '2.000000:0', '-6.000000:3']), 'more than there are')
            whole = Input('x', [2, 2], 'INT64', struct.pack('<4q', 5, -7, 2 ** 62, 5))
            j = infer(s, [whole], [output('y', binary=False, class_count=2)], model='whole')[0]
            equal((j['outputs'][0]['shape'], j['outputs'][0]['data']), ([2], ['4611686018427387904:2', '5:0']), 'without rows')
            for count in 0, -1, 1.5, '2', True:
                why = infer(s, [whole], [{'name': 'y', 'parameters': {'classification': count}}], model='whole', status=400)[0]['error']
                check("output 'y': the parameter 'classification'" in why and 'whole number from 1' in why, why)
            word = Input('x', [2], 'BYTES', ['a', 'b'], binary=False)
            check("output 'y' is text, which has no classes" in infer(s, [word], [output('y', class_count=1)], model='words', status=400)[0]['error'], 'texts')
            check("the parameter 'classification' is of outputs" in infer(s, [whole], parameters={'classification': 1}, model='whole', status=400)[0]['error'], 'of the request')


def test_compression():
    """Requests may be compressed, answers are where the server is told to; what unpacks to too much is no memory's matter."""
    with Server(MODEL, '--compress', '--request-limit', 1 << 20) as s:
        for coding in 'gzip', 'deflate':
            for binary in True, False:
                j, raw, _ = infer(s, [pictures(4, 5, binary=binary)], request_compression=coding)
                close(floats(raw['probabilities']), wanted(4) + wanted(5), coding)
        many = list(range(8)) * 4
        all_of_them = [pictures(*many)], [output('probabilities', False)]
        for accept, coding in ('gzip', 'gzip'), ('deflate', 'deflate'), ('gzip, deflate', 'gzip'), ('br;q=1.0, GZIP;q=0.5, deflate;q=0.8', 'deflate'), ('*', 'gzip'), \
                ('gzip;q=0', None), ('identity', None), ('br', None), (None, None):
            j, _, headers = infer(s, *all_of_them, response_compression=accept)
            equal((headers['Content-Encoding'], headers['Vary']), (coding, 'Accept-Encoding'), accept)
            close(j['outputs'][0]['data'], sum((wanted(i) for i in many), []), accept)
        equal(infer(s, [pictures(0)], response_compression='gzip')[2]['Content-Encoding'], None, 'a small answer')
        body, headers = serve.binary_pictures(6)
        ask = lambda data, coding='gzip': s.ask('POST', INFER, data, {**headers, 'Content-Encoding': coding})
        two = gzip.compress(body[:100]) + gzip.compress(body[100:])
        status, got, answer = ask(two)
        close(floats(serve.binary_answer(got, answer)[1]['probabilities']), wanted(6), 'two members')
        for data, coding, needed, words in (
                (gzip.compress(body)[:-9], 'gzip', 400, 'its end is missing'), (gzip.compress(body) + b'x', 'gzip', 400, 'no gzip'), (body, 'gzip', 400, 'no gzip'),
                (zlib.compress(body) + b'x', 'deflate', 400, 'more follows its end'), (b'', 'gzip', 400, ''), (gzip.compress(body), 'deflate', 400, 'no deflate'),
                (body, 'br', 415, 'needed gzip, deflate or identity'), (body, 'gzip, gzip', 415, 'needed'),
                (gzip.compress(bytes(1 << 20) + b'1'), 'gzip', 413, 'unpacks to more than 1048576 bytes'), (gzip.compress(bytes(512 << 20), 9), 'gzip', 413, 'unpacks to more')):
            status, _, answer = ask(data, coding)
            check(status == needed and words in json.loads(answer)['error'], (data[:20], coding, status, answer))
        check(eventually(lambda: s.metric('nnex_held_bytes') == 0), 'memory of requests')
        check(s.memory() < 200 << 20, 'memory: %d MiB' % (s.memory() >> 20))
        status, _, answer = ask(gzip.compress(b' ' * (1 << 20)))
        equal(status, 400, answer)
    with Server(MODEL, '--queue-bytes', 1) as s:  # 1 MiB for all
        status, _, answer = s.ask('POST', INFER, gzip.compress(bytes(3 << 20)), {'Content-Encoding': 'gzip'})
        check(status == 413, (status, answer))
        equal(infer(s, [pictures(*range(8), *range(8))], [output('probabilities', False)], response_compression='gzip')[2]['Content-Encoding'], None, 'without --compress')
        check(eventually(lambda: s.metric('nnex_held_bytes') == 0), 'memory of requests')


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
