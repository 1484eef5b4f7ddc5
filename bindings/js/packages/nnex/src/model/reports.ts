/** What check(), inspect() and convert() tell. */
import type { ErrorCode, Remedy } from './error.js';
import { Ports } from './model.js';
import type { Port } from './model.js';
import type { ModelEngine, RawPort } from './native.js';
import { TypeNumbers } from './types.js';

/** Something that a check has to say. */
export interface Fault {
  /** 'warning': the model may be right, but passes a limit, or needs what nnex lacks. */
  readonly severity: 'error' | 'warning' | 'note';
  /** Empty for notes. */
  readonly code: ErrorCode | '';
  /** The number of the rule in the list of the standard's rules; empty: it has none. */
  readonly rule: string;
  /** "graph.nnef:41:12", "node 'conv1' (Conv)"; empty: the model. */
  readonly where: string;
  readonly message: string;
  readonly found: string;
  readonly needed: string;
  readonly tasks: readonly string[];
  /** Options with which the model would pass. */
  readonly remedies: readonly Remedy[];
  /** All of it. */
  readonly text: string;
}

/** What is proven of a node of an integer network. */
export interface NodeProof {
  readonly where: string;
  readonly op: string;
  readonly bitsByRule: number | null;
  readonly bitsProven: number;
  readonly low: number;
  readonly high: number;
  readonly accumulatorBound: number | null;
  readonly overflows: boolean;
  readonly bounded: boolean;
}
/** The proof that no sum of an integer network overflows. */
export interface Certificate {
  readonly safe: boolean;
  readonly nodes: readonly NodeProof[];
  readonly beyondRule: readonly { readonly value: string; readonly bitsByRule: number; readonly bitsProven: number }[];
}

export interface CheckReport {
  /** "ONNX", "NNEF", "WebNN" or "CVM". */
  readonly format: string;
  /** Neither an error nor a warning was found. */
  readonly sound: boolean;
  /** Errors and warnings in the order in which they were found: the first hundred of `faultCount`. */
  readonly faults: readonly Fault[];
  readonly faultCount: number;
  readonly notes: readonly Fault[];
  /** Of integer networks without faults of another kind. */
  readonly certificate: Certificate | null;
}

export interface Inspection {
  readonly format: string;
  readonly graphName: string;
  readonly producer: string;
  readonly producerVersion: string;
  readonly irVersion: number;
  readonly opsets: Readonly<Record<string, number>>;
  readonly metadata: readonly { readonly key: string; readonly text: string; readonly internal: boolean }[];
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly states: readonly Port[];
  /** Names of extents that are no numbers. */
  readonly symbols: readonly string[];
  readonly nodes: number;
  readonly operators: readonly { readonly name: string; readonly nodes: number }[];
  readonly parameters: number;
  readonly parameterBytes: number;
  /** Of a run: a number, or a formula of symbols. */
  readonly multiplyAdds: string;
  readonly multiplyAddCount: number | null;
  /** Bytes of results that live at once; null where an extent is no number. */
  readonly activationBytes: number | null;
}

/** What was written. Numbers that the format does not have are 0. */
export interface SaveReport {
  readonly format: string;
  readonly files: readonly string[];
  readonly bytes: number;
  readonly operations: number;
  readonly opset: number;
  readonly notes: readonly string[];
}

type Raw = Omit<Inspection, 'inputs' | 'outputs' | 'states' | 'opsets'> & {
  inputs: RawPort[];
  outputs: RawPort[];
  states: RawPort[];
  opsets: [string, number][];
};

export function inspectionOf(raw: unknown, engine: ModelEngine): Inspection {
  const numbers = new TypeNumbers(engine.dtypes);
  const { inputs, outputs, states, opsets, ...rest } = raw as Raw;
  const ports = (list: RawPort[]): readonly Port[] => new Ports(list, numbers).list;
  return { ...rest, opsets: Object.fromEntries(opsets), inputs: ports(inputs), outputs: ports(outputs), states: ports(states) };
}
