/** The page's side of messages with a worker. */

import type { Answer, Command, Id } from './remote.js';
import { namedError } from './wire.js';

/** A worker, wherever it is. */
export interface Port {
  post(commands: readonly Command[], transfer: ArrayBuffer[]): void;
  listen(answered: (answer: Answer) => void, failed: (message: string) => void): void;
  /** Whether an answer is awaited from now on, where a program ends that awaits none. */
  await?(yes: boolean): void;
  /** A command's answer, for which this thread waits, where it may. */
  now?(command: Command, transfer: ArrayBuffer[]): Answer;
  end(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** What ends with its worker. */
interface Losable {
  lose(message: string): void;
}

/** The bytes, in a buffer that may be given away. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

function errorOf({ name, message, members }: Answer & { say: 'failed' }): Error {
  return Object.assign(namedError(name, message), members);
}

/** The page's end of a worker. */
export class Link {
  private commands: Command[] = [];
  private transfer: ArrayBuffer[] = [];
  private flushing = false;
  private lastId = 0;
  private lastRequest = 0;
  private readonly waiting = new Map<number, Waiting>();
  private readonly contexts = new Map<Id, WeakRef<Losable>>();
  private readonly free = new FinalizationRegistry<Id>((id) => this.send({ do: 'free', ids: [id] }));
  private ended = false;
  failed: string | undefined;

  constructor(private readonly port: Port) {
    port.listen((answer) => this.hear(answer), (message) => this.fail(message));
  }

  id(): Id {
    return ++this.lastId;
  }
  /** The worker lets an object go when the page did. */
  freeWith(object: object, id: Id): void {
    this.free.register(object, id);
  }
  /** `bytes`: those of the command, which are given away. */
  send(command: Command, ...bytes: readonly Uint8Array[]): void {
    this.commands.push(command);
    for (const { buffer } of bytes) this.transfer.push(buffer as ArrayBuffer);
    if (this.flushing) return;
    this.flushing = true;
    queueMicrotask(() => this.flush());
  }
  request(make: (request: number) => Command, ...bytes: readonly Uint8Array[]): { request: number; result: Promise<unknown> } {
    const request = ++this.lastRequest;
    const result = new Promise<unknown>((resolve, reject) => this.waiting.set(request, { resolve, reject }));
    if (this.waiting.size === 1) this.port.await?.(true);
    if (this.failed) this.reject(request, namedError('InvalidStateError', this.failed));
    else this.send(make(request), ...bytes);
    return { request, result };
  }
  /** A command's answer at once; undefined where nobody may wait for one. */
  now(command: Command, ...bytes: readonly Uint8Array[]): { value: unknown } | undefined {
    if (!this.port.now) return undefined;
    if (this.failed) throw namedError('InvalidStateError', this.failed);
    this.flush();
    const answer = this.port.now(command, bytes.map(({ buffer }) => buffer as ArrayBuffer));
    if (answer.say === 'failed') throw errorOf(answer);
    return { value: (answer as Answer & { say: 'done' }).value };
  }
  /** Rejects a request whose answer will not count. */
  reject(request: number, error: Error): void {
    this.taken(request)?.reject(error);
  }
  join(id: Id, context: Losable): void {
    this.contexts.set(id, new WeakRef(context));
  }
  leave(id: Id): void {
    this.contexts.delete(id);
  }
  get idle(): boolean {
    return this.contexts.size === 0;
  }
  end(): void {
    if (this.ended) return;
    this.flush();
    this.ended = true;
    this.port.end();
  }

  private flush(): void {
    this.flushing = false;
    if (this.commands.length === 0) return;
    const { commands, transfer } = this;
    this.commands = [];
    this.transfer = [];
    if (!this.failed) this.port.post(commands, transfer);
  }
  private taken(request: number): Waiting | undefined {
    const waiting = this.waiting.get(request);
    if (this.waiting.delete(request) && this.waiting.size === 0) this.port.await?.(false);
    return waiting;
  }
  private hear(answer: Answer): void {
    if (answer.say === 'lost') return this.contexts.get(answer.context)?.deref()?.lose(answer.message);
    const waiting = this.taken(answer.request);
    if (answer.say === 'done') waiting?.resolve(answer.value);
    else waiting?.reject(errorOf(answer));
  }
  private fail(message: string): void {
    this.failed = `the worker failed: ${message}`;
    for (const request of [...this.waiting.keys()]) this.reject(request, namedError('InvalidStateError', this.failed));
    for (const context of [...this.contexts.values()]) context.deref()?.lose(this.failed);
  }
}
