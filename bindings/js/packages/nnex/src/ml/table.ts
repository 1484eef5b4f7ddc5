/** The form of the table that scripts/idl.mjs makes of the interface definition. */

/** "MLOperand", "double", "unsigned long!" ("!": [EnforceRange]), ["sequence", T], ["record", K, V], ["union", ...T], ["foreign", name]. */
export type TypeRow = string | GenericRow;
export type GenericRow = readonly [generic: string, ...types: (string | GenericRow)[]];
/** Name, type, 1 where it is optional. */
export type ArgumentRow = readonly [name: string, type: TypeRow, optional?: number];
/** The type of the result, then the arguments. */
export type OverloadRow = readonly [result: TypeRow, ...args: ArgumentRow[]];
/** Name, type, 1 where it is required, the default, and the member that it is the former name of. */
export type MemberRow = readonly [name: string, type: TypeRow, required?: number, standard?: unknown, renamed?: string];

export interface InterfaceRow {
  readonly attributes: Readonly<Record<string, TypeRow>>;
  readonly operations: Readonly<Record<string, readonly OverloadRow[]>>;
  readonly constructor_?: readonly ArgumentRow[];
}

export interface Table {
  readonly interfaces: Readonly<Record<string, InterfaceRow>>;
  /** The dictionary it inherits from, then its members in the order of their conversion. */
  readonly dictionaries: Readonly<Record<string, readonly [inherits: string | null, ...members: MemberRow[]]>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
}
