/** Node's own modules, for scripts that pages have too. */

declare const NNEX_PAGE: boolean;

interface Modules {
  readonly 'fs/promises': typeof import('node:fs/promises');
  readonly os: typeof import('node:os');
  readonly path: typeof import('node:path');
  readonly worker_threads: typeof import('node:worker_threads');
}
interface Process {
  getBuiltinModule?(name: string): unknown;
}

/** In scripts for pages without import(), which bundlers for pages follow and do not find. */
export async function builtin<Name extends keyof Modules>(name: Name): Promise<Modules[Name]> {
  if (!NNEX_PAGE) return import(`node:${name}`) as Promise<Modules[Name]>;
  const { process } = globalThis as { process?: Process };
  const found = process?.getBuiltinModule?.(`node:${name}`);
  if (!found) throw new Error(`nnex: this host has no module '${name}'; needed Node.js 20.16 or later for the scripts of pages`);
  return found as Modules[Name];
}
