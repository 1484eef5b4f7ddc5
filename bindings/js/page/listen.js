// An output as a sound.
import { make, note } from './dom.js';
import { kRate } from './media.js';
import { count, reader } from './values.js';

/** A sound has as many samples at least. */
const kFewest = 2048;

/** The samples of a sound of floats from -1 to 1, of which a few may be beyond; undefined for other outputs. */
export function soundIn({ type, dims, data }) {
  const samples = dims.at(-1) ?? 0;
  if (!/^b?float/.test(type) || samples < kFewest || count(dims) !== samples) return undefined;
  const at = reader({ type, data }), made = Float32Array.from({ length: samples }, (_, i) => at(i));
  return made.every((x) => Math.abs(x) <= 2) ? made : undefined;
}

/** A WAV file of one channel: samples of 16 bits, so many a second. */
export function wavOf(samples, rate) {
  const made = new DataView(new ArrayBuffer(44 + 2 * samples.length)), text = (at, word) => [...word].forEach((letter, i) => made.setUint8(at + i, letter.charCodeAt(0)));
  text(0, 'RIFF');
  made.setUint32(4, 36 + 2 * samples.length, true);
  text(8, 'WAVEfmt ');
  made.setUint32(16, 16, true);
  for (const [at, number] of [[20, 1], [22, 1], [32, 2], [34, 16]]) made.setUint16(at, number, true);
  made.setUint32(24, rate, true);
  made.setUint32(28, 2 * rate, true);
  text(36, 'data');
  made.setUint32(40, 2 * samples.length, true);
  samples.forEach((x, i) => made.setInt16(44 + 2 * i, Math.round(Math.min(1, Math.max(-1, x)) * 32767), true));
  return new Uint8Array(made.buffer);
}

/** A player of an output, made once it is opened; nothing where it can be no sound. */
export function soundOf(title, tensor) {
  const samples = soundIn(tensor);
  if (!samples) return [];
  const rate = make('input', { type: 'text', inputmode: 'numeric', value: String(kRate), 'aria-label': `Samples a second of ${title}` }), told = note('');
  const player = make('audio', { controls: '', 'aria-label': `${title} as a sound` });
  const set = () => {
    const asked = Number(rate.value);
    if (player.src) URL.revokeObjectURL(player.src);
    player.removeAttribute('src');
    if (!Number.isInteger(asked) || asked < 3000 || asked > 384000) {
      told.textContent = `found the rate ${rate.value}; needed 3000 to 384000 samples a second`;
      return;
    }
    player.src = URL.createObjectURL(new Blob([wavOf(samples, asked)], { type: 'audio/wav' }));
    told.textContent = `${samples.length.toLocaleString()} samples, ${(samples.length / asked).toFixed(2)} s.`;
  };
  rate.addEventListener('change', set);
  const made = make('details', { class: 'sound' }, make('summary', {}, 'As a sound'), make('div', { class: 'look' }, make('label', {}, make('span', {}, 'samples a second'), rate)), player, told);
  made.addEventListener('toggle', () => { if (made.open && !player.src) set(); });
  return [made];
}
