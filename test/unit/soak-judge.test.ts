import { describe, expect, it } from 'vitest';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { jobProblems, trendProblems } from '../soak/judge-soak.ts';
import type { SoakSample } from '../soak/soak-sample.ts';
import { derivedSeed, seededRandom } from '../support/random.ts';
import { row } from '../support/rows.ts';

const JOBS = 1000;
const SAMPLES = 80;
const MINUTE = 60_000;

/** An hour of a worker that breathes, and does what is given besides; `part` goes from 0 to 1. */
const hour = (over: (part: number, sample: SoakSample) => Partial<SoakSample> = () => ({})) => {
  const random = seededRandom(derivedSeed(1, 'breath'));
  return Array.from({ length: SAMPLES }, (_, i): SoakSample => {
    const part = (i + 1) / SAMPLES;
    const sample: SoakSample = {
      ...{ atMs: part * 60 * MINUTE, running: JOBS, leases: JOBS + random.integer(0, 3), marginMs: 20_000 },
      ...{ beatsPerSecond: 110, requestsPerSecond: 70, loopDelayMs: 20, cells: 3, processes: 5 },
      ...{ hostRssMb: random.integer(280, 320), hostOwnMb: random.integer(220, 260), heldMb: 35 },
      ...{ cellsRssMb: 300 + random.integer(-2, 2), cellsOwnMb: 150 + random.integer(-2, 2) },
      ...{
        hostDescriptors: random.integer(80, 120),
        cellsDescriptors: 75,
        resources: random.integer(14, 80),
      },
    };
    return { ...sample, ...over(part, sample) };
  });
};
const problems = (...given: Parameters<typeof hour>) => trendProblems(hour(...given), JOBS);

describe('the judge of a soak', () => {
  it('takes what goes up and down for flat', () => {
    expect(problems()).toEqual([]);
  });

  it.each<[string, (part: number, sample: SoakSample) => Partial<SoakSample>]>([
    ['host, RSS in MB', (part, { hostRssMb }) => ({ hostRssMb: hostRssMb + 60 * part })],
    ['host, heap held in MB', (part) => ({ heldMb: part < 0.1 ? undefined : 35 + 8 * part })],
    ['cells, own memory in MB', (part, { cellsOwnMb }) => ({ cellsOwnMb: cellsOwnMb + 25 * part })],
    ['host, descriptors', (part, { hostDescriptors }) => ({ hostDescriptors: hostDescriptors + 60 * part })],
    ['cells, descriptors', (part) => ({ cellsDescriptors: 75 + Math.floor(12 * part) })],
    ['host, timers and sockets', (part, { resources }) => ({ resources: resources + 60 * part })],
    ['processes', (part) => ({ processes: 5 + Math.floor(3 * part) })],
    ['leases beyond jobs', (part, { leases }) => ({ leases: leases + Math.floor(11 * part) })],
  ])('notices a leak: %s', (name, leak) => {
    expect(problems(leak)).toEqual([expect.stringContaining(`${name}: grew by`)]);
  });

  it('notices each job that did not end well at its first claim', () => {
    const ended = {
      leaseUntil: undefined,
      leaseOwner: undefined,
      notBefore: undefined,
      dispatches: undefined,
    };
    const claim = (outcome: string) => ({
      claim01: { attempt: 1, owner: 'w/1', from: 1, to: 2, outcome },
    });
    const done = { ...ended, status: 'done', attempt: 1, ...claim('done') };
    const judge = (over: object) => jobProblems([parseJob(row({ ...done, ...over }))]);
    expect(judge({})).toEqual([]);
    expect(judge(claim('lapsed'))).toEqual([expect.stringContaining('1 lapsed')]);
    for (const over of [{ status: 'failed' }, { attempt: 2 }, { errors: 1 }, { crashes: 1 }, { releases: 1 }])
      expect(judge(over), JSON.stringify(over)).toHaveLength(1);
  });
});
