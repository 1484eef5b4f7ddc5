// All checks of the IDL test, on whatever WebNN the scope has. No host is needed here.
import { checkConstruction } from './construction.mjs';
import { checkConversions } from './conversions.mjs';
import { modelOf } from './model.mjs';
import { checkObjects, liveObjects } from './objects.mjs';
import { checkShape } from './shape.mjs';
import { Verdicts } from './verdicts.mjs';

/** `tree`: webidl2's parse of WebNN's IDL; `scope`: where the interfaces are, and `navigator`. {count, wrong}. */
export async function checkIdl(tree, scope = globalThis) {
  const verdicts = new Verdicts(), model = modelOf(tree);
  let objects;
  await verdicts.later('objects are made', async () => { objects = await liveObjects(scope); });
  await checkShape(verdicts, model, scope, objects);
  if (objects) {
    await checkConstruction(verdicts, scope);
    checkConversions(verdicts, model, objects);
    await checkObjects(verdicts, model, scope, objects);
  }
  return { count: verdicts.count, wrong: verdicts.wrong };
}
