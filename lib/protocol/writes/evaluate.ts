import { BadRowError } from '../errors.ts';
import { type Clause, isMemberPath, pathOf, type Row, type RowWrite } from './row-write.ts';

/** As in DynamoDB, comparisons with an absent attribute or across types are false. */
export function clauseHolds(clause: Clause, row: Row | undefined): boolean {
  const value = valueAt(row, clause.attribute);
  switch (clause.is) {
    case 'absent':
      return value === undefined;
    case 'present':
      return value !== undefined;
    case 'differs':
      return value !== clause.value;
    case 'equal':
      return value === clause.value;
    case 'below':
      return typeof value === typeof clause.value && (value as number) < (clause.value as number);
    case 'atMost':
      return typeof value === typeof clause.value && (value as number) <= (clause.value as number);
    case 'sizeBelow':
      return isMap(value) && Object.keys(value).length < clause.value;
  }
}

const isMap = (value: unknown): value is Row => typeof value === 'object' && value !== null;

function valueAt(row: Row | undefined, attribute: string): unknown {
  const [name, key] = pathOf(attribute);
  const value = row?.[name];
  return key === undefined ? value : isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function rowAfter(write: RowWrite, before: Row | undefined): Row {
  const sums: Record<string, unknown> = {};
  for (const [name, { of, otherwise, plus }] of Object.entries(write.sum ?? {})) {
    const base = before?.[of] ?? otherwise;
    if (typeof base !== 'number')
      throw new BadRowError(
        write.jobId,
        `'${of}' is not a number, so '${write.transition}' cannot add to it`,
      );
    sums[name] = base + plus;
  }
  // Spread, because objects that gain a dozen attributes one by one are slow in V8.
  const after: Record<string, unknown> = {
    jobId: write.jobId,
    ...write.keep,
    ...before,
    ...sums,
    ...write.set,
  };
  for (const attribute of Object.keys(write.set)) {
    if (!isMemberPath(attribute)) continue;
    delete after[attribute];
    change(after, write, attribute, write.set[attribute]);
  }
  for (const attribute of write.remove ?? []) change(after, write, attribute, undefined);
  return after;
}

/** DynamoDB cannot set a key of a missing map. */
function change(row: Record<string, unknown>, write: RowWrite, attribute: string, value: unknown): void {
  const [name, key] = pathOf(attribute);
  if (key === undefined) {
    if (value === undefined) delete row[name];
    else row[name] = value;
    return;
  }
  const map = row[name];
  if (!isMap(map))
    throw new BadRowError(write.jobId, `'${name}' is not a map, so '${write.transition}' cannot change it`);
  const { [key]: _, ...others } = map;
  row[name] = value === undefined ? others : { ...others, [key]: value };
}
