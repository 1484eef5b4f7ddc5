// short.mjs WHAT: one call that needs 400 MB. Prints the KB of address space that the process has before it, and what became of the call; with
// "measure" behind WHAT the former alone.
import { readFileSync } from 'node:fs';
import { load, ml } from 'nnex';
import { identity } from '../support/onnx-writer.mjs';

const bytes = 400e6;
const context = await ml.createContext();
const tensorOf = (length) => context.createTensor({ dataType: 'uint8', shape: [length], readable: true });
await context.readTensor(await tensorOf(4e6));
const calls = {
  read: async () => {
    const tensor = await tensorOf(bytes);
    return () => context.readTensor(tensor);
  },
  readInto: async () => {
    const [tensor, output] = [await tensorOf(bytes), new Uint8Array(bytes)];
    return () => context.readTensor(tensor, output);
  },
  run: async () => {
    const [model, x] = [await load(identity(['uint8', ['N']])), new Uint8Array(bytes)];
    return () => model.run({ a: x });
  },
  load: async () => {
    const file = new Uint8Array(bytes);
    return () => load(file);
  },
};
const call = await calls[process.argv[2]]();
console.log(/VmSize:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
if (process.argv[3] !== 'measure')
  console.log(await call().then(() => 'done', ({ constructor, name, code, message }) => [constructor.name, name, code, message].join('; ')));
