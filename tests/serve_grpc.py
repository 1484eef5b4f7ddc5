#!/usr/bin/python3
"""serve_grpc.py NNEX: `nnex serve --grpc-port` as clients of gRPC meet it, with Python's own implementation of gRPC on this side.

Needs python3-grpcio, python3-protobuf and protoc; 77 and a sentence where one is missing. Last line: N passed, N failed.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

try:
    import grpc
    import google.protobuf
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

import serve
from serve import check, close, equal, floats, picture, wanted

PROTO = os.path.join(serve.HERE, '..', 'apps', 'serve', 'grpc', 'inference.proto')
made = tempfile.TemporaryDirectory()
try:
    subprocess.run(['protoc', '-I', os.path.dirname(PROTO), '--python_out', made.name, PROTO], check=True)
except FileNotFoundError:
    print('skipped: protoc is missing')
    sys.exit(77)
sys.path.insert(0, made.name)
import inference_pb2 as pb  # noqa: E402


class Server(serve.Server):
    def __init__(self, *arguments, **more):
        super().__init__('--grpc-port', 0, *arguments, **more)

    def client(self, options=()):
        return Client(self.grpc_port, options)


class Client:
    def __init__(self, port, options=()):
        self.channel = grpc.insecure_channel('127.0.0.1:%d' % port, options=options)
        for method in pb.DESCRIPTOR.services_by_name['GRPCInferenceService'].methods:
            call = self.channel.unary_unary('/inference.GRPCInferenceService/' + method.name,
                                            request_serializer=lambda m: m.SerializeToString(),
                                            response_deserializer=getattr(pb, method.output_type.name).FromString)
            setattr(self, method.name, call)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


def code_of(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except grpc.RpcError as e:
        return e.code(), e.details()
    return grpc.StatusCode.OK, ''


def refused(code, words, call, *arguments, **more):
    got, details = code_of(call, *arguments, **more)
    equal(got, code, details)
    check(words in details, '%r in %r' % (words, details))


def ask(*pictures, raw=True, **more):
    request = pb.ModelInferRequest(model_name='model', **more)
    tensor = request.inputs.add(name='picture', datatype='FP32', shape=[len(pictures), 3, 32, 32])
    data = b''.join(picture(i) for i in pictures)
    if raw:
        request.raw_input_contents.append(data)
    else:
        tensor.contents.fp32_contents.extend(floats(data))
    return request


def test_protocol():
    """Health, metadata, index, and the stored answers, raw and typed."""
    with Server(os.path.join(serve.SHAPES, 'model.onnx')) as s, s.client() as c:
        check(c.ServerLive(pb.ServerLiveRequest()).live, 'live')
        check(c.ServerReady(pb.ServerReadyRequest()).ready, 'ready')
        check(c.ModelReady(pb.ModelReadyRequest(name='model')).ready, 'model ready')
        about = c.ServerMetadata(pb.ServerMetadataRequest())
        equal(about.name, 'nnex')
        check('binary_tensor_data' in about.extensions, about.extensions)
        model = c.ModelMetadata(pb.ModelMetadataRequest(name='model'))
        equal((model.name, model.platform, list(model.versions)), ('model', 'onnx', ['1']))
        equal([(t.name, t.datatype, list(t.shape)) for t in model.inputs], [('picture', 'FP32', [-1, 3, 32, 32])])
        equal([(t.name, t.datatype, list(t.shape)) for t in model.outputs], [('probabilities', 'FP32', [-1, 8])])
        equal([(m.name, m.version, m.state) for m in c.RepositoryIndex(pb.RepositoryIndexRequest()).models], [('model', '1', 'READY')])
        config = c.ModelConfig(pb.ModelConfigRequest(name='model')).config
        equal((config.name, config.platform, config.backend, config.max_batch_size), ('model', 'onnx', 'nnex', 8))
        equal([(t.name, t.data_type, list(t.dims)) for t in config.input], [('picture', pb.TYPE_FP32, [3, 32, 32])])
        equal([(t.name, t.data_type, list(t.dims)) for t in config.output], [('probabilities', pb.TYPE_FP32, [8])])
        for raw in (True, False):
            answer = c.ModelInfer(ask(0, 3, raw=raw, id='this one'))
            equal((answer.model_name, answer.model_version, answer.id), ('model', '1', 'this one'))
            equal([(o.name, o.datatype, list(o.shape)) for o in answer.outputs], [('probabilities', 'FP32', [2, 8])])
            close(floats(answer.raw_output_contents[0]), wanted(0) + wanted(3))
        counted = c.ModelStatistics(pb.ModelStatisticsRequest(name='model')).model_stats[0]
        equal((counted.name, counted.version, counted.inference_count, counted.execution_count, counted.inference_stats.success.count), ('model', '1', 4, 2, 2))
        check(counted.inference_stats.compute_infer.ns > 0 and abs(counted.last_inference / 1000 - time.time()) < 60, counted)
        equal([(b.batch_size, b.compute_infer.count) for b in counted.batch_stats], [(2, 2)])
        equal(c.ModelStatistics(pb.ModelStatisticsRequest()).model_stats[0], counted, 'of all models')
        refused(grpc.StatusCode.NOT_FOUND, "no model 'stats'", c.ModelMetadata, pb.ModelMetadataRequest(name='stats'))
        refused(grpc.StatusCode.NOT_FOUND, "no model 'other'", c.ModelConfig, pb.ModelConfigRequest(name='other'))
        request = ask(1)
        request.outputs.add(name='probabilities')
        close(floats(c.ModelInfer(request).raw_output_contents[0]), wanted(1))
        # The same bytes as over HTTP.
        body, headers = serve.binary_pictures(5)
        _, over_http, answer = s.ask('POST', serve.INFER, body, headers)
        equal(serve.binary_answer(over_http, answer)[1]['probabilities'], c.ModelInfer(ask(5)).raw_output_contents[0])


def test_types():
    """Each type there and back, typed and raw."""
    fields = {'BOOL': ('bool_contents', '?', [True, False]), 'INT8': ('int_contents', 'b', [-128, 127]), 'INT16': ('int_contents', 'h', [-9, 9]),
              'INT32': ('int_contents', 'i', [-2**31, 5]), 'INT64': ('int64_contents', 'q', [-2**63, 7]), 'UINT8': ('uint_contents', 'B', [0, 255]),
              'UINT16': ('uint_contents', 'H', [0, 65535]), 'UINT32': ('uint_contents', 'I', [0, 2**32 - 1]), 'UINT64': ('uint64_contents', 'Q', [0, 2**64 - 1]),
              'FP32': ('fp32_contents', 'f', [0.5, -3.0]), 'FP64': ('fp64_contents', 'd', [1e300, 0.1]), 'FP16': (None, 'e', [0.5, 65504.0]), 'BF16': (None, None, None),
              'BYTES': ('bytes_contents', None, [b'a', 'ümlaut'.encode()])}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in serve.TYPES.items():
            serve.repository(folder, **{name: serve.onnx('Identity', [('x', number, ['N'])], [('y', number, ['N'])])})
        with Server(folder) as s, s.client() as c:
            for name in serve.TYPES.values():
                member, code, values = fields[name]
                if code:
                    data = struct.pack('<2%s' % code, *values)
                elif values:
                    data = b''.join(struct.pack('<I', len(v)) + v for v in values)
                else:
                    data = b'\x80\x3f\x00\xc0'
                request = pb.ModelInferRequest(model_name=name, raw_input_contents=[data])
                request.inputs.add(name='x', datatype=name, shape=[2])
                equal(c.ModelInfer(request).raw_output_contents[0], data, name)
                request.ClearField('raw_input_contents')
                if not member:
                    refused(grpc.StatusCode.INVALID_ARGUMENT, 'raw_input_contents alone', c.ModelInfer, request)
                    continue
                getattr(request.inputs[0].contents, member).extend(values)
                equal(c.ModelInfer(request).raw_output_contents[0], data, name + ', typed')


def test_errors():
    """What is wrong is said with gRPC's codes, and the server goes on."""
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--request-limit', 1 << 20) as s, s.client() as c:
        code = grpc.StatusCode
        refused(code.NOT_FOUND, "no model 'other'", c.ModelInfer, pb.ModelInferRequest(model_name='other'))
        refused(code.NOT_FOUND, "no model 'a/b c'", c.ModelMetadata, pb.ModelMetadataRequest(name='a/b c'))
        refused(code.NOT_FOUND, "version 9", c.ModelReady, pb.ModelReadyRequest(name='model', version='9'))
        refused(code.INVALID_ARGUMENT, 'input', c.ModelInfer, pb.ModelInferRequest(model_name='model'))
        short = ask(0)
        short.raw_input_contents[0] = short.raw_input_contents[0][:-4]
        refused(code.INVALID_ARGUMENT, '', c.ModelInfer, short)
        both = ask(0, raw=False)
        both.raw_input_contents.append(b'')
        refused(code.INVALID_ARGUMENT, 'has contents', c.ModelInfer, both)
        surplus = ask(0)
        surplus.raw_input_contents.append(b'')
        refused(code.INVALID_ARGUMENT, 'found 2 raw_input_contents', c.ModelInfer, surplus)
        wrong = ask(0)
        wrong.inputs[0].shape[0] = 2**62
        refused(code.INVALID_ARGUMENT, '', c.ModelInfer, wrong)
        for where in 'request', 'input', 'output':
            for kind, value, words in ('uint64_param', 2**63, 'is 9223372036854775808; needed at most 9223372036854775807'), \
                    ('uint64_param', 2**64 - 1, 'needed at most'), ('double_param', float('nan'), 'finite'), (None, None, "'some' has no value"):
                wrong = ask(0)
                wrong.outputs.add(name='probabilities')
                parameter = {'request': wrong, 'input': wrong.inputs[0], 'output': wrong.outputs[0]}[where].parameters['some']
                if kind:
                    setattr(parameter, kind, value)
                refused(code.INVALID_ARGUMENT, words, c.ModelInfer, wrong)
        wrong = ask(0)
        wrong.parameters['timeout'].double_param = 20.5
        refused(code.INVALID_ARGUMENT, 'must be a whole number', c.ModelInfer, wrong)
        good = ask(0)  # parameters that nobody knows are passed over, of every kind
        good.parameters['a'].double_param, good.parameters['b'].uint64_param, good.parameters['timeout'].uint64_param = 0.5, 2**63 - 1, 2**63 - 1
        close(floats(c.ModelInfer(good).raw_output_contents[0]), wanted(0))
        refused(code.RESOURCE_EXHAUSTED, '', c.ModelInfer, ask(*[i % 8 for i in range(88)]))
        refused(code.NOT_FOUND, '', c.RepositoryModelLoad, pb.RepositoryModelLoadRequest(model_name='other'))
        for name in 'config', 'file:1/model.onnx':  # another model than the folder's
            load = pb.RepositoryModelLoadRequest(model_name='model')
            load.parameters[name].string_param = '{}'
            refused(code.INVALID_ARGUMENT, "the parameter '%s' is not supported" % name, c.RepositoryModelLoad, load)
        for elements in {'int_contents': [1] * 3072}, {'fp32_contents': [1] * 3072, 'int_contents': [1]}:
            wrong = ask(0)
            wrong.ClearField('raw_input_contents')
            for member, items in elements.items():
                getattr(wrong.inputs[0].contents, member).extend(items)
            refused(code.INVALID_ARGUMENT, 'needed all in fp32_contents', c.ModelInfer, wrong)
        garbage = c.channel.unary_unary('/inference.GRPCInferenceService/ModelInfer')
        refused(code.INVALID_ARGUMENT, 'no ModelInferRequest', garbage, b'\xff\xff\xff')
        c.RepositoryModelUnload(pb.RepositoryModelUnloadRequest(model_name='model'))
        check(not c.ModelReady(pb.ModelReadyRequest(name='model')).ready, 'unloaded')
        refused(code.UNAVAILABLE, 'not loaded', c.ModelInfer, ask(0))
        c.RepositoryModelLoad(pb.RepositoryModelLoadRequest(model_name='model'))
        close(floats(c.ModelInfer(ask(0)).raw_output_contents[0]), wanted(0))
    with tempfile.NamedTemporaryFile('w') as keys:
        keys.write('a key\n')
        keys.flush()
        with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--api-key', keys.name) as s, s.client() as c:
            check(c.ServerReady(pb.ServerReadyRequest()).ready, 'ready')
            refused(grpc.StatusCode.UNAUTHENTICATED, 'needed a key', c.ModelInfer, ask(0))
            c.ModelInfer(ask(0), metadata=[('authorization', 'Bearer a key')])
            c.ModelInfer(ask(0), metadata=[('x-api-key', 'a key')])


