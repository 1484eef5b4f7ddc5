/** The module's code: where it is found, compiled once. */

export type WasmSource = string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module | Response;

const besides = (): URL => new URL('./nnex.wasm', import.meta.url);

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source !== 'string' && !(source instanceof URL) && !(typeof Response === 'function' && source instanceof Response))
    return WebAssembly.compile(source as BufferSource);
  if (isNode() && (source instanceof URL ? source.protocol === 'file:' : typeof source === 'string' && !/^https?:/.test(source))) {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(source as URL | string));
  }
  const response = source instanceof Response ? source : await fetch(source as URL | string);
  if (!response.ok) throw new Error(`nnex: ${response.url}: ${response.status} ${response.statusText}; needed nnex.wasm`);
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node !== undefined;
}

/** Compiles when first asked, and again where that failed. */
export function codeOf(source?: WasmSource): () => Promise<WebAssembly.Module> {
  let code: Promise<WebAssembly.Module> | undefined;
  return () => {
    code ??= compile(source ?? besides()).catch((error: unknown) => {
      code = undefined;
      throw error;
    });
    return code;
  };
}
