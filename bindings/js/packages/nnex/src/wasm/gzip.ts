/** gzip by the host's own streams: the module has no zlib. */

import { modelError } from './wire.js';

export const isGzip = (bytes: Uint8Array): boolean => bytes.length > 2 && bytes[0] === 0x1f && bytes[1] === 0x8b;

/** All that a stream makes of the bytes. Throws at more than `most`. */
async function through(bytes: Uint8Array, stream: GenericTransformStream, most: number): Promise<Uint8Array | undefined> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > most) {
      await reader.cancel();
      return undefined;
    }
    parts.push(next.value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Errors: 'unreadable' (broken, cut off), 'limit reached' (more than `most` bytes). */
export async function gunzip(bytes: Uint8Array, name: string, most: number): Promise<Uint8Array> {
  let made: Uint8Array | undefined;
  try {
    made = await through(bytes, new DecompressionStream('gzip'), most);
  } catch (error) {
    throw modelError('unreadable', name, `broken or cut-off gzip: ${(error as Error).message}`);
  }
  if (!made) throw modelError('limit reached', name, `it unpacks to more than ${most} bytes; options archiveLimit and archiveRatio raise what an archive may unpack to`);
  return made;
}

export async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  return (await through(bytes, new CompressionStream('gzip'), Infinity))!;
}
