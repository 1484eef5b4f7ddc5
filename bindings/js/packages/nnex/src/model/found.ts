/** What was found, in the words of messages. */

/** "a Float32Array", "an Int8Array". */
export function withArticle(word: string): string {
  return `${/^[AEIOaeio]/.test(word) ? 'an' : 'a'} ${word}`;
}
export function tagOf(x: unknown): string {
  return Object.prototype.toString.call(x).slice(8, -1);
}

/** A name in quotes, in which what cannot be seen (controls, marks of direction, private characters) is \uXXXX, as in labels of WebNN. */
export function quoted(name: string): string {
  const code = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  return `'${name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (hidden) => hidden.split('').map(code).join(''))}'`;
}

/** A value for a message: short ones as they are, others by their kind. */
export function found(x: unknown): string {
  switch (typeof x) {
    case 'string': return x.length > 60 ? 'a long text' : quoted(x);
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
