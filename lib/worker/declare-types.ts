import type { WorkerParts } from './worker-parts.ts';

/** Shows operators which types exist and which have a limit to change. */
export async function declareTypes({ cells, control, telemetry }: WorkerParts): Promise<void> {
  const types = new Map(cells.types().map((type) => [type, cells.find(type)?.limit]));
  await control?.declare(types).catch((error: unknown) => {
    telemetry.error('the types of this worker were not declared; operators cannot pause new ones', error);
  });
}
