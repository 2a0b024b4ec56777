import { CONTROL_KEY, isLimitNumber } from '../../wire/limits.ts';
import type { Clock, Table } from '../ports.ts';
import { rowIsAbsent } from '../writes/clauses.ts';
import { memberPath, type Row, type RowWrite } from '../writes/row-write.ts';

/** What operators changed without a deploy. */
export interface Control {
  /** Types that start no job, and since when. */
  readonly paused: ReadonlyMap<string, number>;
  /** By type, or by type and key with a colon between them. */
  readonly limits: ReadonlyMap<string, number>;
}

export const noControl: Control = { paused: new Map(), limits: new Map() };

export interface ControlReader {
  /** The control row as it was read at most this long ago. */
  current(maxAgeMs: number): Promise<Control>;
}

const numbersIn = (value: unknown): [string, number][] =>
  Object.entries((value ?? {}) as Row).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );

/** @internal */
export const parseControl = (row: Row | undefined): Control => ({
  paused: new Map(numbersIn(row?.paused)),
  limits: new Map(numbersIn(row?.limits).filter(([, limit]) => isLimitNumber(limit))),
});

export function createControlReader({
  table,
  clock,
}: {
  readonly table: Pick<Table, 'read'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): ControlReader {
  let known: { readonly control: Promise<Control>; readonly at: number } | undefined;
  return {
    current(maxAgeMs) {
      const now = clock.monotonic();
      if (known !== undefined && now - known.at <= maxAgeMs) return known.control;
      const control = table.read(CONTROL_KEY).then(parseControl);
      const reading = { control, at: now };
      known = reading;
      control.catch(() => {
        if (known === reading) known = undefined;
      });
      return control;
    },
  };
}

const openControlWrite: RowWrite = {
  transition: 'openControl',
  jobId: CONTROL_KEY,
  when: [[rowIsAbsent]],
  set: { paused: {}, limits: {} },
  returns: 'nothing',
};

/** One change; without a value, the control is removed. */
export interface ControlChange {
  readonly map: 'paused' | 'limits';
  readonly key: string;
  readonly value?: number;
  readonly by: string;
}

const controlWrite = ({ map, key, value, by }: ControlChange): RowWrite => {
  const path = memberPath(map, key);
  return {
    transition: 'control',
    jobId: CONTROL_KEY,
    when: [[{ attribute: map, is: 'present' }]],
    ...(value === undefined
      ? { set: { changedBy: by }, remove: [path] }
      : { set: { [path]: value, changedBy: by } }),
    returns: 'nothing',
  };
};

export async function changeControl(table: Pick<Table, 'apply'>, change: ControlChange): Promise<void> {
  const write = controlWrite(change);
  if ((await table.apply(write)).applied) return;
  await table.apply(openControlWrite);
  await table.apply(write);
}
