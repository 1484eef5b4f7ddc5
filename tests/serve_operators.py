#!/usr/bin/env python3
"""serve_operators.py NNEX [TEST...]: what those who operate `nnex serve` rely on: who may ask, what one fault leaves standing, what is told and counted.

As tests/serve.py, whose server and checks it has. Last line: N passed, N failed.
"""
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


def test_paths():
    """A path of the protocol has one spelling: what a proxy's rule does not know, nobody answers."""
    with Server(MODEL) as s:
        for method, path in ('POST', '/v2/%72epository/models/model/unload'), ('POST', '/v2/repository/models/model/unloa%64'), ('POST', '/v2/repository%2Fmodels/model/unload'), \
                ('POST', '/v2/repository/models/model/unload/'), ('POST', '/v2//repository/models/model/unload'), ('GET', '/metrics/'), ('GET', '/%6detrics'), ('GET', '/v2/'):
            status = s.ask(method, path, '{}' if method == 'POST' else None)[0]
            equal(status, 400 if '%' in path else 404, path)
        for path in '/v2/models/%6dodel/infer', '/v2/models/model/versions/%31/infer':  # names are what they are, however they are sent
            s.json('POST', path, json_request(0))


def test_no_http():
    """What is no HTTP is told so at once, and not after it has stalled."""
    with Server(MODEL, '--client-timeout', 30) as s:
        for data in b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc', b'hello\r\n', b'GET /v2\r\n', bytes(100):
            began = time.monotonic()
            got = s.raw(data, end=False)
            check(got.startswith(b'HTTP/1.1 400 ') and time.monotonic() - began < 10, (data, got))


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
