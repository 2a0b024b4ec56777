import type { UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { type Clause, pathOf, type RowWrite } from '../../protocol/writes/row-write.ts';

/** `status` and `type` are reserved words, so every attribute is a `#name`. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};
  #count = 0;

  name(attribute: string): string {
    const [name, key] = pathOf(attribute);
    this.names[`#${name}`] = name;
    return key === undefined ? `#${name}` : `#${name}.${this.#key(key)}`;
  }

  /** Map keys, such as job ids, may contain characters that placeholders cannot. */
  #key(key: string): string {
    const known = Object.keys(this.names).find((each) => each.startsWith('#k') && this.names[each] === key);
    const placeholder = known ?? `#k${Object.keys(this.names).length}`;
    this.names[placeholder] = key;
    return placeholder;
  }

  value(value: unknown): string {
    const placeholder = `:v${this.#count++}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}

const returnValues = { nothing: 'NONE', changed: 'UPDATED_NEW', row: 'ALL_NEW' } as const;

/** Returns the row if refused. */
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
    UpdateExpression: [clauseOf('SET', sets), clauseOf('REMOVE', removes)].filter(Boolean).join(' '),
    ConditionExpression: condition.length === 1 ? condition[0] : condition.map((c) => `(${c})`).join(' OR '),
    ExpressionAttributeNames: at.names,
    ExpressionAttributeValues: at.values,
    ReturnValues: returnValues[write.returns],
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } satisfies UpdateCommandInput;
}

const clauseOf = (keyword: string, actions: readonly string[]): string =>
  actions.length > 0 ? `${keyword} ${actions.join(', ')}` : '';

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
    case 'atMost':
      return `${name} <= ${at.value(clause.value)}`;
    case 'sizeBelow':
      return `size(${name}) < ${at.value(clause.value)}`;
  }
}
