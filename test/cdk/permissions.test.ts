import { describe, expect, it } from 'vitest';
import { permissionsOf, statementsOf } from './policies.ts';
import { standard as usual, withoutValidation } from './support.ts';

withoutValidation();

const standard = usual();

const ownLogs = (name: string) => [`logs:CreateLogStream on ${name}Logs`, `logs:PutLogEvents on ${name}Logs`];

describe('the functions', () => {
  it('have no managed policy and no wildcard among their actions', () => {
    for (const { Properties } of Object.values(standard.template.findResources('AWS::IAM::Role')))
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
    const actions = statementsOf(standard.template).flatMap(({ actions }) => actions);
    expect(actions.length).toBeGreaterThan(10);
    for (const action of actions) expect(action).not.toContain('*');
  });

  it('write to their own logs only', () => {
    for (const name of ['Worker', 'Reaper', 'DeadLetter'])
      expect(permissionsOf(standard.template, new RegExp(name))).toEqual(
        expect.arrayContaining(ownLogs(name)),
      );
    expect(permissionsOf(standard.template, /./).filter((line) => line.startsWith('xray:'))).toEqual([]);
  });
});
