import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Clause, Row, RowWrite } from '../../protocol/writes/row-write.ts';
import { toValue } from './attributes.ts';

/** One statement of a BatchExecuteStatement. */
interface BatchStatement {
  readonly Statement: string;
  readonly Parameters: AttributeValue[];
  readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD';
}

/** A write, and how a batch says it. */
export interface BatchedWrite {
  readonly write: RowWrite;
  readonly statement: BatchStatement;
  /** The row that it leaves, where that is known beforehand. */
  readonly row?: Row;
}

/**
 * The write as PartiQL, or undefined if PartiQL cannot express it with the same meaning on every engine; such a write
 * goes by UpdateItem. A write to an absent row becomes an INSERT, which refuses to overwrite; any other becomes an UPDATE, which
 * never creates.
 */
export function batchedWrite(write: RowWrite, tableName: string): BatchedWrite | undefined {
  if (write.when.some((all) => all.some(isRowAbsent))) {
    const row = insertedRow(write);
    return { write, row, statement: insertStatement(row, tableName) };
  }
  const statement = updateStatement(write, tableName);
  return statement && { write, statement };
}

const isRowAbsent = (clause: Clause): boolean => clause.attribute === 'jobId' && clause.is === 'absent';

/** The row that a write to an absent one leaves: every attribute is known beforehand, sums have nothing to start from. */
export function insertedRow(write: RowWrite): Row {
  const row: Record<string, unknown> = { jobId: write.jobId, ...write.keep, ...write.set };
  const { sum = {} } = write;
  for (const name of Object.keys(sum)) {
    const { otherwise, plus } = sum[name] as (typeof sum)[string];
    row[name] = otherwise + plus;
  }
  return row;
}

function insertStatement(row: Row, tableName: string): BatchStatement {
  const names = Object.keys(row);
  return {
    Statement: `INSERT INTO "${tableName}" VALUE ${membersText(names)}`,
    Parameters: names.map((name) => toValue(row[name])),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
}

let lastNames: readonly string[] = [];
let lastMembers = '{}';

/** The rows of claims have the same attributes nearly always, so the last text is mostly the next one, too. */
function membersText(names: readonly string[]): string {
  if (names.length !== lastNames.length || names.some((name, i) => name !== lastNames[i])) {
    lastNames = names;
    lastMembers = `{${names.map((name) => `'${name}': ?`).join(', ')}}`;
  }
  return lastMembers;
}

/** Engines agree on one comma-separated SET, at most one REMOVE of one attribute, IS MISSING and plain comparisons. */
function updateStatement(write: RowWrite, tableName: string): BatchStatement | undefined {
  const [all, ...others] = write.when;
  const [removed, ...more] = write.remove ?? [];
  if (all === undefined || others.length + more.length > 0 || hasAny(write.sum) || hasAny(write.keep))
    return undefined;
  const parameters: AttributeValue[] = [];
  // Built by hand: a mass reclaim makes one for every job.
  let text = '';
  for (const name of Object.keys(write.set)) {
    text += `${text === '' ? '' : ', '}"${name}" = ?`;
    parameters.push(toValue(write.set[name]));
  }
  if (removed !== undefined) text += ` REMOVE "${removed}"`;
  text += ' WHERE "jobId" = ?';
  parameters.push({ S: write.jobId });
  for (const clause of all) {
    if (clause.is === 'absent') {
      text += ` AND "${clause.attribute}" IS MISSING`;
      continue;
    }
    const comparison = COMPARISONS[clause.is];
    if (comparison === undefined || !('value' in clause)) return undefined;
    text += ` AND "${clause.attribute}" ${comparison} ?`;
    parameters.push(toValue(clause.value));
  }
  return {
    Statement: `UPDATE "${tableName}" SET ${text}`,
    Parameters: parameters,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
}

const hasAny = (attributes: object | undefined): boolean =>
  attributes !== undefined && Object.keys(attributes).length > 0;

/** What PartiQL can say of one attribute on every engine. */
const COMPARISONS: Readonly<Partial<Record<Clause['is'], string>>> = { equal: '=', below: '<', atMost: '<=' };
