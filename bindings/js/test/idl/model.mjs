// What the IDL says, as plain objects: {interfaces, dictionaries, enums}, with the types of arguments and members resolved. It stands
// on webidl2's parse tree alone; nothing of WebNN is listed here.

const integers = {
  'unsigned long': { kind: 'integer', min: 0, max: 2 ** 32 - 1 },
  'unsigned long long': { kind: 'integer', min: 0, max: 2 ** 53 - 1 },
  long: { kind: 'integer', min: -(2 ** 31), max: 2 ** 31 - 1 },
};
const others = {
  boolean: { kind: 'boolean' }, double: { kind: 'double' }, float: { kind: 'float' }, 'unrestricted double': { kind: 'unrestricted' },
  bigint: { kind: 'bigint' }, USVString: { kind: 'string' }, DOMString: { kind: 'string' },
  AllowSharedBufferSource: { kind: 'buffer' }, GPUDevice: { kind: 'absent', name: 'GPUDevice' },
};

/** `tree`: what webidl2 gives. */
export function modelOf(tree) {
  const named = new Map();
  for (const definition of tree.filter(({ name }) => name)) {
    const known = named.get(definition.name);
    if (!known) named.set(definition.name, { ...definition, members: [...definition.members ?? []] });
    else if (definition.partial) known.members.push(...definition.members);
    else named.set(definition.name, { ...definition, members: [...definition.members, ...known.members] });
  }

  const enforced = (attributes) => attributes.some(({ name }) => name === 'EnforceRange');
  /** A type: {kind, ...}. */
  function typeOf({ idlType, generic, union, extAttrs }, attributes = []) {
    if (union) return { kind: 'union', of: idlType.map((one) => typeOf(one)) };
    if (generic === 'sequence') return { kind: 'sequence', of: typeOf(idlType[0]) };
    if (generic === 'record') return { kind: 'record', of: typeOf(idlType[1]) };
    if (integers[idlType]) return { ...integers[idlType], enforced: enforced([...extAttrs, ...attributes]) };
    if (others[idlType]) return others[idlType];
    const { type, name, values, idlType: alias } = named.get(idlType) ?? {};
    if (type === 'enum') return { kind: 'enum', name, values: values.map(({ value }) => value) };
    if (type === 'dictionary') return { kind: 'dictionary', name };
    if (type === 'interface') return { kind: 'interface', name };
    if (type === 'typedef') return typeOf(alias, attributes);
    throw new Error(`no type '${idlType}'`);
  }

  const field = ({ name, idlType, extAttrs, required }) => ({ name, required, type: typeOf(idlType, extAttrs) });
  /** Members in the order in which they are read: inherited first, each dictionary's by name. */
  function dictionary(name) {
    const { inheritance, members } = named.get(name);
    return [...(inheritance ? dictionary(inheritance) : []), ...members.map(field).sort((a, b) => (a.name < b.name ? -1 : 1))];
  }

  const argument = ({ name, idlType, extAttrs, optional }) => ({ name, optional, type: typeOf(idlType, extAttrs) });
  const operation = ({ name, idlType, arguments: args }) => ({ name, promise: idlType.generic === 'Promise', args: args.map(argument) });
  const ofType = (type) => [...named.values()].filter((definition) => definition.type === type);

  const interfaces = ofType('interface').map(({ name, members }) => ({
    name,
    constructor: members.filter(({ type }) => type === 'constructor').map(({ arguments: args }) => ({ args: args.map(argument) }))[0],
    attributes: members.filter(({ type }) => type === 'attribute')
      .map(({ name: own, idlType }) => ({ name: own, promise: idlType.generic === 'Promise' })),
    operations: [...grouped(members.filter(({ type }) => type === 'operation'))]
      .map(([own, overloads]) => ({ name: own, overloads: overloads.map(operation) })),
  }));
  return { interfaces, dictionary, enums: ofType('enum').map(({ name }) => typeOf({ idlType: name, extAttrs: [] })) };
}

function grouped(operations) {
  const out = new Map();
  for (const one of operations) out.set(one.name, [...out.get(one.name) ?? [], one]);
  return out;
}

export const requiredOf = (args) => args.filter(({ optional }) => !optional).length;
