// alone.mjs FROM TO: a module whose imported memory is shared, as one whose memory is not: one bit of its import differs.
// The linker of LLVM 14 cannot make it of the same objects: without shared memory it gives variables of threads wrong addresses.
import { readFileSync, writeFileSync } from 'node:fs';

const [, , from, to] = process.argv;
const bytes = readFileSync(from);
const kImports = 2, kMemory = 2, kShared = 2, kFunction = 0;
let at = 8;  // after the magic number and the version
const number = () => {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return value;
  }
};
const skip = (size) => { at += size; };

while (bytes[at] !== kImports) {
  if (at >= bytes.length) throw new Error(`${from}: found no imports; needed a memory`);
  skip(1);
  skip(number());
}
skip(1);
number();  // its size
for (let left = number(); left > 0; --left) {
  skip(number());  // module
  skip(number());  // name
  const kind = bytes[at++];
  if (kind === kMemory) {
    if (!(bytes[at] & kShared)) throw new Error(`${from}: found a memory that is not shared`);
    bytes[at] &= ~kShared;
    writeFileSync(to, bytes);
    process.exit(0);
  }
  if (kind !== kFunction) throw new Error(`${from}: found an import of kind ${kind} before the memory; needed functions alone`);
  number();
}
throw new Error(`${from}: found no memory among the imports`);
