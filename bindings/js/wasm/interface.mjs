// What the scripts of the package and nnex.wasm must agree in: the sources of the module's exports, as one number. The module has it in a section of
// its own (alone.mjs), scripts where they are bundled (../scripts/bundle.mjs); packages/nnex/src/wasm/code.ts compares them.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

export const kSection = 'nnex.interface';

export function interfaceOf(folder = new URL('.', import.meta.url)) {
  const all = createHash('sha256');
  const files = readdirSync(folder).filter((name) => /\.(cpp|h)$/.test(name)).sort();
  for (const name of [...files, '../remedies.h']) all.update(readFileSync(new URL(name, folder)));
  return all.digest('hex').slice(0, 16);
}
