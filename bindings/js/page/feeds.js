// What a run is given, by the rules of a run by nnex: those of WebNN, which knows the network at these extents alone, refuse less.

/** An error of an input; `field` says which of its fields has it. */
export const wrongInput = (name, message, field) => Object.assign(new Error(`input '${name}': ${message}`), { input: name, field });

/** Throws where the feeds, {type, dims} by name, are not what the ports take: other extents, or one symbol with two numbers. */
export function checkFeeds(ports, feeds) {
  const symbols = new Map(); // by symbol: its number
  for (const { name, text, dims } of ports) {
    if (!dims) continue;
    const { dims: extents } = feeds[name];
    const wrong = (more = '') => wrongInput(name, `found ${text.split('[')[0]}[${extents.join(',')}]; needed ${text}${more}`);
    if (extents.length !== dims.length) throw wrong();
    for (const [axis, dim] of dims.entries()) {
      if (dim === '?') continue;
      if (typeof dim === 'number' ? dim !== extents[axis] : (symbols.get(dim) ?? extents[axis]) !== extents[axis])
        throw wrong(typeof dim === 'number' ? '' : `; ${dim} is ${symbols.get(dim)} in another place`);
      symbols.set(dim, extents[axis]);
    }
  }
}

/** The extents of an input that nobody has said: the field has 1 for them. */
export const openExtents = (dims = []) => dims.filter((extent) => typeof extent !== 'number');
