import { describe, expect, it } from 'vitest';
import { unknownTypeProblems } from '../../lib/tools/dev/local-pools.ts';
import { runInProcess } from '../support/cli.ts';

describe('a pool on the command line', () => {
  it.each([
    'render',
    'render=render',
    'render=ec2:render',
    'render=fargate',
    '=fargate:x',
    'a=b=lambda:x',
    'a:b=c',
  ])('is refused with an example: %s', async (text) => {
    const { code, stderr } = await runInProcess(['dev', 'src/jobs.ts', '--pool', text]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('Give name=kind:types, such as render=fargate:render,encode');
  });

  it('is refused without a jobs module, before anything starts', async () => {
    const { stderr } = await runInProcess(['dev', '--pool', 'a=lambda:x']);
    expect(stderr).toContain('the pools a need your jobs module');
  });
});

describe('the pools of a local stack', () => {
  it('have types of the jobs module only', () => {
    const pools = { a: { types: ['rendr', 'encode'], compute: 'lambda' } } as const;
    expect(unknownTypeProblems(pools, ['render', 'encode'])).toEqual([
      "pool 'a' has the type 'rendr', and the jobs module has no such type. Did you mean 'render'? It has: render, encode",
    ]);
  });
});
