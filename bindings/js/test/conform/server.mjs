// Serves folders on the loopback interface, to browsers of ours alone.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const types = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.cjs': 'text/javascript',
  '.json': 'application/json', '.wasm': 'application/wasm',
};

/**
 * `roots`: the folder, file or text behind each first part of a path. `isolated`: with the headers that give pages threads; `shared`: with the one
 * that lets pages of other origins import modules. {port, close()}.
 */
export async function serve(roots, { isolated = false, shared = false } = {}) {
  const server = createServer(async (request, response) => {
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    if (shared) response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Cache-Control', 'no-store');
    const [, first, rest] = /^\/([^/?]*)\/?([^?]*)/.exec(decodeURIComponent(request.url));
    const root = roots.get(first);
    const inside = normalize(rest);
    const path = root && (root.path && rest ? join(root.path, inside) : root.path);
    const found = path && !inside.startsWith('..') && await stat(path).then((s) => s.isFile(), () => false);
    if (root?.text !== undefined) response.setHeader('Content-Type', types[extname(first)] ?? 'text/plain').end(root.text);
    else if (found) createReadStream(path).pipe(response.setHeader('Content-Type', types[extname(path)] ?? 'application/octet-stream'));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}
