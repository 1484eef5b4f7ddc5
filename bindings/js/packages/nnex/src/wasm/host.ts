/** What an instance of a module asks of its host: clocks, chance, threads, and two streams for what a failing program says. */

const noSystemCall = 52;
const noFile = 8;

// (module (func (export "f") unreachable))
const kTrap = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11);
/** Ends what runs in an instance. Only what WebAssembly itself throws passes its handlers by; others would be cleaned up after, in a program that is over. */
export function trap(message: string): never {
  try {
    (new WebAssembly.Instance(new WebAssembly.Module(kTrap)).exports.f as () => void)();
  } catch (error) {
    (error as Error).message = message;
    throw error;
  }
  throw new Error(message);
}

export interface Host {
  view(): DataView;
  /** Milliseconds on the clock that all threads of an instance share. */
  now(): number;
  /** Threads that a run may use. */
  readonly threads: number;
  /** Begins a thread; whether there is one to be had. */
  begin(start: number, stack: number): boolean;
  /** Traps where one of the threads has failed: asked again and again by who waits for them. */
  check(): void;
}

function functionsOf({ view, now, threads, begin, check }: Host): Record<string, (...args: never[]) => unknown> {
  const decoder = new TextDecoder();
  return {
    clock_time_get: (clock: number, _precision: bigint, out: number) => {
      check();
      const milliseconds = clock === 0 ? Date.now() : now();
      view().setBigUint64(out, BigInt(Math.round(milliseconds * 1e6)), true);
      return 0;
    },
    random_get: (at: number, size: number) => {
      const bytes = new Uint8Array(size);
      for (let done = 0; done < size; done += 65536) crypto.getRandomValues(bytes.subarray(done, done + 65536));
      new Uint8Array(view().buffer).set(bytes, at);
      return 0;
    },
    environ_sizes_get: (count: number, size: number) => {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write: (_file: number, parts: number, count: number, out: number) => {
      const memory = view();
      let text = '', size = 0;
      for (let i = 0; i < count; ++i) {
        const length = memory.getUint32(parts + 8 * i + 4, true);
        text += decoder.decode(new Uint8Array(memory.buffer, memory.getUint32(parts + 8 * i, true), length).slice());  // of memory that is shared too
        size += length;
      }
      if (text.trim()) console.error(text.trimEnd());
      memory.setUint32(out, size, true);
      return 0;
    },
    fd_read: () => noFile, fd_close: () => noFile, fd_seek: () => noFile,
    proc_exit: (code: number) => trap(`it ended itself with ${code}`),
    emscripten_notify_memory_growth: () => undefined,
    emscripten_num_logical_cores: () => threads,
    nnex_begin_thread: (start: number, stack: number) => Number(begin(start, stack)),
  };
}

/** All that a module imports. */
export function importsOf(code: WebAssembly.Module, host: Host, memory: WebAssembly.Memory): WebAssembly.Imports {
  const functions = functionsOf(host);
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module, name, kind } of WebAssembly.Module.imports(code)) {
    const absent = module === 'env' ? -noSystemCall : noSystemCall;
    const given = kind === 'memory' ? memory : kind === 'function' ? (functions[name] as WebAssembly.ImportValue | undefined) ?? (() => absent) : undefined;
    if (given === undefined) throw new Error(`the module wants the ${kind} ${module}.${name}, which nobody has`);
    (imports[module] ??= {})[name] = given;
  }
  return imports;
}
