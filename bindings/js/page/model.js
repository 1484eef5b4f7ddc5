// The model that is open: {name, source, options}, and what was made of it: `model` by nnex itself, `webnn` by WebNN, for the extents `webnn.key`. Whatever
// belongs to a model is reached through its object, so that nothing of an earlier one is taken for its own.
import { load } from './nnex/browser.js';
import { checkFeeds } from './feeds.js';
import { distance } from './values.js';
import { open as openWebnn } from './webnn.js';

export function letGo(on) {
  on.model?.dispose();
  on.webnn?.release?.();
  on.model = on.webnn = undefined;
}

/** What runs at the extents of the feeds: WebNN, or nnex itself where WebNN has no words for the network. */
async function prepare(on, inputs, feeds, signal) {
  signal.throwIfAborted();
  const key = JSON.stringify(Object.values(feeds).map(({ dims }) => dims));
  if (on.webnn?.key !== key) {
    on.webnn?.release?.();
    on.webnn = undefined;
    on.webnn = { ...await openWebnn(on, inputs, feeds, signal), key };
  }
  if (on.webnn.run) return on.webnn.run;
  return (given) => anew(on, (model) => model.run(given));
}

/** What nnex itself does with the model, whose states have their first content again. */
export async function anew(on, act) {
  const model = (on.model ??= await load(on.source, on.options));
  if (model.states.length > 0) await model.resetStates();
  return act(model);
}

/**
 * A run: {outputs, took, apart}. What nnex refuses is refused, whoever runs: of indices and lengths, which WebNN clamps, nnex itself tells by a run of its own, from
 * whose answer WebNN's is `apart`.
 */
export async function answerOf(on, { inputs, outputs: ports }, feeds, signal) {
  checkFeeds(inputs, feeds);
  const run = await prepare(on, inputs, feeds, signal), types = new Map(ports.map(({ name, type }) => [name, type]));
  const ours = on.webnn.run && on.webnn.places ? await anew(on, (model) => model.run(feeds)) : undefined;
  signal.throwIfAborted();
  await run(feeds);
  const start = performance.now();
  const outputs = await run(feeds), took = performance.now() - start;
  for (const [name, value] of Object.entries(outputs)) if (types.get(name) === 'bool' && value.type === 'uint8') value.type = 'bool'; // WebNN has no bool
  return { outputs, took, apart: ours && distance(ours, outputs) };
}
