import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Clause, RowWrite } from '../jobs/row-write.ts';
import { toValue } from './attributes.ts';

/** One statement of a BatchExecuteStatement. */
export interface BatchStatement {
  readonly Statement: string;
  readonly Parameters: AttributeValue[];
  readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD';
}

/**
 * The write as PartiQL, or undefined where PartiQL cannot say it with the same meaning on every engine; such a write goes
 * by UpdateItem. A write to an absent row becomes an INSERT, which refuses to overwrite; any other becomes an UPDATE, which
 * never creates.
 */
export function batchStatement(write: RowWrite, tableName: string): BatchStatement | undefined {
  const creates = write.when.some((all) => all.some(isRowAbsent));
  return creates ? insertStatement(write, tableName) : updateStatement(write, tableName);
}

const isRowAbsent = (clause: Clause): boolean => clause.attribute === 'jobId' && clause.is === 'absent';

/** The row that a write to an absent one leaves: every attribute is known beforehand, sums start from what is set. */
export function insertedRow(write: RowWrite): Record<string, unknown> {
  const sums = Object.entries(write.sum ?? {}).map(([name, { of, otherwise, plus }]) => {
    const base = write.keep?.[of];
    return [name, (typeof base === 'number' ? base : otherwise) + plus] as const;
  });
  return { jobId: write.jobId, ...write.keep, ...write.set, ...Object.fromEntries(sums) };
}

function insertStatement(write: RowWrite, tableName: string): BatchStatement {
  const row = insertedRow(write);
  const names = Object.keys(row);
  return {
    Statement: `INSERT INTO "${tableName}" VALUE {${names.map((name) => `'${name}': ?`).join(', ')}}`,
    Parameters: names.map((name) => toValue(row[name])),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
}

/** Engines agree on one comma-separated SET, at most one REMOVE of one attribute, and plain comparisons. */
function updateStatement(write: RowWrite, tableName: string): BatchStatement | undefined {
  const [all, ...others] = write.when;
  const removes = write.remove ?? [];
  const sums = Object.keys(write.sum ?? {}).length + Object.keys(write.keep ?? {}).length;
  if (all === undefined || others.length > 0 || removes.length > 1 || sums > 0) return undefined;
  const parameters: AttributeValue[] = [];
  const parameter = (value: unknown): string => {
    parameters.push(toValue(value));
    return '?';
  };
  const sets = Object.entries(write.set).map(([name, value]) => `"${name}" = ${parameter(value)}`);
  const conditions = [`"jobId" = ${parameter(write.jobId)}`];
  for (const clause of all) {
    const condition = conditionOf(clause, parameter);
    if (condition === undefined) return undefined;
    conditions.push(condition);
  }
  return {
    Statement: `UPDATE "${tableName}" SET ${sets.join(', ')}${removes.map((name) => ` REMOVE "${name}"`).join('')} WHERE ${conditions.join(' AND ')}`,
    Parameters: parameters,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
}

function conditionOf(clause: Clause, parameter: (value: unknown) => string): string | undefined {
  switch (clause.is) {
    case 'equal':
      return `"${clause.attribute}" = ${parameter(clause.value)}`;
    case 'below':
      return `"${clause.attribute}" < ${parameter(clause.value)}`;
    case 'atMost':
      return `"${clause.attribute}" <= ${parameter(clause.value)}`;
    default:
      return undefined;
  }
}
