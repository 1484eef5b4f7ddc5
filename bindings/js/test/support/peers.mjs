/**
 * Packages of others that tests compare with or drive: installed once into a scratch folder (NNEX_PEERS, or one beside other temporary
 * files), no script of theirs is run.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const folder = process.env.NNEX_PEERS || join(tmpdir(), 'nnex-peers');

function there(name, version) {
  const file = join(folder, 'node_modules', name, 'package.json');
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version;
}

/** Installs packages ({name: version}). Returns undefined, or why they are not there. */
export function missing(packages) {
  const wanted = Object.entries(packages).filter(([name, version]) => !there(name, version));
  if (wanted.length === 0) return undefined;
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  try {
    // One at a time: npm removes what another one has just put there.
    execFileSync('flock', [join(folder, '.lock'), 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', ...wanted.map(([name, version]) => `${name}@${version}`)], {
      cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: 600_000,
    });
  } catch (error) {
    return `npm cannot install ${wanted.map(([name]) => name).join(', ')}: ${String(error.stderr || error.message).trim().split('\n')[0]}`;
  }
  return undefined;
}
