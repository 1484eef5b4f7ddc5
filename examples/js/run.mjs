// Loads a model of any standard, feeds zeros, prints what comes out and which nodes took longest.
//
//     npm install PACKAGES/nnex*.tgz && node run.mjs model.onnx
//     (PACKAGES: the folder that bindings/js/pack filled)
import { NnexError, inspect, load } from 'nnex';

const [path] = process.argv.slice(2);
if (!path) {
  console.error('usage: node run.mjs MODEL');
  process.exit(2);
}
try {
  const { format, nodes, parameters, multiplyAdds } = await inspect(path);
  console.log(`${path}: ${format}, ${nodes} nodes, ${parameters} parameters, ${multiplyAdds} multiply-adds`);

  const model = await load(path);
  const feeds = {};
  for (const { name, text, type, dims } of model.inputs) {
    console.log(`input  ${name}  ${text}`);
    const extents = (dims ?? []).map((d) => (typeof d === 'number' ? d : 1)); // a symbol: one of it
    const count = extents.reduce((a, b) => a * b, 1);
    feeds[name] = { type, dims: extents, data: Array(count).fill(type === 'string' ? '' : 0) };
  }
  const { outputs, nodes: times } = await model.profile(feeds);
  for (const [name, value] of Object.entries(outputs)) {
    if (value?.data) console.log(`output ${name}  ${value.type}[${value.dims}] `, ...value.data.slice(0, 8));
    else console.log(`output ${name} `, value); // a sequence, a map, an optional
  }
  for (const { place, op, kernel, duration } of times.sort((a, b) => b.duration - a.duration).slice(0, 5))
    console.log(`${duration.toFixed(1).padStart(9)} µs  ${place || op} (${kernel})`);
} catch (error) {
  if (!(error instanceof NnexError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
