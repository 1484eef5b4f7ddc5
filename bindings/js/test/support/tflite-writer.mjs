/**
 * A small writer of TensorFlow Lite files (FlatBuffers, by the field numbers of the format's schema), for tests.
 *
 *     tflite({ tensors: [{ name: 'x', shape: [1, 4] }, { name: 'y', shape: [1, 4] }], inputs: [0], outputs: [1],
 *       operators: [{ code: 14, inputs: [0], outputs: [1] }] })  // -> Uint8Array
 *
 * Tensors are float32; `data` makes one a constant. An operator may have options: {type, fields}.
 */

/** FlatBuffers are written from their end: what something refers to is there before it. Places are counted from the end. */
class Writer {
  #bytes = new Uint8Array(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #at = this.#bytes.length;
  #align = 1;
  get place() { return this.#bytes.length - this.#at; }
  /** Room for numbers of `size` after `more` bytes will have been written. */
  #pad(size, more = 0) {
    this.#align = Math.max(this.#align, size);
    this.#at -= -(this.place + more) & (size - 1);
  }
  u8(value) { this.#view.setUint8(--this.#at, value); }
  u16(value) { this.#pad(2); this.#view.setUint16(this.#at -= 2, value, true); }
  i32(value) { this.#pad(4); this.#view.setInt32(this.#at -= 4, value, true); }
  f32(value) { this.#pad(4); this.#view.setFloat32(this.#at -= 4, value, true); }
  ref(place) { this.#pad(4); this.#at -= 4; this.#view.setUint32(this.#at, this.place - place, true); }
  blob(data, align, length = data.length) {
    this.#pad(align, data.length);
    this.#pad(4, data.length);
    this.#bytes.set(data, this.#at -= data.length);
    this.i32(length);
    return this.place;
  }
  text(text) {
    const data = new TextEncoder().encode(`${text}\0`);
    return this.blob(data, 4, data.length - 1);
  }
  list(kind, values) {
    this.#pad(4, 4 * values.length);
    for (const value of [...values].reverse()) this[kind](value);
    this.i32(values.length);
    return this.place;
  }
  /** A table of fields by number: [kind, value] each. */
  table(fields) {
    const start = this.place, places = [];
    for (const [number, [kind, value]] of Object.entries(fields)) {
      this[kind](value);
      places[number] = this.place;
    }
    this.i32(0);
    const table = this.place;
    for (const at of [...places].reverse()) this.u16(at ? table - at : 0);
    this.u16(table - start);
    this.u16(4 + 2 * places.length);
    this.#view.setInt32(this.#bytes.length - table, this.place - table, true);
    return table;
  }
  done(root, name) {
    this.#pad(this.#align, 8);
    for (const character of [...name].reverse()) this.u8(character.charCodeAt(0));
    this.ref(root);
    return this.#bytes.slice(this.#at);
  }
}

export function tflite({ tensors, inputs, outputs, operators }) {
  const w = new Writer(), tables = (list) => w.list('ref', list);
  const codes = [...new Set(operators.map(({ code }) => code))];
  const buffers = [w.table({})], made = tensors.map(({ name, shape, data }) => {
    if (data) buffers.push(w.table({ 0: ['ref', w.blob(new Uint8Array(Float32Array.from(data).buffer), 16)] }));
    const extents = w.list('i32', shape), text = w.text(name);
    return w.table({ 0: ['ref', extents], 1: ['u8', 0], 2: ['i32', data ? buffers.length - 1 : 0], 3: ['ref', text] });
  });
  const steps = operators.map(({ code, inputs: reads, outputs: makes, options }) => {
    const from = w.list('i32', reads), to = w.list('i32', makes), more = options && w.table(options.fields);
    return w.table({ 0: ['i32', codes.indexOf(code)], 1: ['ref', from], 2: ['ref', to], ...options && { 3: ['u8', options.type], 4: ['ref', more] } });
  });
  const lists = [tables(made), w.list('i32', inputs), w.list('i32', outputs), tables(steps), w.text('main')];
  const graph = w.table(Object.fromEntries(lists.map((list, i) => [i, ['ref', list]])));
  const known = tables(codes.map((code) => w.table({ 0: ['u8', code], 2: ['i32', 1], 3: ['i32', code] })));
  const graphs = tables([graph]), about = w.text('nnex'), data = tables(buffers);
  return w.done(w.table({ 0: ['i32', 3], 1: ['ref', known], 2: ['ref', graphs], 3: ['ref', about], 4: ['ref', data] }), 'TFL3');
}
