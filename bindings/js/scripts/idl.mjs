// Makes in packages/nnex/src/ml, of the interface definition in npm's @webref/idl: table.gen.ts (what src/ml interprets), types.gen.ts (what users'
// compilers see), interfaces.gen.ts (the interfaces as types and values) and globals.gen.ts (what `nnex/polyfill` makes global, for compilers).
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { parse } from 'webidl2';

/** Members that files of tests and older pages still pass, and the newest text no longer has; and `devices`, which Chromium has and LiteRT.js reads. */
const older = `
partial dictionary MLContextOptions { MLDeviceType deviceType; };
enum MLDeviceType { "cpu", "gpu", "npu" };
partial dictionary MLPool2dOptions { MLRoundingType roundingType; };
partial interface MLGraph { readonly attribute FrozenArray<MLDeviceType> devices; };
`;
/** Of them, those that are another member's former name. */
const renamed = { roundingType: 'outputShapeRounding' };
/** Interfaces of other specifications: a value is one of theirs when it is an instance of the global of that name. */
const foreign = new Set(['GPUDevice', 'GPUBuffer']);
const typescript = {
  boolean: 'boolean', double: 'number', 'unrestricted double': 'number', float: 'number', 'unsigned long': 'number', long: 'number',
  'unsigned long long': 'number', USVString: 'string', DOMString: 'string', bigint: 'bigint', undefined: 'undefined',
  ArrayBuffer: 'ArrayBuffer', AllowSharedBufferSource: 'ArrayBufferLike | ArrayBufferView',
};

const require = createRequire(import.meta.url);
const text = await readFile(require.resolve('@webref/idl/webnn.idl'), 'utf8');
const definitions = parse(text + older);

const has = (node, name) => node.extAttrs.some(a => a.name === name);
const byName = (a, b) => (a.name < b.name ? -1 : 1);

/** All definitions of one kind, partial ones joined: name -> {members, inheritance}. */
function joined(kind) {
  const all = new Map();
  for (const d of definitions.filter(d => d.type === kind)) {
    const one = all.get(d.name) ?? { name: d.name, members: [], inheritance: null };
    one.members.push(...d.members);
    one.inheritance ??= d.inheritance;
    all.set(d.name, one);
  }
  return all;
}
const interfaces = joined('interface');
const dictionaries = joined('dictionary');
const typedefs = new Map(definitions.filter(d => d.type === 'typedef').map(d => [d.name, d.idlType]));
const enums = new Map(definitions.filter(d => d.type === 'enum').map(d => [d.name, d.values.map(v => v.value)]));

/** A type as src/ml/convert.ts reads it: "name", or ["generic", types...]. "!" at the end of a number is [EnforceRange]. */
function row(type, attributes = []) {
  if (type.union) return ['union', ...type.idlType.map(t => row(t))];
  if (type.generic) return [type.generic, ...type.idlType.map(t => row(t))];
  const name = type.idlType;
  if (typedefs.has(name)) return row(typedefs.get(name));
  if (foreign.has(name)) return ['foreign', name];
  const enforced = [...type.extAttrs, ...attributes].some(a => a.name === 'EnforceRange');
  if (!(name in typescript) && !interfaces.has(name) && !dictionaries.has(name) && !enums.has(name))
    throw new Error(`webnn.idl: found the type '${name}'; nothing here knows it`);
  return enforced ? `${name}!` : name;
}
const standard = value => {
  if (value.type === 'dictionary') return {};
  if (value.type === 'number') return Number(value.value);
  return value.value;
};
const argument = a => [a.name, row(a.idlType, a.extAttrs), ...(a.optional ? [1] : [])];

const table = { interfaces: {}, dictionaries: {}, enums: Object.fromEntries(enums) };
for (const { name, members } of interfaces.values()) {
  const one = { attributes: {}, operations: {} };
  for (const m of members) {
    if (m.type === 'constructor') one.constructor_ = m.arguments.map(argument);
    else if (m.type === 'attribute' && m.readonly) one.attributes[m.name] = row(m.idlType);
    else if (m.type === 'operation' && !m.special) (one.operations[m.name] ??= []).push([row(m.idlType), ...m.arguments.map(argument)]);
    else throw new Error(`webnn.idl: ${name} has a member of type '${m.type}'; nothing here knows it`);
  }
  table.interfaces[name] = one;
}
for (const { name, members, inheritance } of dictionaries.values()) {
  const rows = [...members].sort(byName).map(m => {
    const flags = m.required ? [1] : m.default ? [0, standard(m.default)] : [];
    if (m.name in renamed) flags.push(0, null, renamed[m.name]);
    return [m.name, row(m.idlType, m.extAttrs), ...flags];
  });
  table.dictionaries[name] = inheritance ? [inheritance, ...rows] : [null, ...rows];
}

// ---- Types for users

const note = '// Made by scripts/idl.mjs of @webref/idl: do not edit.';

