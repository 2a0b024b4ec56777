import { createRegistry } from '../../lib/worker/registry.ts';

/** A jobs module without jobs: what is left of a bundle is Leasehold's own. */
export const registry = createRegistry([]);