def test_health():
    """grpc.health.v1: ready once all is loaded, no longer when it ends; without a key."""
    check_call = lambda c, service='': c.channel.unary_unary('/grpc.health.v1.Health/Check')(b'\n' + bytes([len(service)]) + service.encode() if service else b'')
    serving, not_serving = b'\x08\x01', b'\x08\x02'
    with tempfile.NamedTemporaryFile('w') as keys:
        keys.write('a key\n')
        keys.flush()
        with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--api-key', keys.name, '--drain-delay', 2000) as s, s.client() as c:
            for service in '', 'inference.GRPCInferenceService':
                equal(check_call(c, service), serving, service)
            refused(grpc.StatusCode.NOT_FOUND, '', check_call, c, 'nothing')
            watch = c.channel.unary_stream('/grpc.health.v1.Health/Watch')(b'')
            equal(next(watch), serving, 'watched')
            s.process.send_signal(serve.signal.SIGTERM)
            equal(next(watch), not_serving, 'watched at the end')
            equal(check_call(c), not_serving, 'while it ends')
            s.process.wait(20)


def test_log():
    """Calls are in the log and in the metrics, those that could not be read, too."""
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--log', 'json', '--log-requests') as s, s.client() as c:
        c.ModelInfer(ask(0, id='a'))
        wrong = ask(0)
        wrong.parameters['some'].SetInParent()
        code_of(c.ModelInfer, wrong)
        code_of(c.channel.unary_unary('/inference.GRPCInferenceService/ModelInfer'), b'\xff\xff\xff')
        lines = [e for e in map(json.loads, s.logged().splitlines()) if e['event'] == 'request']
        equal([(e['status'], e['protocol'], e['path']) for e in lines],
              [(200, 'grpc', serve.INFER), (400, 'grpc', serve.INFER), (400, 'grpc', '/inference.GRPCInferenceService/ModelInfer')])
        check(all(re.match(r'127\.0\.0\.1:\d+$', e['peer']) for e in lines), lines)
        check("'some' has no value" in lines[1]['because'], lines[1])
        equal([s.metric('nnex_grpc_responses_total', '{code="%d"}' % code) for code in (200, 400)], [1, 2])
        equal(s.metric('nnex_inferences_total', '{model="model",version="1",code="400"}'), 1, 'of the model')
        taken = s.grpc_port
        out = subprocess.run([serve.NNEX, 'serve', '--port', '0', '--grpc-port', str(taken), '--log', 'json', os.path.join(serve.SHAPES, 'model.onnx')],
                             capture_output=True, text=True, timeout=60)
        lines = [json.loads(line) for line in out.stderr.splitlines()]
        check(lines[-1]['event'] == 'failed' and 'Address already in use' in lines[-1]['error'], lines)


