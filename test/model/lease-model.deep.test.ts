import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

/** The same traces every time; `LEASEHOLD_TRACES=20000` walks further. */
const TRACES = Number(process.env.LEASEHOLD_TRACES ?? 2000);
const STEPS = 60;
/** A planted mistake must show within so many traces. */
const WITHIN = 2000;

const quint = join(import.meta.dirname, '../../node_modules/@informalsystems/quint/dist/src/cli.js');

/** Runs Quint's own simulator on one instance of the model. */
async function simulate(
  command: 'run' | 'test',
  [model, instance]: readonly [string, string],
  seed: string,
  options: readonly string[],
) {
  const args = [command, '--backend=typescript', `--main=${instance}`, `--seed=${seed}`, '--verbosity=1'];
  const child = spawn(process.execPath, [quint, ...args, ...options, join(import.meta.dirname, model)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, said: out + err };
}

const walk = (instance: string, traces: number, seed = '0x1') =>
  simulate('run', ['lease.qnt', instance], seed, [
    '--invariant=safe',
    `--max-steps=${STEPS}`,
    `--max-samples=${traces}`,
  ]);

describe('the formal model', { timeout: 600_000 }, () => {
  it('is safe on every trace', async () => {
    expect(await walk('sound', TRACES)).toMatchObject({
      code: 0,
      said: expect.stringContaining('No violation found'),
    });
  });

  it('ends every job, from wherever faults left it, once everybody gets their turn', async () => {
    const ended = await simulate('test', ['lease.qnt', 'sound'], '0x1', [`--max-samples=${TRACES / 4}`]);
    expect(ended).toMatchObject({ code: 0 });
  });

  // Each with a seed whose first traces show it: the search goes on from there should the model change.
  it.each([
    ['a worker’s writes do not name its claim', 'unfenced', '0xc3'],
    ['a reaper’s writes do not name the lease that was seen', 'unobserved', '0x7613'],
    ['the reaper does not allow for skew', 'hasty', '0x14264'],
    ['a restart does not name the claim that it ends', 'restartUnfenced', '0xc3'],
    ['a restart keeps the attempt of the claim that it ends', 'restartKeepsAttempt', '0xc3'],
    ['the pointer to a checkpoint does not name its claim', 'pointerUnfenced', '0x4e8d'],
    ['the row points to data before it is there', 'pointerFirst', '0x521'],
    ['a checkpoint’s data is overwritten in place', 'overwrittenInPlace', '0x29cca'],
    ['a later message replaces the payload', 'lastMessageWins', '0xb0f'],
  ])('sees what goes wrong when %s', async (_mistake, instance, seed) => {
    expect(await walk(instance, WITHIN, seed)).toMatchObject({
      code: 1,
      said: expect.stringContaining('Invariant violated'),
    });
  });

  it('sees that a job is lost when pending ones are not swept', async () => {
    const lost = await simulate('test', ['lease.qnt', 'forgetful'], '0x1', [`--max-samples=${WITHIN}`]);
    expect(lost).toMatchObject({ code: 1, said: expect.stringContaining('everyJobEndsTest failed') });
  });
});

describe('the formal model of the chain of reapers', { timeout: 600_000 }, () => {
  const chain = (instance: string, traces: number) =>
    simulate('test', ['wake.qnt', instance], '0x1', [`--max-samples=${traces}`]);

  it('keeps what the row promises, and is one chain again once everybody gets their turn', async () => {
    expect(await chain('soundWake', TRACES / 4)).toMatchObject({ code: 0 });
  });

  it.each([
    ['the row names a message before it is sent', 'namedFirst'],
    ['a message is gone before its reaper has ended', 'acknowledgedFirst'],
    ['any message counts', 'anyMessageCounts'],
    ['a tick leaves a broken chain alone', 'ticksMendNothing'],
  ])('sees what goes wrong when %s', async (_mistake, instance) => {
    expect(await chain(instance, WITHIN)).toMatchObject({
      code: 1,
      said: expect.stringContaining('oneChainTest failed'),
    });
  });
});
