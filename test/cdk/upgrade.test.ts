import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot, synthesize, withoutValidation } from './support.ts';

withoutValidation();

interface TableResource {
  readonly Type: string;
  readonly Properties: {
    readonly AttributeDefinitions: readonly { readonly AttributeName: string }[];
    readonly GlobalSecondaryIndexes: readonly { readonly IndexName: string }[];
    readonly Replicas: readonly object[];
  };
}

/** CloudFormation creates or deletes one index in an update, and replaces a table whose keys change. */
it('a stack of version 0.1 becomes this one by the deletion of one index', () => {
  const file = join(projectRoot, 'test', 'fixtures', 'table-of-0.1.json');
  const old = JSON.parse(readFileSync(file, 'utf8')) as { logicalId: string; resource: TableResource };
  const resources = synthesize().template.toJSON().Resources as Readonly<Record<string, TableResource>>;
  const table = resources[old.logicalId];
  if (table === undefined) throw new Error('the table has another logical id: it would be replaced');
  const {
    GlobalSecondaryIndexes: before,
    AttributeDefinitions: names,
    Replicas: _,
    ...rest
  } = old.resource.Properties;
  const {
    GlobalSecondaryIndexes: after,
    AttributeDefinitions: kept,
    Replicas: __,
    ...same
  } = table.Properties;
  expect(table.Type).toBe(old.resource.Type);
  expect(same).toEqual(rest);
  expect(after).toEqual(before.filter(({ IndexName }) => IndexName !== 'byFailure'));
  expect(before.length - after.length).toBe(1);
  expect(kept).toEqual(names.filter(({ AttributeName }) => !['type', 'failedAt'].includes(AttributeName)));
});
