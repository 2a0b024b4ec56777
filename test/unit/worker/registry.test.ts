import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod/mini';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { testJob } from '../../../lib/testing/test-job.ts';
import { defineJob, type JobOptions } from '../../../lib/worker/define-job.ts';
import { checkTypes, createRegistry, RegistryError, type ResultIn } from '../../../lib/worker/registry.ts';

const settings = resolveSettings();
const job = (name: string, options: JobOptions = {}) =>
  defineJob({ ...options, type: name, payload: z.unknown(), run: () => undefined });

describe('around', () => {
  it('must be a function', () => {
    expect(() => createRegistry([], { around: 'x' as never })).toThrow(
      "'around' is 'x'; it must be a function",
    );
  });
});

describe('a job type', () => {
  it.each([
    ['zod', z.object({ n: z.number() })],
    ['valibot', v.object({ n: v.number() })],
    ['arktype', type({ n: 'number' })],
  ])('checks payloads with %s', async (name, payload) => {
    const double = defineJob({ type: name, payload, run: (view) => view.payload.n * 2 });
    expect(await testJob(double, { n: 4 }).finish()).toMatchObject({ status: 'done', result: 8 });
    const refused = await testJob(double, { n: 'four' } as never).finish();
    expect(refused).toMatchObject({ status: 'failed', errors: 5 });
    expect(refused.lastError).toMatch(/schema.*n: /);
  });

  it('passes the schema’s output to the handler, and stores the payload as sent', async () => {
    const dated = defineJob({
      type: 'dated',
      payload: v.object({
        at: v.pipe(
          v.string(),
          v.transform((text) => new Date(text)),
        ),
      }),
      run: ({ payload }) => payload.at.getUTCFullYear(),
    });
    const tested = testJob(dated, { at: '2031-05-01' });
    expect(await tested.finish()).toMatchObject({ result: 2031, payload: '{"at":"2031-05-01"}' });
  });
});

describe('results, progress and checkpoints', () => {
  interface Line {
    readonly cents: number;
  }
  interface Invoice {
    readonly id: string;
    readonly lines: readonly Line[];
    readonly note?: string;
  }
  const invoice: Invoice = { id: 'a', lines: [{ cents: 5 }] };

  it('may be typed by an interface, and by nothing that JSON cannot express', async () => {
    const bill = defineJob({
      type: 'bill',
      async run(_job, { progress, save }) {
        progress(invoice);
        await save(invoice);
        return invoice;
      },
    });
    const registry = createRegistry([bill]);
    expectTypeOf<ResultIn<typeof registry, 'bill'>>().toEqualTypeOf<Invoice>();
    expect(await testJob(bill, {}).finish()).toMatchObject({ result: invoice, checkpoint: invoice });
    defineJob({
      type: 'dated',
      // @ts-expect-error a Date comes back as a string
      run: () => ({ at: new Date() }),
    });
    defineJob({
      type: 'mapped',
      // @ts-expect-error a Map comes back as {}
      run: (_job, { progress }) => progress(new Map()),
    });
  });
});

describe('a definition that no worker could run', () => {
  const right = { type: 'mail', payload: z.unknown(), run: () => undefined };

  it.each<[string, object, RegExp]>([
    ['a misspelt option', { maxAttempt: 3 }, /'maxAttempt' is unknown. Did you mean 'maxAttempts'\?/],
    ['an unknown part of the lease', { lease: { ms: 30_000, seconds: 3 } }, /'lease.seconds' is unknown/],
    ['a lease that is a number', { lease: 30_000 }, /lease is 30000; it must be an object such as { ms/],
    ['a lease above the longest', { lease: { ms: 3_600_001 } }, /lease.ms is 3600001/],
    ['a type of TypeScript’s in place of a schema', { payload: {} }, /payload must be a schema/],
    ['no function', { run: undefined }, /run must be the function/],
    ['attempts in words', { maxAttempts: 'three' }, /maxAttempts is "?'?three/],
    ['a limit of none', { limit: 0 }, /limit is 0; .* from 1 to 100. To run none, pause the type/],
    ['a limit in words', { limit: 'one' }, /limit is 'one'; .*\{ perKey: n \}/],
    ['a limit per key of none', { limit: { perKey: 0 } }, /limit\.perKey is 0; .* from 1 to 100/],
    ['a limit per key without a number', { limit: { perKey: undefined } }, /limit\.perKey is null/],
    ['both kinds of limit at once', { limit: { perKey: 1, total: 4 } }, /A type has one of the two/],
  ])('is refused where it is defined: %s', (_what, wrong, problem) => {
    expect(() => defineJob({ ...right, ...wrong } as never)).toThrow(problem);
    expect(() => createRegistry([{ ...right, ...wrong } as never])).toThrow(RegistryError);
  });

  it('is refused by a test as by a worker, so that a green test means a worker that starts', () => {
    const short = defineJob({ ...right, lease: { ms: 5000 } });
    expect(() => checkTypes(createRegistry([short]).definitions, settings)).toThrow(/lease.ms is 5000/);
    expect(() => testJob(short, {})).toThrow(/lease.ms is 5000/);
  });
});

describe('a registry', () => {
  it('refuses a type that is defined twice, and one whose name no message can carry', () => {
    expect(() => createRegistry([job('a'), job('a')])).toThrow(RegistryError);
    expect(() => createRegistry([job('a b')])).toThrow(/'a b' must be/);
  });

  it.each<[string, JobOptions, RegExp]>([
    ['a lease below the shortest', { lease: { ms: 9999 } }, /lease\.ms is 9999; .* from 20000 to 3600000/],
    ['a lease above the longest', { lease: { ms: 3_600_001 } }, /lease\.ms is 3600001/],
    ['too many attempts', { maxAttempts: 26 }, /maxAttempts is 26/],
    ['more crashes than attempts', { maxAttempts: 2, maxCrashes: 3 }, /maxCrashes is 3; .* from 1 to 2/],
    ['a backoff that begins above its cap', { backoff: { baseMs: 10, capMs: 5 } }, /backoff\.baseMs is 10/],
    ['a run of no length', { maxRunMs: 0 }, /maxRunMs is 0/],
    ['a stall of half a millisecond', { maxStallMs: 1000.5 }, /maxStallMs is 1000\.5/],
    ['a negative silence', { progressTimeoutMs: -1 }, /progressTimeoutMs is -1/],
  ])('is refused for %s', (_what, options, problem) => {
    expect(() => checkTypes(createRegistry([job('a', options)]).definitions, settings)).toThrow(problem);
  });

  it('takes over short times from the settings, where those are allowed', () => {
    const short = resolveSettings({ maxStallMs: 800, maxRunMs: 900 }, { allowShortTimes: true });
    expect(() => checkTypes(createRegistry([job('a')]).definitions, short)).not.toThrow();
  });

  it('names every problem at once', () => {
    const registry = createRegistry([job('a', { lease: { ms: 20 } }), job('b', { lease: { ms: 10 } })]);
    expect(() => checkTypes(registry.definitions, settings)).toThrow(
      expect.objectContaining({ problems: [expect.stringContaining("'a'"), expect.stringContaining("'b'")] }),
    );
  });
});
