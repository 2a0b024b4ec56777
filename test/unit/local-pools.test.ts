import { describe, expect, it } from 'vitest';
import { localPoolProblems, parseLocalPool, unknownTypeProblems } from '../../lib/tools/dev/local-pools.ts';
import { runInProcess } from '../support/cli.ts';

describe('a pool on the command line', () => {
  it('is a name, a kind of compute and types', () => {
    expect(parseLocalPool('render=fargate:render,encode')).toEqual([
      'render',
      { compute: 'fargate', types: ['render', 'encode'] },
    ]);
    expect(parseLocalPool('mail=lambda:mail')).toEqual(['mail', { compute: 'lambda', types: ['mail'] }]);
  });

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

  it('is refused if it is there already', async () => {
    const pool = ['--pool', 'a=lambda:x'];
    const { stderr } = await runInProcess(['dev', 'src/jobs.ts', ...pool, ...pool]);
    expect(stderr).toContain("There is a pool 'a' already");
  });

  it('is refused without a jobs module, before anything starts', async () => {
    const { stderr } = await runInProcess(['dev', '--pool', 'a=lambda:x']);
    expect(stderr).toContain('the pools a need your jobs module');
  });
});

describe('the pools of a local stack', () => {
  it('are refused with another kind of compute', () => {
    const pools = { a: { types: ['x'], compute: 'ec2' as 'lambda' } };
    expect(localPoolProblems(pools, 'jobs.ts')).toEqual([
      "the compute of pool 'a' is 'ec2'; it must be lambda or fargate",
    ]);
  });

  it('have types of the jobs module only', () => {
    const pools = { a: { types: ['rendr', 'encode'], compute: 'lambda' } } as const;
    expect(unknownTypeProblems(pools, ['render', 'encode'])).toEqual([
      "pool 'a' has the type 'rendr', and the jobs module has no such type. Did you mean 'render'? It has: render, encode",
    ]);
  });
});
