// npm packages that tests use and that are no part of ours: in a folder beside the system's other temporary ones.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = process.env.NNEX_CLIENTS ?? join(tmpdir(), 'nnex-clients');

/** Installs packages ("name@version") once, each set in a folder of its own; its path, or what npm says against it. */
export function installed(...packages) {
  const place = join(folder, packages.join('+').replace(/[^\w.+@-]/g, '_'));
  if (existsSync(join(place, 'done'))) return { place };
  try {
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{"private": true}\n');
    execFileSync('npm', ['install', '--prefix', place, '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--no-progress', ...packages], { stdio: ['ignore', 'ignore', 'pipe'] });
    writeFileSync(join(place, 'done'), '');
    return { place };
  } catch (error) {
    return { missing: `npm cannot install ${packages.join(', ')}: ${String(error.stderr ?? error.message).trim().split('\n').at(-1)}` };
  }
}

/** What `import name` would load from there. */
export const within = (place, name) => createRequire(join(place, 'package.json')).resolve(name);
