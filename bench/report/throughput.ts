import { defaultSettings } from '../../lib/settings/settings.ts';
import type { AtLatency } from '../scenarios/latency.ts';
import type { Spread } from '../support/statistics.ts';
import type { Profile } from '../systems/system.ts';
import { figure, ratio, spread, table } from './markdown.ts';
import { earlierLease, type Results, rowsOf, titleOf } from './results.ts';

const NOT_YET = 'Not measured yet.';
/** The step of latency that production has. */
const AS_USUAL = 2;

/** The sections about how many, how fast, and at what price. */
export const throughputSections = (results: Results): Record<string, string> => ({
  init: initSection(results),
  throughput: throughputSection(results),
  latency: latencySection(results),
  wholeMass: wholeMassSection(results),
  heartbeats: heartbeatSection(results),
});

function initSection({ init }: Results): string {
  if (init === undefined) return NOT_YET;
  const inMs = (value: Spread | undefined) => spread(value, (ms) => `${figure(ms)} ms`);
  const inMb = (value: Spread | undefined) => spread(value, (mb) => `${figure(mb)} MB`);
  return table(
    ['CPU', 'until ready', 'at 0.29 of a processor', 'host', 'cell'],
    [
      [
        inMs(init.cpuMs),
        inMs(init.wallMs),
        inMs(init.wallAtQuotaMs),
        inMb(init.hostPssMb),
        inMb(init.cellPssMb),
      ],
    ],
  );
}

/** One row of what was measured with a network in between. */
export const pointOf = (
  points: readonly AtLatency[] | undefined,
  { concurrency, step, profile = 'fast' }: Pick<AtLatency, 'concurrency' | 'step' | 'profile'>,
): AtLatency | undefined =>
  points?.find(
    (each) => each.concurrency === concurrency && each.step === step && (each.profile ?? 'fast') === profile,
  );

function wholeMassSection(results: Results): string {
  const rows = Object.entries(results.massReclaim ?? {}).flatMap(([name, sizes]) =>
    sizes.map((size) => [
      titleOf(results, name),
      size.jobs.toLocaleString('en-US'),
      spread(size.jobsPerSecond) + (size.givenUp > 0 ? ' †' : ''),
      figure(size.requestsPerJob?.median),
      spread(size.cpuMsPerJob),
      figure(size.rssMb?.median),
      figure(size.quietMs?.median),
      spread(size.heldUpMs),
    ]),
  );
  const head = ['system', 'jobs', 'jobs/s', 'requests per job', 'reaper CPU ms per job', 'reaper MB'];
  return table([...head, 'bystander before, p99 ms', 'bystander delayed by, ms'], rows);
}

/** Without latency and with what production has. */
function throughputSection(results: Results): string {
  if (results.atLatency === undefined) return NOT_YET;
  const of = (name: string, step: number, profile?: Profile) =>
    pointOf(results.atLatency?.[name], { concurrency: 100, step, profile });
  const speed = (name: string, step: number, profile?: Profile) =>
    figure(of(name, step, profile)?.jobsPerSecond?.median);
  return table(
    [
      'system',
      'jobs/s, no latency',
      'typical latency',
      'the same, default settings',
      'requests per job',
      'CPU ms per job',
    ],
    Object.keys(results.atLatency).map((name) => [
      titleOf(results, name),
      speed(name, 0),
      speed(name, AS_USUAL),
      speed(name, AS_USUAL, 'default'),
      figure(of(name, AS_USUAL)?.requestsPerJob?.median),
      figure(of(name, AS_USUAL)?.cpuMsPerJob?.median),
    ]),
  );
}

function latencySection(results: Results): string {
  const all = Object.entries(results.atLatency ?? {});
  if (all.length === 0) return NOT_YET;
  const rows = [10, 100].flatMap((concurrency) =>
    all.flatMap(([name, points]) =>
      points
        .filter((point) => point.concurrency === concurrency)
        .map((point) => {
          const speed = point.jobsPerSecond?.median;
          return [
            titleOf(results, name) + (point.profile === 'default' ? ', default settings' : ''),
            String(concurrency),
            point.latency + (point.roundTripMs === undefined ? '' : ` (${figure(point.roundTripMs)})`),
            spread(point.jobsPerSecond) + (point.unfinished > 0 ? ' †' : ''),
            ratio(speed, pointOf(points, { concurrency, step: 0 })?.jobsPerSecond?.median),
            ratio(speed, pointOf(results.atLatency?.leasehold, point)?.jobsPerSecond?.median),
            figure(point.requestsPerJob?.median),
            spread(point.cpuMsPerJob),
          ];
        }),
    ),
  );
  const head = [
    'system',
    'concurrency',
    'latency',
    'jobs/s',
    'relative to no latency',
    'relative to Leasehold',
  ];
  return table([...head, 'requests per job', 'CPU ms per job'], rows);
}

function heartbeatSection(results: Results): string {
  const earlier = earlierLease(results.heartbeats);
  const { leaseMs, heartbeatMs } = defaultSettings;
  const note = earlier && [
    `Leasehold was measured with ${earlier}. With today's default of ${leaseMs / 1000} s each job beats every ${heartbeatMs / 1000} s.`,
  ];
  const figures = table(
    ['system', 'lease renewed', 'heartbeats per job and minute', 'all requests per job and minute'],
    rowsOf(results, results.heartbeats, (value, title) => [
      title,
      value.leaseRenewed ? 'yes' : 'no',
      value.leaseRenewed ? spread(value.heartbeatsPerJobMinute) : 'none',
      spread(value.requestsPerJobMinute),
    ]),
  );
  return [figures, ...(note ?? [])].join('\n\n');
}
