/** Where a model comes from: a path, bytes, several files by name. */
import type { RawSource } from './native.js';

/** Bytes of a file. */
export type FileBytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/**
 * A model of any standard:
 * - a path or a `file:` URL of a file, a folder or an archive (where there are files: in Node);
 * - the bytes of a file or archive, which are copied; a Blob or File; a Response of fetch();
 * - several files by their names, as a Map or an object: CVM's symbol and params, an .onnx file with its external tensors,
 *   graph.nnef with its variables, a .webnn text with its weights.
 */
export type Source =
  | string | URL | FileBytes | Blob | Response
  | ReadonlyMap<string, FileBytes> | { readonly [name: string]: FileBytes };

/** The bytes as they are now. Memory that other threads share is read by the engine, which copies it. */
export function bytesOf(from: FileBytes): Uint8Array {
  return ArrayBuffer.isView(from) ? new Uint8Array(from.buffer, from.byteOffset, from.byteLength) : new Uint8Array(from);
}
function tagOf(x: unknown): string {
  return Object.prototype.toString.call(x).slice(8, -1);
}
function isBytes(x: unknown): x is FileBytes {
  return ArrayBuffer.isView(x) || tagOf(x) === 'ArrayBuffer' || tagOf(x) === 'SharedArrayBuffer';
}

function pathOf(url: URL): string {
  if (url.protocol !== 'file:') throw new TypeError(`a model from ${url.protocol} is fetched by the caller: load(await fetch(url))`);
  return decodeURIComponent(url.pathname);
}

/** Throws a TypeError for what is none of these. `name` is for messages, and its ending tells the format where bytes do not. */
export async function rawSource(source: Source, name?: string): Promise<RawSource> {
  if (typeof source === 'string') return source.startsWith('file:') ? { path: pathOf(new URL(source)) } : { path: source };
  if (isBytes(source)) return { name: name ?? 'the model', bytes: bytesOf(source) };
  if (tagOf(source) === 'URL') return { path: pathOf(source as URL) };
  if (tagOf(source) === 'Blob' || tagOf(source) === 'File') {
    const blob = source as Blob & { name?: string };
    return { name: name ?? blob.name ?? 'the model', bytes: new Uint8Array(await blob.arrayBuffer()) };
  }
  if (tagOf(source) === 'Response') {
    const response = source as Response;
    if (!response.ok) throw new TypeError(`${response.url}: ${response.status} ${response.statusText}`);
    const file = response.url ? new URL(response.url).pathname.split('/').pop() : undefined;
    return { name: name ?? (file || 'the model'), bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  if (typeof source !== 'object' || source === null) throw new TypeError(`load: found ${source === null ? 'null' : `a ${typeof source}`}; needed a path, bytes, or files by their names`);
  const files = source instanceof Map ? [...(source as Map<string, FileBytes>)] : Object.entries(source as Record<string, FileBytes>);
  return {
    name: name ?? 'the model',
    files: files.map(([file, bytes]) => {
      if (!isBytes(bytes)) throw new TypeError(`file '${file}' of the model is no bytes`);
      return [file, bytesOf(bytes)];
    }),
  };
}
