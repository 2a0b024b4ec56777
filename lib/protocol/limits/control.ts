import { CONTROL_KEY, isLimitNumber, type Limit } from '../../wire/limits.ts';

import type { Clock, Table } from '../ports.ts';
import { rowIsAbsent } from '../writes/clauses.ts';
import { memberPath, type Row, type RowWrite } from '../writes/row-write.ts';

export interface Control {
  readonly paused: ReadonlyMap<string, number>;
  /** By type, or by `type:key`. */
  readonly limits: ReadonlyMap<string, number>;
  /** Empty until the first worker has started. */
  readonly types: KnownTypes;
}

export type KnownTypes = ReadonlyMap<string, Limit | undefined>;

export const noControl: Control = { paused: new Map(), limits: new Map(), types: new Map() };

export type ControlReader = ReturnType<typeof createControlReader>;

const numbersIn = (value: unknown): [string, number][] =>
  Object.entries((value ?? {}) as Row).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );

export const parseControl = (row: Row | undefined): Control => ({
  paused: new Map(numbersIn(row?.paused)),
  limits: new Map(numbersIn(row?.limits).filter(([, limit]) => isLimitNumber(limit))),
  types: new Map(Object.entries((row?.types ?? {}) as Row).map(([type, limit]) => [type, limitIn(limit)])),
});

function limitIn(value: unknown): Limit | undefined {
  const perKey = (value as { perKey?: unknown } | null)?.perKey;
  if (isLimitNumber(perKey)) return { perKey };
  return isLimitNumber(value) ? value : undefined;
}

export function limitOf({ limits, types }: Control, type: string, key?: string): number | undefined {
  const defined = types.get(type);
  const changed = (key === undefined ? undefined : limits.get(`${type}:${key}`)) ?? limits.get(type);
  return changed ?? (typeof defined === 'object' ? defined.perKey : defined);
}

const isSameLimit = (a: Limit | undefined, b: Limit | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

export function createControlReader({
  table,
  clock,
}: {
  readonly table: Pick<Table, 'read' | 'apply'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}) {
  let known: { readonly control: Promise<Control>; readonly at: number } | undefined;
  const current = (maxAgeMs: number): Promise<Control> => {
    const now = clock.monotonic();
    if (known !== undefined && now - known.at <= maxAgeMs) return known.control;
    const control = table.read(CONTROL_KEY).then(parseControl);
    const reading = { control, at: now };
    known = reading;
    control.catch(() => {
      if (known === reading) known = undefined;
    });
    return control;
  };
  return {
    /** At most this old. */
    current,
    async declare(types: KnownTypes): Promise<void> {
      const known = (await current(Number.POSITIVE_INFINITY)).types;
      const changed = [...types].filter(
        ([type, limit]) => !known.has(type) || !isSameLimit(known.get(type), limit),
      );
      for (let i = 0; i < changed.length; i += TYPES_A_WRITE)
        await applyControl(table, typesWrite(changed.slice(i, i + TYPES_A_WRITE)));
    },
  };
}

/** Well below the size limit of an expression. */
const TYPES_A_WRITE = 50;

const typesWrite = (types: readonly (readonly [string, Limit | undefined])[]): RowWrite =>
  controlWrite(
    'types',
    Object.fromEntries(types.map(([type, limit = 0]) => [memberPath('types', type), limit])),
  );

const openControlWrite: RowWrite = {
  transition: 'openControl',
  jobId: CONTROL_KEY,
  when: [[rowIsAbsent]],
  set: { paused: {}, limits: {}, types: {} },
  returns: 'nothing',
};

/** Without a value, the control is removed. */
export interface ControlChange {
  readonly map: 'paused' | 'limits';
  readonly key: string;
  readonly value?: number;
  readonly by: string;
}

const controlWrite = (
  map: 'paused' | 'limits' | 'types',
  set: RowWrite['set'],
  remove?: readonly string[],
): RowWrite => ({
  transition: 'control',
  jobId: CONTROL_KEY,
  when: [[{ attribute: map, is: 'present' }]],
  set,
  remove,
  returns: 'nothing',
});

export async function changeControl(
  table: Pick<Table, 'apply'>,
  { map, key, value, by }: ControlChange,
): Promise<void> {
  const path = memberPath(map, key);
  await applyControl(
    table,
    value === undefined
      ? controlWrite(map, { changedBy: by }, [path])
      : controlWrite(map, { [path]: value, changedBy: by }),
  );
}

async function applyControl(table: Pick<Table, 'apply'>, write: RowWrite): Promise<void> {
  if ((await table.apply(write)).applied) return;
  await table.apply(openControlWrite);
  await table.apply(write);
}
