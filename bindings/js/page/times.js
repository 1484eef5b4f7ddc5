// Where the time of a run goes.

/**
 * Nodes by the time that is their own, {place, op, kernel, own, times}: of one with blocks without what ran in them, and one that ran several times once. They come in the
 * order in which they ended: those of a block before the one that owns it, and began after it.
 */
export function ownTimes(times) {
  const rows = new Map(), outermost = []; // so far
  for (const time of times) {
    let own = time.duration;
    while (outermost.length > 0 && outermost.at(-1).start >= time.start) own -= outermost.pop().duration;
    outermost.push(time);
    const { place, op, kernel } = time, key = JSON.stringify([place, op, kernel]), row = rows.get(key) ?? { place, op, kernel, own: 0, times: 0 };
    rows.set(key, Object.assign(row, { own: row.own + Math.max(0, own), times: row.times + 1 }));
  }
  return [...rows.values()].sort((a, b) => b.own - a.own);
}
