import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { projectRoot, synthesize, withoutValidation } from './support.ts';

withoutValidation();

interface TemplateResource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}
type Resources = Readonly<Record<string, TemplateResource>>;

interface TableProperties {
  readonly AttributeDefinitions: readonly { readonly AttributeName: string }[];
  readonly GlobalSecondaryIndexes: readonly { readonly IndexName: string }[];
  readonly Replicas: readonly object[];
}

describe('a stack of version 0.1', () => {
  const file = join(projectRoot, 'test', 'fixtures', 'stack-of-0.1.json');
  const old: Resources = JSON.parse(readFileSync(file, 'utf8')).Resources;
  let now: Resources;
  beforeAll(() => {
    now = synthesize().template.toJSON().Resources;
  });
  const ofType = (resources: Resources, type: string) =>
    Object.keys(resources).filter((id) => resources[id]?.Type === type);

  // CloudFormation creates or deletes one index in an update, and replaces a table whose keys change.
  it('becomes this one by the deletion of one index', () => {
    const [id = ''] = ofType(old, 'AWS::DynamoDB::GlobalTable');
    const split = (properties: unknown) => {
      const {
        GlobalSecondaryIndexes,
        AttributeDefinitions,
        Replicas: _,
        ...rest
      } = properties as TableProperties;
      return { indexes: GlobalSecondaryIndexes, attributes: AttributeDefinitions, rest };
    };
    const [before, after] = [split(old[id]?.Properties), split(now[id]?.Properties)];
    expect(now[id]?.Type, 'under another logical id it would be replaced').toBe(old[id]?.Type);
    expect(after.rest).toEqual(before.rest);
    expect(after.indexes).toEqual(before.indexes.filter(({ IndexName }) => IndexName !== 'byFailure'));
    expect(before.indexes.length - after.indexes.length).toBe(1);
    expect(after.attributes).toEqual(
      before.attributes.filter(({ AttributeName }) => !['type', 'failedAt'].includes(AttributeName)),
    );
  });

  // Under another logical id it would be another queue, with none of the messages.
  it.each(['AWS::SQS::Queue', 'AWS::Logs::LogGroup', 'AWS::Lambda::Function'])(
    'keeps each %s in its place, but for where ticks went that EventBridge could not deliver',
    (type) => {
      const gone = ofType(old, type).filter((id) => now[id]?.Type !== type);
      expect(gone.filter((id) => !/^JobsMissedTicks/.test(id))).toEqual([]);
    },
  );
});