def test_deadlines():
    """A deadline of the client's, or the server's own, ends what is asked; a client that goes gives its place up."""
    with tempfile.TemporaryDirectory() as folder:
        serve.repository(folder, slow=serve.SLOW)
        with Server(folder, '--threads', 1) as s, s.client() as c:
            request = pb.ModelInferRequest(model_name='slow', raw_input_contents=[b'\0' * (24 * serve.SIDE * serve.SIDE)] * 2)
            for name in 'ab':
                request.inputs.add(name=name, datatype='FP32', shape=[6, serve.SIDE, serve.SIDE])
            refused(grpc.StatusCode.DEADLINE_EXCEEDED, '', c.ModelInfer, request, timeout=0.05)
            request.parameters['timeout'].int64_param = 20_000
            refused(grpc.StatusCode.DEADLINE_EXCEEDED, '', c.ModelInfer, request)
            request.parameters['timeout'].uint64_param = 20_000
            refused(grpc.StatusCode.DEADLINE_EXCEEDED, '', c.ModelInfer, request)
            del request.parameters['timeout']
            pending = c.ModelInfer.future(request)
            time.sleep(0.1)
            pending.cancel()
            in_flight = lambda: s.metric('nnex_inferences_in_flight', '{model="slow",version="1"}')
            check(serve.eventually(lambda: in_flight() == 0), 'in flight')


