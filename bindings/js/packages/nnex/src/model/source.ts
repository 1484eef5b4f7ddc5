/** Where a model comes from: a path, bytes, several files by name. */
import { NnexError } from './error.js';
import { found, quoted, tagOf } from './found.js';
import type { RawSource } from './native.js';
import { checkedPath } from './options.js';

declare const NNEX_PAGE: boolean | undefined;

/** Bytes of a file. */
export type FileBytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/**
 * A model of any standard:
 * - a path or a `file:` URL of a file, a folder or an archive (where there are files: in Node); in a page an address, which is fetched;
 * - the bytes of a file or archive, which are copied at the call; a Blob or File; a Response of fetch();
 * - several files by their names, as a Map or an object: CVM's symbol and params, an .onnx file with its external tensors,
 *   graph.nnef with its variables, a .webnn text with its weights. Names may have folders: what a model names lies beside it.
 */
export type Source =
  | string | URL | FileBytes | Blob | Response
  | ReadonlyMap<string, FileBytes | Blob> | { readonly [name: string]: FileBytes | Blob };

/** The bytes where they lie. */
export function bytesOf(from: FileBytes): Uint8Array {
  return ArrayBuffer.isView(from) ? new Uint8Array(from.buffer, from.byteOffset, from.byteLength) : new Uint8Array(from);
}
/** The same, of what a call was given: a TypeError where that has no memory any more. */
function heldBytes(call: string, file: string, from: FileBytes): Uint8Array {
  try {
    return bytesOf(from);
  } catch {
    throw new TypeError(`${call}: ${file}found ${found(from)} whose memory was transferred or shrunk; needed bytes`);
  }
}
function isBytes(x: unknown): x is FileBytes {
  return ArrayBuffer.isView(x) || tagOf(x) === 'ArrayBuffer' || tagOf(x) === 'SharedArrayBuffer';
}

function isBlob(x: unknown): x is Blob {
  const tag = tagOf(x);
  return tag === 'Blob' || tag === 'File';
}

