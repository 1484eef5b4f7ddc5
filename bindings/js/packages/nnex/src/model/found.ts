/** What was found, in the words of messages. */

/** "a Float32Array", "an Int8Array". */
export function withArticle(word: string): string {
  return `${/^[AEIOaeio]/.test(word) ? 'an' : 'a'} ${word}`;
}
export function tagOf(x: unknown): string {
  return Object.prototype.toString.call(x).slice(8, -1);
}

/** A value for a message: short ones as they are, others by their kind. */
export function found(x: unknown): string {
  switch (typeof x) {
    case 'string': return x.length > 60 ? 'a long text' : `'${x.replaceAll('\0', '\\0')}'`;
    case 'bigint': return `${x}n`;
    case 'function': return 'a function';
    case 'symbol': return 'a symbol';
    case 'object': break;
    default: return String(x);
  }
  if (x === null) return 'null';
  if (Array.isArray(x)) return 'an array';
  const tag = tagOf(x);
  return tag === 'Object' ? 'an object' : withArticle(tag);
}