def test_drain():
    """SIGTERM: HTTP and gRPC end within one --drain-timeout; exit code 1 where either has cut what it took."""
    with tempfile.TemporaryDirectory() as folder:
        # Ten seconds of one fast thread, so that what is in flight is cut.
        os.makedirs(os.path.join(folder, 'long'))
        with open(os.path.join(folder, 'long', 'graph.nnef'), 'w') as f:
            f.write('version 1.0;\ngraph long(y0) -> (y1000) {\n  y0 = external(shape = [1024,1024]);\n')
            f.writelines('  y%d = matmul(y%d, y0);\n' % (i + 1, i) for i in range(1000))
            f.write('}\n')
        request = pb.ModelInferRequest(model_name='long', raw_input_contents=[b'\0' * (4 << 20)])
        request.inputs.add(name='y0', datatype='FP32', shape=[1024, 1024])
        body, headers = serve.binary_request([('y0', 'FP32', [1024, 1024], b'\0' * (4 << 20))])
        for over_http in True, False:
            with Server(folder, '--threads', 1, '--drain-delay', 200, '--drain-timeout', 2) as s, s.client() as c:
                connection = s.connect()
                if over_http:
                    connection.request('POST', '/v2/models/long/infer', body, headers)
                calls = [c.ModelInfer.future(request) for _ in range(2)]
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline and s.metric('nnex_inferences_in_flight', '{model="long",version="1"}') < 2 + over_http:
                    time.sleep(0.02)
                s.process.terminate()
                began = time.monotonic()
                equal(s.process.wait(30), 1, 'exit code')
                took = time.monotonic() - began
                connection.close()
                check(2 < took < 3.5, 'draining took %.1f s; needed 2.2' % took)
                check(all(call.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE) for call in calls), [call.code() for call in calls])
                s.process.returncode = 0  # that they were cut was wanted


