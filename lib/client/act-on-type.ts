import { type Control, type KnownTypes, parseControl } from '../protocol/limits/control.ts';
import { changeLimit, pauseType, resumeType } from '../protocol/limits/operate.ts';
import type { Clock, JobQueue, Table } from '../protocol/ports.ts';
import { CONTROL_KEY, isLimitNumber, MAX_LIMIT } from '../wire/limits.ts';
import { isJobType, isKey, KEY_RULE } from '../wire/message.ts';
import { type Registry, UnknownTypeError } from '../worker/registry.ts';
import { BadRequestError } from './errors.ts';

/** Without a limit, the definition's applies. */
export type TypeAct =
  | { readonly act: 'pause' | 'resume'; readonly type: string }
  | { readonly act: 'limit'; readonly type: string; readonly limit?: unknown; readonly key?: string };

export interface TypeActParts {
  readonly table: Pick<Table, 'read' | 'apply' | 'query'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly by: string;
  /** @default - what the workers have declared */
  readonly registry?: Registry;
  queue(): Pick<JobQueue, 'sendHints'>;
}

export const isRefusal = (error: unknown): error is Error =>
  error instanceof BadRequestError || error instanceof UnknownTypeError;

/** Shared by CLI, client and console. Returns how many waiting jobs got a hint. */
export async function actOnType(parts: TypeActParts, request: TypeAct): Promise<number> {
  const { table, clock, by, registry } = parts;
  const control = parseControl(await table.read(CONTROL_KEY));
  const types =
    registry === undefined
      ? control.types
      : new Map(registry.definitions.map(({ type, limit }) => [type, limit]));
  const limit = limitIn(request, { ...control, types });
  const { type } = request;
  switch (request.act) {
    case 'pause':
      await pauseType({ table, clock, by }, type);
      return 0;
    case 'resume':
      return resumeType({ table, clock, by, queue: parts.queue() }, type);
    case 'limit':
      return changeLimit({ table, clock, by, queue: parts.queue() }, { type, key: request.key, limit });
  }
}

/** Throws if the request would do nothing, or something unintended. */
function limitIn(request: TypeAct, { types, paused, limits }: Control): number | undefined {
  const { act, type } = request;
  if (!isJobType(type)) throw new BadRequestError('type', type, '1 to 100 characters of A-Z a-z 0-9 . _ -');
  if (act !== 'limit') {
    if (act === 'pause' || !paused.has(type)) checkKnown(types, type);
    return undefined;
  }
  const { limit, key } = request;
  if (limit !== undefined && !isLimitNumber(limit))
    throw new BadRequestError(
      'limit',
      limit,
      `a whole number from 1 to ${MAX_LIMIT}; to run none, pause the type`,
    );
  if (key !== undefined && !isKey(key)) throw new BadRequestError('key', key, KEY_RULE);
  const isUndone = limit === undefined && limits.has(key === undefined ? type : `${type}:${key}`);
  if (!isUndone) {
    checkKnown(types, type);
    checkLimited(types, type, key);
  }
  return limit;
}

/** No types are known before the first worker has started. */
function checkKnown(types: KnownTypes, type: string): void {
  if (types.size > 0 && !types.has(type)) throw new UnknownTypeError(type, [...types.keys()].sort());
}

function checkLimited(types: KnownTypes, type: string, key: string | undefined): void {
  if (types.size === 0) return;
  const defined = types.get(type);
  if (defined === undefined) {
    const limited = [...types].flatMap(([each, limit]) => (limit === undefined ? [] : each)).sort();
    throw new BadRequestError(
      'type',
      type,
      `one with a 'limit' in its definition${limited.length === 0 ? '; no type has one' : `: ${limited.join(', ')}`}. Add one and deploy it, or pause the type`,
    );
  }
  if (key !== undefined && typeof defined === 'number')
    throw new BadRequestError('key', key, `left out: '${type}' has one limit for all its jobs`);
}
