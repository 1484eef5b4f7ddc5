#!/usr/bin/python3
"""serve_clients.py NNEX: `nnex serve` from clients that people use: python3-requests and curl; serve_clients.mjs has undici and @grpc/grpc-js,
serve_grpc.py python3-grpcio. What is not there is named. Last line: N passed, N failed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import serve
from serve import check, close, equal, floats, wanted

try:
    import requests
except ImportError:
    requests = None


def model():
    return serve.Server(os.path.join(serve.SHAPES, 'model.onnx'))


def test_requests():
    """python3-requests: JSON and binary tensors in a session that is kept, errors, a deadline, chunks."""
    if not requests:
        return print('  python3-requests is not there')
    with model() as s, requests.Session() as session:
        url = 'http://127.0.0.1:%d' % s.port
        equal(session.get(url + '/v2/health/ready', timeout=20).json(), {'ready': True}, 'ready')
        r = session.post(url + serve.INFER, json=serve.json_request(2, 7, id='a'), timeout=20)
        equal((r.status_code, r.reason, r.json()['id']), (200, 'OK', 'a'), 'JSON')
        close(r.json()['outputs'][0]['data'], wanted(2) + wanted(7), 'JSON')
        body, headers = serve.binary_pictures(5)
        r = session.post(url + serve.INFER, data=body, headers=headers, timeout=20)
        close(floats(serve.binary_answer(r.headers, r.content)[1]['probabilities']), wanted(5), 'binary')
        r = session.post(url + serve.INFER, data=(body[i:i + 1000] for i in range(0, len(body), 1000)), headers=headers, timeout=20)
        close(floats(serve.binary_answer(r.headers, r.content)[1]['probabilities']), wanted(5), 'chunks')
        r = session.post(url + serve.INFER, json={'inputs': []}, timeout=20)
        equal((r.status_code, r.headers['Content-Type']), (400, 'application/json'), 'an error')
        check('no inputs' in r.json()['error'], r.text)
        equal(session.get(url + '/v2/models/none', timeout=20).status_code, 404, 'absent')
        equal(session.delete(url + '/v2', timeout=20).headers['Allow'], 'GET, HEAD', 'Allow')
        equal(s.metric('nnex_http_connections_total'), 2, 'connections: the session\'s, and this one')


def test_curl():
    """curl: JSON, binary tensors, Expect: 100-continue, exit codes of --fail."""
    if not shutil.which('curl'):
        return print('  curl is not there')
    with model() as s, tempfile.TemporaryDirectory() as folder:
        url = 'http://127.0.0.1:%d' % s.port
        body, headers = serve.binary_pictures(3)
        request, answer, head = (os.path.join(folder, name) for name in ('request', 'answer', 'head'))

        def curl(*words, code=0):
            out = subprocess.run(['curl', '-sS', *words], capture_output=True, text=True, timeout=60)
            equal(out.returncode, code, out.stderr)
            return out.stdout
        with open(request, 'w') as f:
            json.dump(serve.json_request(6), f)
        close(json.loads(curl('--fail', url + serve.INFER, '-d', '@' + request))['outputs'][0]['data'], wanted(6), 'JSON')
        with open(request, 'wb') as f:
            f.write(body)
        for more in (), ('-H', 'Expect: 100-continue'), ('-H', 'Transfer-Encoding: chunked'):
            curl('--fail', url + serve.INFER, '--data-binary', '@' + request, '-o', answer, '-D', head, *more,
                 *(word for name, value in headers.items() for word in ('-H', '%s: %s' % (name, value))))
            got = [line.strip().split(': ') for line in open(head) if ': ' in line]
            close(floats(serve.binary_answer(dict(got), open(answer, 'rb').read())[1]['probabilities']), wanted(3), more)
        curl('--fail', url + '/v2/models/none', code=22)
        equal(curl('-o', answer, '-w', '%{http_code}', '-I', url + '/v2/health/ready'), '200', 'HEAD')


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
