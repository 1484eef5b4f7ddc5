/** Dictionaries that go to a page: ordinary objects, their members in the order of Web IDL. */
import type { PlainObject } from '../engine.js';
import { put } from './convert.js';
import type { MemberRow, Table, TypeRow } from './table.js';

function ordered(table: Table, type: TypeRow, value: unknown): unknown {
  if (typeof type !== 'string') {
    const items: unknown[] = [];
    const from = value as readonly unknown[];
    for (let i = 0; i < from.length; ++i) put(items, i, ordered(table, type[1]!, from[i]));
    return items;
  }
  const row = table.dictionaries[type];
  if (!row) return value;
  const inherits = row[0];
  const out = (inherits === null ? {} : ordered(table, inherits, value)) as object;
  for (let i = 1; i < row.length; ++i) {
    const rule = row[i] as MemberRow;
    const member = (value as PlainObject)[rule[0]];
    if (member !== undefined) put(out, rule[0], ordered(table, rule[1], member));
  }
  return out;
}

/** MLOpSupportLimits of an engine's. */
export function supportLimits(table: Table, limits: PlainObject): object {
  return ordered(table, 'MLOpSupportLimits', limits) as object;
}