const kNeeded = 'a path, bytes, a Blob, a Response, or files by their names';
/** One of Node's own, which is an object of numbers and functions besides. */
const isStream = (x: unknown): boolean => typeof (x as { pipe?: unknown } | null)?.pipe === 'function';
/** Whether an object is one of members alone, of any realm: instances of classes have members that are no files. */
function isPlain(x: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(x);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
/** What else helps where a value is none of these. */
function hint(x: unknown): string {
  if (typeof (x as { readFile?: unknown } | null)?.readFile === 'function') return ' (of a FileHandle: await handle.readFile())';
  if (typeof (x as { then?: unknown } | null)?.then === 'function') return ' (a promise is awaited first)';
  return tagOf(x) === 'ReadableStream' ? ' (the Response itself, or await new Response(stream).arrayBuffer())' : '';
}

/** Text that begins as addresses do is one: folders have no names like "https:". */
function addressOf(place: string | URL): URL | undefined {
  if (typeof place !== 'string') return place;
  return /^file:|^[a-z][a-z\d+.-]+:\/\//i.test(place) ? new URL(place) : undefined;
}
/** The path of a `file:` URL; `other` says what is done with URLs of other kinds. */
function pathOf(place: string | URL, call: string, other: (url: URL) => string): string {
  const url = addressOf(place);
  if (!url) return checkedPath(place as string, call);
  if (url.protocol !== 'file:') throw new TypeError(`${call}: ${other(url)}`);
  if (url.hostname) throw new TypeError(`${call}: found ${found(url.href)}, which names the host ${found(url.hostname)}; needed a file: URL without one`);
  if (/%2f/i.test(url.pathname)) throw new TypeError(`${call}: found ${found(url.href)}; needed a file: URL whose path has no / as %2F`);
  let path: string;
  try {
    path = decodeURIComponent(url.pathname);
  } catch {
    throw new TypeError(`${call}: found ${found(url.href)}; needed bytes of UTF-8 behind each %`);
  }
  return checkedPath(path, call);
}
/** Where a file is to be written, by its path or `file:` URL; undefined for anything else. Throws a TypeError for other URLs. */
export function targetPath(call: string, to: unknown): string | undefined {
  if (typeof to !== 'string' && tagOf(to) !== 'URL') return undefined;
  return pathOf(to as string | URL, call, ({ href }) => `found ${found(href)}; needed a path or a file: URL`);
}

/**
 * What the engine reads: bytes of the caller's where they lie, or a promise of bytes that are nobody else's. `name` is for messages, and its
 * ending tells the format where bytes do not; `signal` ends what is fetched. Throws a TypeError for what is no source.
 */
export function rawSource(call: string, source: Source, name?: string, signal?: AbortSignal): RawSource | Promise<RawSource> {
  if (isBytes(source)) return { name: name ?? 'the model', bytes: heldBytes(call, '', source) };
  const tag = tagOf(source);
  if (inPage() && (typeof source === 'string' || tag === 'URL')) return fromAddress(String(source), name, signal);
  if (typeof source === 'string' || tag === 'URL')
    return { path: pathOf(source as string | URL, call, ({ protocol }) => `a model from ${protocol} is fetched by the caller: ${call}(await fetch(url))`) };
  if (isBlob(source)) return fromBlob(source, name);
  if (tag === 'Response') return fromResponse(source as Response, name);
  if (isStream(source)) throw new TypeError(`${call}: found a stream; needed ${kNeeded} (await buffer(stream), of node:stream/consumers)`);
  const plain = tag === 'Object' && isPlain(source);
  const files: [string, FileBytes | Blob][] = tag === 'Map' ? [...(source as Map<string, FileBytes>)] : plain ? Object.entries(source as Record<string, FileBytes>) : [];
  if (files.length === 0) throw new TypeError(`${call}: found ${found(source)}${plain || tag === 'Map' ? ' without files' : ''}; needed ${kNeeded}${hint(source)}`);
  return named(files.map(([file, held]) => {
    if (typeof file !== 'string') throw new TypeError(`${call}: found ${found(file)} as the name of a file; needed text`);
    if (!isBytes(held) && !isBlob(held)) throw new TypeError(`${call}: file ${quoted(file)}: found ${found(held)}; needed bytes or a Blob`);
    return [file, isBlob(held) ? held : heldBytes(call, `file ${quoted(file)}: `, held)];
  }), name ?? 'the model');
}
/** Files by name. Where some have to be read first, the others' bytes are copied at the call. */
function named(files: readonly [string, Uint8Array | Blob][], name: string): RawSource | Promise<RawSource> {
  if (!files.some(([, held]) => isBlob(held))) return { name, files: files as [string, Uint8Array][] };
  const reading = files.map(async ([file, held]): Promise<[string, Uint8Array]> => [file, isBlob(held) ? await contentOf(held, `cannot read '${file}'`) : held.slice()]);
  return Promise.all(reading).then((read) => ({ name, files: read, own: true }));
}
async function fromBlob(blob: Blob & { name?: string }, name: string | undefined): Promise<RawSource> {
  const said = name ?? blob.name ?? 'the model';
  return { name: said, bytes: await contentOf(blob, `cannot read '${said}'`), own: true };
}
/** What is read of a body. Errors: 'unreadable', where it breaks off; who aborts it gets the reason of that. */
async function contentOf(body: Blob | Response, failed: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await body.arrayBuffer());
  } catch (error) {
    const { name, message } = error as Error;
    throw name === 'AbortError' ? error : new NnexError('unreadable', `${failed}: ${message}`);
  }
}
async function fromResponse(response: Response, name: string | undefined): Promise<RawSource> {
  const file = response.url ? new URL(response.url).pathname.split('/').pop() : undefined;
  return { name: name ?? (file || 'the model'), bytes: await bodyOf(response), own: true };
}
/** What a server answered. Errors: 'unreadable', where it says that it has none or breaks off. */
export async function bodyOf(response: Response): Promise<Uint8Array> {
  const { ok, url, status, statusText } = response, failed = url ? `cannot fetch '${url}'` : 'the response';
  if (!ok) throw new NnexError('unreadable', `${failed}: ${`${status} ${statusText}`.trim()}`);
  return contentOf(response, failed);
}
/** Whether strings are addresses: a page has no files. */
const inPage = (): boolean => typeof NNEX_PAGE === 'boolean' && NNEX_PAGE && (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === undefined;
/** A model at an address, which may be relative to the page's. */
async function fromAddress(address: string, name: string | undefined, signal: AbortSignal | undefined): Promise<RawSource> {
  const { pathname } = new URL(address, globalThis.document?.baseURI ?? globalThis.location?.href);
  return { name: name ?? (pathname.split('/').pop() || 'the model'), bytes: await fetched(address, signal), own: true };
}
/** What an address has. Errors: 'unreadable', where there is no answer either. */
export async function fetched(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(address, { signal: signal ?? null }).catch(({ message }: Error): never => { throw new NnexError('unreadable', `cannot fetch '${address}': ${message}`); });
  return bodyOf(response);
}

/** The source with bytes of its own. */
export function copyOf(source: RawSource): RawSource {
  if ('path' in source) return source;
  if ('bytes' in source) return { name: source.name, bytes: source.bytes.slice(), own: true };
  return { name: source.name, files: source.files.map(([file, bytes]) => [file, bytes.slice()]), own: true };
}
