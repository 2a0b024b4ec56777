import type { UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import type { Clause, RowWrite } from '../../protocol/writes/row-write.ts';

/** Collects names and values: every attribute is referred to as `#name`, because `status` and `type` are reserved words. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};
  #count = 0;

  name(attribute: string): string {
    this.names[`#${attribute}`] = attribute;
    return `#${attribute}`;
  }

  value(value: unknown): string {
    const placeholder = `:v${this.#count++}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}

const returnValues = { nothing: 'NONE', changed: 'UPDATED_NEW', row: 'ALL_NEW' } as const;

/** The write as one UpdateItem with plain values, which on refusal brings back the row that refused it. */
export function updateExpression(write: RowWrite, tableName: string) {
  const at = new Placeholders();
  const sets = [
    ...Object.entries(write.set).map(([name, value]) => `${at.name(name)} = ${at.value(value)}`),
    ...Object.entries(write.keep ?? {}).map(
      ([name, value]) => `${at.name(name)} = if_not_exists(${at.name(name)}, ${at.value(value)})`,
    ),
    ...Object.entries(write.sum ?? {}).map(
      ([name, { of, otherwise, plus }]) =>
        `${at.name(name)} = if_not_exists(${at.name(of)}, ${at.value(otherwise)}) + ${at.value(plus)}`,
    ),
  ];
  const removes = (write.remove ?? []).map((name) => at.name(name));
  const condition = write.when.map((all) => all.map((clause) => conditionOf(clause, at)).join(' AND '));
  return {
    TableName: tableName,
    Key: { jobId: write.jobId },
    UpdateExpression: `SET ${sets.join(', ')}${removes.length > 0 ? ` REMOVE ${removes.join(', ')}` : ''}`,
    ConditionExpression: condition.length === 1 ? condition[0] : condition.map((c) => `(${c})`).join(' OR '),
    ExpressionAttributeNames: at.names,
    ExpressionAttributeValues: at.values,
    ReturnValues: returnValues[write.returns],
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } satisfies UpdateCommandInput;
}

function conditionOf(clause: Clause, at: Placeholders): string {
  const name = at.name(clause.attribute);
  switch (clause.is) {
    case 'absent':
      return `attribute_not_exists(${name})`;
    case 'present':
      return `attribute_exists(${name})`;
    case 'differs':
      return `(attribute_not_exists(${name}) OR ${name} <> ${at.value(clause.value)})`;
    case 'equal':
      return `${name} = ${at.value(clause.value)}`;
    case 'below':
      return `${name} < ${at.value(clause.value)}`;
    case 'absentOrAtMost':
      return `(attribute_not_exists(${name}) OR ${name} <= ${at.value(clause.value)})`;
    case 'atMost':
      return `${name} <= ${at.value(clause.value)}`;
  }
}
