/** What makes an object one of an interface: a private field that no page can read, add or copy. */
import { isObject } from './convert.js';

class Stamped {
  constructor(object: object) {
    return object; // fields of a class that extends this one are added to `object`
  }
}

export interface Brand<State> {
  /** Makes `object` one of the interface. */
  stamp(object: object, state: State): void;
  /** What stands behind an object of the interface; undefined for anything else. */
  of(value: unknown): State | undefined;
}

export function brand<State>(): Brand<State> {
  class Stamp extends Stamped {
    readonly #state: State;
    constructor(object: object, state: State) {
      super(object);
      this.#state = state;
    }
    static of(value: object): State | undefined {
      return #state in value ? (value as Stamp).#state : undefined;
    }
  }
  return {
    stamp: (object, state) => void new Stamp(object, state),
    of: value => (isObject(value) ? Stamp.of(value) : undefined),
  };
}