function ts(type) {
  if (type.union) return `(${type.idlType.map(ts).join(' | ')})`;
  if (type.generic === 'sequence') return `${ts(type.idlType[0])}[]`;
  if (type.generic === 'FrozenArray') return `readonly ${ts(type.idlType[0])}[]`;
  if (type.generic === 'Promise') return `Promise<${type.idlType[0].idlType === 'undefined' ? 'void' : ts(type.idlType[0])}>`;
  if (type.generic === 'record') return `Record<string, ${ts(type.idlType[1])}>`;
  if (foreign.has(type.idlType)) return 'object';
  return typescript[type.idlType] ?? type.idlType;
}
const input = type => (type.generic === 'sequence' ? `Iterable<${ts(type.idlType[0])}>` : ts(type));
const result = type => (type.idlType === 'undefined' ? 'void' : ts(type));
const parameters = list => list.map(a => `${a.name}${a.optional ? '?' : ''}: ${input(a.idlType)}`).join(', ');
const aliases = [...typedefs].map(([name, type]) => `type ${name} = ${ts(type)};`);
for (const [name, values] of enums) aliases.push(`type ${name} = ${values.map(v => `'${v}'`).join(' | ')};`);
const out = [note, '', ...aliases.map(alias => `export ${alias}`)];
const limits = name => /Limits$|RankRange$|LostInfo$/.test(name);
for (const { name, members, inheritance } of dictionaries.values()) {
  out.push('', `export interface ${name}${inheritance ? ` extends ${inheritance}` : ''} {`);
  for (const m of members) {
    const given = limits(name);
    out.push(`  ${m.name}${m.required || given ? '' : '?'}: ${given ? ts(m.idlType) : input(m.idlType)}${m.required || given ? '' : ' | undefined'};`);
  }
  out.push('}');
}
for (const { name, members } of interfaces.values()) {
  out.push('', `export interface ${name} {`);
  const made = members.find(m => m.type === 'constructor');
  for (const m of members) {
    if (m.type === 'attribute') out.push(`  readonly ${m.name}: ${ts(m.idlType)};`);
    if (m.type === 'operation') out.push(`  ${m.name}(${parameters(m.arguments)}): ${result(m.idlType)};`);
  }
  out.push('}', `/** The interface object of ${name}. */`, `export interface ${name}Constructor extends Function {`);
  out.push(`  readonly prototype: ${name};`);
  if (made) out.push(`  new (${parameters(made.arguments)}): ${name};`);
  out.push('}');
}
out.push('', '/** Every interface object by its name. */', 'export interface Interfaces {');
for (const name of interfaces.keys()) out.push(`  readonly ${name}: ${name}Constructor;`);
out.push('}', '');

const both = [...interfaces.keys()].map(name => `export const ${name} = interfaces.${name};\nexport type ${name} = idl.${name};`);
const exported = `${note}
import { interfaces } from './ml.js';
import type * as idl from './types.gen.js';

export type * from './types.gen.js';
${both.join('\n')}
`;

// A lib.dom that has WebNN has it in NavigatorML, as the interface definition does: there its own declarations hold, and these add nothing. Aliases of types
// can be left out by no condition: such a library has them twice then, which `skipLibCheck` passes over.
const theirs = name => `NavigatorML extends { readonly ml: unknown } ? (typeof globalThis extends { ${name}: infer T } ? T : never) : idl.${name}Constructor`;
const members = name => `  interface ${name} extends Absent<idl.${name}> {}`;
const globals = `${note}
import type * as idl from './types.gen.js';

type Absent<T> = NavigatorML extends { readonly ml: unknown } ? object : T;
interface Holder {
  readonly ml: ML;
}
declare global {
  interface NavigatorML {}
  interface Navigator extends Absent<Holder> {}
  interface WorkerNavigator extends Absent<Holder> {}
  // Node's types have it from version 21 on, in these words.
  var navigator: typeof globalThis extends { onmessage: any; navigator: infer T } ? T : Navigator;

${[...interfaces.keys()].map(name => `${members(name)}\n  var ${name}: ${theirs(name)};`).join('\n')}

${[...dictionaries.keys()].map(members).join('\n')}

${aliases.map(alias => `  ${alias}`).join('\n')}
}
export {};
`;

/** A text that is parsed faster than the same as a literal. */
const quoted = json => `'${json.replace(/[\\']/g, '\\$&')}'`;
const folder = new URL('../packages/nnex/src/ml/', import.meta.url);
await writeFile(new URL('types.gen.ts', folder), out.join('\n'));
await writeFile(new URL('interfaces.gen.ts', folder), exported);
await writeFile(new URL('globals.gen.ts', folder), globals);
await writeFile(new URL('table.gen.ts', folder),
  `${note}\nimport type { Table } from './table.js';\n\nexport const table = JSON.parse(${quoted(JSON.stringify(table))}) as Table;\n`);
