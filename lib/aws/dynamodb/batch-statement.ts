import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { rowAfter } from '../../protocol/writes/evaluate.ts';
import { type Clause, isMemberPath, type Row, type RowWrite } from '../../protocol/writes/row-write.ts';
import { toValue } from './attributes.ts';

type BatchStatement = ReturnType<typeof statementOf>;

const statementOf = (Statement: string, Parameters: AttributeValue[]) => ({
  Statement,
  Parameters,
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
});

export interface BatchedWrite {
  readonly write: RowWrite;
  readonly statement: BatchStatement;
  readonly row?: Row;
}

/** Undefined where engines differ on the PartiQL. INSERT never overwrites, UPDATE never creates. */
export function batchedWrite(write: RowWrite, tableName: string): BatchedWrite | undefined {
  if (write.when.some((all) => all.some(isRowAbsent))) {
    const row = write.creates ?? rowAfter(write, undefined);
    return { write, row, statement: insertStatement(row, tableName) };
  }
  const statement = updateStatement(write, tableName);
  return statement && { write, statement };
}

const isRowAbsent = (clause: Clause): boolean => clause.attribute === 'jobId' && clause.is === 'absent';

function insertStatement(row: Row, tableName: string): BatchStatement {
  const names = Object.keys(row);
  const values = names.map((name) => toValue(row[name]));
  return statementOf(`INSERT INTO "${tableName}" VALUE ${membersText(names)}`, values);
}

let lastNames: readonly string[] = [];
let lastMembers = '{}';

/** Claims usually have the same attributes, so the last text is reused. */
function membersText(names: readonly string[]): string {
  if (names.length !== lastNames.length || names.some((name, i) => name !== lastNames[i])) {
    lastNames = names;
    lastMembers = `{${names.map((name) => `'${name}': ?`).join(', ')}}`;
  }
  return lastMembers;
}

/** Engines agree only on one SET, one REMOVE of one attribute, IS MISSING and plain comparisons. */
function updateStatement(write: RowWrite, tableName: string): BatchStatement | undefined {
  const [all, ...others] = write.when;
  const [removed, ...more] = write.remove ?? [];
  if (all === undefined || others.length + more.length > 0 || hasAny(write.sum) || hasAny(write.keep))
    return undefined;
  const parameters: AttributeValue[] = [];
  // Hand-built for speed in a mass reclaim.
  let text = '';
  for (const name of Object.keys(write.set)) {
    if (isMemberPath(name)) return undefined;
    text += `${text === '' ? '' : ', '}"${name}" = ?`;
    parameters.push(toValue(write.set[name]));
  }
  if (removed !== undefined && isMemberPath(removed)) return undefined;
  if (removed !== undefined) text += ` REMOVE "${removed}"`;
  text += ' WHERE "jobId" = ?';
  parameters.push({ S: write.jobId });
  for (const clause of all) {
    if (isMemberPath(clause.attribute)) return undefined;
    if (clause.is === 'absent') {
      text += ` AND "${clause.attribute}" IS MISSING`;
      continue;
    }
    const comparison = COMPARISONS[clause.is];
    if (comparison === undefined || !('value' in clause)) return undefined;
    text += ` AND "${clause.attribute}" ${comparison} ?`;
    parameters.push(toValue(clause.value));
  }
  return statementOf(`UPDATE "${tableName}" SET ${text}`, parameters);
}

const hasAny = (attributes: object | undefined): boolean =>
  attributes !== undefined && Object.keys(attributes).length > 0;

const COMPARISONS: Readonly<Partial<Record<Clause['is'], string>>> = { equal: '=', below: '<', atMost: '<=' };
