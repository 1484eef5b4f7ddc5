// The order in which Web IDL has an interface constructed: arguments, then the prototype of new.target, then the interface's own steps.
import { fail, isTypeError, same, sameList, thrownBy } from './verdicts.mjs';

export async function checkConstruction(verdicts, { MLGraphBuilder, MLContext, navigator }) {
  const context = await navigator.ml.createContext(), lost = await navigator.ml.createContext();
  lost.destroy();
  /** A new.target that says what is read of it. */
  const target = (reads, prototype) => new Proxy(function () {}, {
    get(from, key) {
      reads.push(key);
      return typeof prototype === 'function' ? prototype() : prototype;
    },
  });
  const check = (what, prototype, args, judge) => verdicts.check(`MLGraphBuilder of ${what}`, () => {
    const reads = [], make = () => Reflect.construct(MLGraphBuilder, args, target(reads, prototype));
    judge(make, reads);
  });
  const refused = (reads, needed) => (make, seen) => {
    const error = thrownBy(make);
    if (needed === 'TypeError') isTypeError(error);
    else same(error.name, needed);
    sameList(seen, reads);
  };
  check('no argument', {}, [], refused([], 'TypeError'));
  check('no context', {}, [{}], refused([], 'TypeError'));
  check('a prototype of a context', {}, [MLContext.prototype], refused([], 'TypeError'));
  check('a lost context', {}, [lost], refused(['prototype'], 'InvalidStateError'));
  check('a lost context, by a prototype that throws', () => { throw new RangeError('here'); }, [lost], refused(['prototype'], 'RangeError'));
  const own = { own: true };
  check('another prototype', own, [context], (make, seen) => {
    same(Object.getPrototypeOf(make()), own);
    sameList(seen, ['prototype']);
  });
  for (const none of [undefined, null, 1, 'text'])
    check(`${none} for a prototype`, none, [context], (make) => same(Object.getPrototypeOf(make()), MLGraphBuilder.prototype));
  verdicts.check('MLGraphBuilder, derived', () => {
    class Derived extends MLGraphBuilder {
      third() { return 3; }
    }
    const derived = new Derived(context);
    if (!(derived instanceof MLGraphBuilder) || !(derived instanceof Derived)) fail('it is no instance of both');
    same(derived.third(), 3);
    same(derived.input('x', { dataType: 'float32', shape: [1] }).dataType, 'float32');
  });
  context.destroy();
}
