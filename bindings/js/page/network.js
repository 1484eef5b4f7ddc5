import { $, counted, make, note } from './dom.js';
import { draw, kMostNodes } from './draw.js';
export function showNetwork(network) {
  if (!network) return $('network').replaceChildren(make('p', {}, 'A model with such faults cannot be drawn.'));
  const more = network.nodes.length - kMostNodes;
  $('network').replaceChildren(
    make('p', { class: 'soft' }, `${counted(network.nodes.length, 'node')}${more > 0 ? `; the first ${kMostNodes} are drawn, and the outputs that they give` : ''}. Tab goes from node to node.`),
    make('div', { class: 'drawing' }, draw(network)));
}
