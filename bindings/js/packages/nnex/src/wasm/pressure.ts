/** What the memory of models is to a garbage collector that does not see it: that of another thread, or one that threads share. */

/** A small model's own part of an instance: its pages that were written, the threads' stacks. */
const kLeast = 2 ** 21;
/** What an instance has before there is a model in it. */
const kEmpty = 2 ** 24;

/**
 * Stands for an instance of so many bytes, beside whatever keeps it: collectors count it, and come before too many of them are there. Nobody touches
 * its memory, so that it takes none.
 */
export function standingFor(bytes: number): unknown {
  try {
    return new ArrayBuffer(kLeast + Math.max(0, bytes - kEmpty));
  } catch {
    return undefined;  // more than this host counts
  }
}
