import { registry as examples } from '../../examples/registry.ts';
import { createRegistry, defineJob } from '../../lib/index.ts';

/** Its result is the pool that ran it. */
const where = <Type extends string>(type: Type) =>
  defineJob({
    type,
    async run() {
      return process.env.LEASEHOLD_POOL ?? 'none';
    },
  });

/** The examples, and a type for each pool of the stack. */
export const registry = createRegistry([
  ...examples.definitions,
  where('left'),
  where('right'),
  where('heavy'),
]);