def test_connections():
    """Connections that begin nothing, stop in the middle or have no calls end; others go on."""
    preface = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
    settings = bytes(3) + b'\x04' + bytes(5)
    literal = lambda name, value: b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value
    head = b''.join(literal(*h) for h in ((b':method', b'POST'), (b':scheme', b'http'), (b':path', b'/inference.GRPCInferenceService/ModelInfer'), (b':authority', b'a'),
                                          (b'content-type', b'application/grpc'), (b'te', b'trailers')))
    half_a_call = bytes([0, 0, len(head)]) + b'\x01\x04\0\0\0\1' + head + b'\0\x10\0\0\0\0\0\0\1\0\0\0\x20\0abc'
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--client-timeout', 1, '--idle-timeout', 2) as s, s.client() as c:
        check(c.ServerLive(pb.ServerLiveRequest()).live, 'live')
        files = lambda: len(os.listdir('/proc/%d/fd' % s.process.pid))
        before, stalled = files(), []
        for data in b'', preface[:10], preface, preface + settings, preface + settings + b'\0\0\x10\x01\4\0\0\0\1abc', preface + settings + half_a_call:
            sock = socket.create_connection(('127.0.0.1', s.grpc_port), 20)
            sock.sendall(data)
            stalled.append(sock)
        for sock in stalled:
            serve.read_all(sock)  # to its end
            sock.close()
        check(serve.eventually(lambda: files() <= before), (before, files()))
        close(floats(c.ModelInfer(ask(2)).raw_output_contents[0]), wanted(2))


