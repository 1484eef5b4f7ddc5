/** Node's own modules, for scripts that pages have too. */

declare const NNEX_PAGE: boolean;

interface Modules {
  readonly buffer: typeof import('node:buffer');
  readonly 'fs/promises': typeof import('node:fs/promises');
  readonly os: typeof import('node:os');
  readonly path: typeof import('node:path');
  readonly worker_threads: typeof import('node:worker_threads');
}
// Each by its name, which bundlers can read.
const kModules: { readonly [Name in keyof Modules]: () => Promise<Modules[Name]> } = {
  buffer: () => import('node:buffer'), 'fs/promises': () => import('node:fs/promises'), os: () => import('node:os'), path: () => import('node:path'), worker_threads: () => import('node:worker_threads'),
};
interface Process {
  getBuiltinModule?(name: string): unknown;
}

/** In scripts for pages without import(), which bundlers for pages follow and do not find. */
export async function builtin<Name extends keyof Modules>(name: Name): Promise<Modules[Name]> {
  if (!NNEX_PAGE) return kModules[name]();
  const { process } = globalThis as { process?: Process };
  const found = process?.getBuiltinModule?.(`node:${name}`);
  if (!found) throw new Error(`nnex: this host has no module '${name}'; needed Node.js 20.16 or later for the scripts of pages`);
  return found as Modules[Name];
}
