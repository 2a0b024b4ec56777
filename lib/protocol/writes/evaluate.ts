import { BadRowError } from '../errors.ts';
import type { Clause, Row, RowWrite } from './row-write.ts';

/** As in DynamoDB, comparisons with an absent attribute or across types are false. */
export function clauseHolds(clause: Clause, row: Row | undefined): boolean {
  const value = row?.[clause.attribute];
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
  }
}

export function rowAfter(write: RowWrite, before: Row | undefined): Row {
  const after: Record<string, unknown> = { ...before, jobId: write.jobId };
  for (const [name, value] of Object.entries(write.keep ?? {})) after[name] = before?.[name] ?? value;
  for (const [name, { of, otherwise, plus }] of Object.entries(write.sum ?? {})) {
    const base = before?.[of] ?? otherwise;
    if (typeof base !== 'number')
      throw new BadRowError(
        write.jobId,
        `'${of}' is not a number, so '${write.transition}' cannot add to it`,
      );
    after[name] = base + plus;
  }
  Object.assign(after, write.set);
  for (const name of write.remove ?? []) delete after[name];
  return after;
}