def test_crowd():
    """As many connections as may be, and as many files: others are closed at once, and gRPC listens on."""
    crowd = lambda s, n: [socket.create_connection(('127.0.0.1', s.grpc_port), 20) for _ in range(n)]
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--connections', 3) as s:
        with s.client() as c:
            close(floats(c.ModelInfer(ask(2)).raw_output_contents[0]), wanted(2))
            kept, over = crowd(s, 2), crowd(s, 1)[0]
            equal(serve.read_all(over), b'', 'one too many')
            close(floats(c.ModelInfer(ask(1)).raw_output_contents[0]), wanted(1))
            equal([s.metric('nnex_grpc_connections' + which) for which in ('', '_total', '_refused_total')], [3, 3, 1])
        for sock in kept:
            sock.close()
        check(serve.eventually(lambda: s.metric('nnex_grpc_connections') == 0), 'closed')
        with s.client() as c:
            close(floats(c.ModelInfer(ask(3)).raw_output_contents[0]), wanted(3))
    few = lambda: serve.resource.setrlimit(serve.resource.RLIMIT_NOFILE, (80, 80))
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), preexec_fn=few) as s:
        check('connections limited connections=13' in s.logged(), s.logged())
        everybody = crowd(s, 150)
        time.sleep(0.3)
        for sock in everybody:
            sock.close()
        with s.client([('grpc.initial_reconnect_backoff_ms', 100)]) as c:
            close(floats(c.ModelInfer(ask(3), wait_for_ready=True, timeout=10).raw_output_contents[0]), wanted(3))


def test_compressed():
    """A message that gRPC has compressed is refused, and takes no memory for what it would become."""
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--request-limit', 1 << 20) as s, s.client() as c:
        c.ModelInfer(ask(0))
        peak, over = [s.memory()], threading.Event()

        def watch():
            while not over.wait(0.002):
                peak.append(s.memory())
        watcher = threading.Thread(target=watch)
        watcher.start()
        for algorithm in grpc.Compression.Gzip, grpc.Compression.Deflate:
            refused(grpc.StatusCode.UNIMPLEMENTED, 'ompression algorithm', c.ModelInfer, ask(0), compression=algorithm)
            with grpc.insecure_channel('127.0.0.1:%d' % s.grpc_port, compression=algorithm) as channel:
                code_of(channel.unary_unary('/inference.GRPCInferenceService/ModelInfer'), bytes(256 << 20), timeout=60)
        over.set()
        watcher.join()
        check(max(peak) < peak[0] + (64 << 20), 'from %d to %d MiB' % (peak[0] >> 20, max(peak) >> 20))
        close(floats(c.ModelInfer(ask(1)).raw_output_contents[0]), wanted(1))


def test_many():
    """Many calls at once, over both protocols, each with its own answer; SIGTERM answers what was begun."""
    with Server(os.path.join(serve.SHAPES, 'model.onnx'), '--drain-delay', 300) as s:
        faults, answered, ended = [], [0] * 8, threading.Event()

        def caller(k):
            with s.client([('grpc.use_local_subchannel_pool', 1)]) as c:
                i = k
                while True:
                    try:
                        close(floats(c.ModelInfer(ask(i % 8)).raw_output_contents[0]), wanted(i % 8))
                        answered[k] += 1
                    except grpc.RpcError as e:
                        # What comes when calls are no longer taken is not begun; gRPC calls that one or the other.
                        if not (ended.is_set() and e.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)):
                            faults.append((e.code(), e.details()))
                        return
                    except AssertionError as e:
                        faults.append(e)
                        return
                    i += 3
        threads = [threading.Thread(target=caller, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for i in range(40):
            close(s.json('POST', serve.INFER, serve.json_request(i % 8))['outputs'][0]['data'], wanted(i % 8))
        time.sleep(0.5)
        ended.set()
        s.process.terminate()
        equal(s.process.wait(30), 0, 'exit code')
        for t in threads:
            t.join()
        check(not faults, faults[:3])
        check(min(answered) > 5, answered)


if __name__ == '__main__':
    sys.exit(serve.main(globals()))
