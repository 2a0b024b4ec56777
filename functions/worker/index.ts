import { join } from 'node:path';
import { startBundledHost } from '../../lib/worker/hosts/bundled-host.ts';

/** Keeps the leases of the jobs of the queue. They run in a cell, whose bundle is next to this one. */
export const handler = await startBundledHost(join(import.meta.dirname, 'cell.mjs'));
