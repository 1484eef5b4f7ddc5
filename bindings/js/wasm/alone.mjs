// alone.mjs FROM TO: a module whose imported memory is shared, as one whose memory is not: one bit of its import differs, which
// packages/nnex/src/wasm/code.ts sets again where threads are to be had.
// The linker of LLVM 14 cannot make it of the same objects: without shared memory it gives variables of threads wrong addresses. A section says behind
// all others which interface the module has.
import { readFileSync, writeFileSync } from 'node:fs';
import { interfaceOf, kSection } from './interface.mjs';

const [, , from, to] = process.argv;
const bytes = readFileSync(from);
const memory = '\x03env\x06memory\x02', kHasMaximum = 1, kShared = 2;
const at = bytes.indexOf(memory, 0, 'latin1') + memory.length;
if (at < memory.length || bytes[at] !== (kHasMaximum | kShared)) throw new Error(`${from}: found no shared memory among the imports`);
bytes[at] = kHasMaximum;
const kCustom = 0, text = interfaceOf();  // sizes of a byte each
const section = Buffer.from([kCustom, 1 + kSection.length + text.length, kSection.length, ...Buffer.from(kSection + text)]);
writeFileSync(to, Buffer.concat([bytes, section]));
