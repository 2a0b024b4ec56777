import type { Spread } from '../support/statistics.ts';
import { headlineSection } from './headline.ts';
import { figure, ratio, seconds, spread, table } from './markdown.ts';
import type { Results } from './results.ts';

/** The sections of docs/performance.md, from what was measured. */
export function performanceSections(results: Results): Record<string, string> {
  return {
    run: runSection(results),
    headline: headlineSection(results),
    settings: settingsSection(results),
    crash: crashSection(results),
    cells: cellsSection(results),
    init: initSection(results),
    fleet: fleetSection(results),
    beside: besideSection(results),
    mass: massSection(results),
    latency: latencySection(results),
    steady: steadySection(results),
    heartbeats: heartbeatSection(results),
    zombie: zombieSection(results),
    poison: poisonSection(results),
    outlive: outliveSection(results),
  };
}

const titleOf = (results: Results, name: string): string =>
  results.systems?.find((system) => system.name === name)?.title ?? name;

const rowsOf = <T>(
  results: Results,
  measured: Readonly<Record<string, T>> | undefined,
  row: (value: T, title: string, name: string) => readonly string[],
) => Object.entries(measured ?? {}).map(([name, value]) => row(value, titleOf(results, name), name));

function runSection({ machine, skipped }: Results): string {
  if (machine === undefined) return '';
  const { date, cpu, cores, node, loadBefore, loadAfter, quick, only, minutes } = machine;
  const left = Object.entries(skipped ?? {}).map(([name, why]) => `\n- ${name} was skipped: ${why}`);
  return (
    `Last run: ${date}, ${quick ? 'quick' : 'full'}, ${minutes} minutes, on ${cores} cores (${cpu}), Node ${node}. ` +
    `Load of the machine: ${figure(loadBefore)} before, ${figure(loadAfter)} after; where it is above ${cores}, ` +
    `others were using the machine and timings are only good as ratios.` +
    `${only === undefined ? '' : ` It measured ${only}; the other figures are of earlier runs.`}${left.join('')}`
  );
}

function settingsSection({ systems }: Results): string {
  return table(
    ['system', 'version', 'store', 'default', 'fast'],
    (systems ?? []).map(({ title, version, store, settings }) => [
      title,
      version,
      store,
      settings.default,
      settings.fast,
    ]),
  );
}

function crashSection(results: Results): string {
  const ours = results.crashFast?.leasehold?.spread?.median;
  const cell = (value: { spread: Spread | undefined; addedMs: number } | undefined) =>
    value === undefined ? '–' : `${spread(value.spread, seconds)}${value.addedMs > 0 ? ' *' : ''}`;
  return table(
    ['system', 'default settings', 'fast settings', 'fast, to Leasehold'],
    (results.systems ?? []).map(({ name, title }) => {
      const fast = results.crashFast?.[name];
      return [title, cell(results.crashDefault?.[name]), cell(fast), ratio(fast?.spread?.median, ours)];
    }),
  );
}

function cellsSection({ killedCell, killedCelery, crashDefault, systems }: Results): string {
  const inMs = (value: Spread | undefined) => spread(value, (ms) => `${figure(ms)} ms`);
  const ours = (killedCell ?? []).map(({ how, waiting, spread: measured, lost }) => [
    'Leasehold',
    how,
    waiting.toLocaleString('en-US'),
    inMs(measured) + (lost > 0 ? `, ${lost} not at all` : ''),
  ]);
  const celery = killedCelery && [
    ['Celery, prefork, late acknowledgement', 'SIGKILL', '0', inMs(killedCelery)],
  ];
  const peers = (systems ?? []).flatMap(({ name, title }) => {
    const measured = name === 'leasehold' ? undefined : crashDefault?.[name];
    if (measured === undefined) return [];
    return [[title, 'SIGKILL', '0', spread(measured.spread, seconds) + (measured.addedMs > 0 ? ' *' : '')]];
  });
  const head = ['system', 'how it died', 'messages waiting', 'until it runs again'];
  return table(head, [...ours, ...(celery ?? []), ...peers]);
}

function initSection({ init }: Results): string {
  if (init === undefined) return 'Not measured yet.';
  const inMs = (value: Spread | undefined) => spread(value, (ms) => `${figure(ms)} ms`);
  const inMb = (value: Spread | undefined) => spread(value, (mb) => `${figure(mb)} MB`);
  const names = { this: 'this version', 'the other': '0.1, handlers in the function’s own process' };
  return table(
    ['worker function', 'CPU', 'to 0.1, in pairs', 'until ready', 'at 0.29 of a processor', 'host', 'cell'],
    init.map((each) => [
      names[each.version],
      inMs(each.cpuMs),
      spread(each.cpuRatio, (times) => `${figure(times)}×`),
      inMs(each.wallMs),
      inMs(each.wallAtQuotaMs),
      inMb(each.hostPssMb),
      inMb(each.cellPssMb),
    ]),
  );
}

const fleetSection = ({ fleet }: Results): string =>
  table(
    ['what dies', 'all done after', 'allowed', 'done', 'failed', 'crashes charged', 'most starts of one'],
    (fleet ?? []).map((each) => [
      each.mishap,
      each.doneAfterMs === undefined ? '**never**' : seconds(each.doneAfterMs),
      seconds(each.boundMs),
      `${each.done} of 40`,
      String(each.failed),
      String(each.charged),
      String(each.mostStarts),
    ]),
  );

const besideSection = ({ besideTrouble }: Results): string =>
  table(
    ['beside', 'fresh jobs started', 'median wait', 'p95', 'suspects', 'processes hung'],
    (besideTrouble ?? []).map((each) => [
      each.trouble,
      `${each.started} of ${each.of}`,
      `${figure(each.medianMs)} ms`,
      `${figure(each.p95Ms)} ms`,
      String(each.suspects),
      String(each.hung),
    ]),
  );

function massSection(results: Results): string {
  const ours = (jobs: number) => results.massReclaim?.leasehold?.find((each) => each.jobs === jobs);
  const rows = Object.entries(results.massReclaim ?? {}).flatMap(([name, sizes]) =>
    // The smallest tells nothing that the others do not.
    sizes
      .filter(({ jobs }) => jobs >= 10_000 || sizes.length === 1)
      .map((size) => [
        titleOf(results, name),
        size.jobs.toLocaleString('en-US'),
        spread(size.jobsPerSecond) + (size.givenUp > 0 ? ' †' : ''),
        ratio(size.jobsPerSecond?.median, ours(size.jobs)?.jobsPerSecond?.median),
        figure(size.requestsPerJob?.median),
        spread(size.cpuMsPerJob),
        figure(size.rssMb?.median),
        figure(size.quietMs?.median),
        spread(size.heldUpMs),
      ]),
  );
  const head = [
    'system',
    'jobs',
    'jobs/s',
    'to Leasehold',
    'requests a job',
    'reaper CPU ms a job',
    'reaper MB',
  ];
  return table([...head, 'bystander before, p99 ms', 'bystander held up, ms'], rows);
}

function steadySection(results: Results): string {
  const rows = Object.entries(results.steadyState ?? {}).flatMap(([name, points]) =>
    points.map((point) => [
      titleOf(results, name),
      String(point.concurrency),
      spread(point.jobsPerSecond),
      ratio(
        point.jobsPerSecond?.median,
        results.steadyState?.leasehold?.find((each) => each.concurrency === point.concurrency)?.jobsPerSecond
          ?.median,
      ),
      figure(point.requestsPerJob?.median),
      spread(point.cpuMsPerJob),
    ]),
  );
  const head = [
    'system',
    'concurrency',
    'jobs/s',
    'to Leasehold',
    'store requests a job',
    'worker CPU ms a job',
  ];
  return table(head, rows);
}

function latencySection(results: Results): string {
  const all = Object.entries(results.atLatency ?? {});
  if (all.length === 0) return 'Not measured yet.';
  const ours = results.atLatency?.leasehold ?? [];
  const speedOf = (
    points: readonly { concurrency: number; step: number; jobsPerSecond: Spread | undefined }[],
    concurrency: number,
    step: number,
  ) => points.find((each) => each.concurrency === concurrency && each.step === step)?.jobsPerSecond?.median;
  const rows = [10, 100].flatMap((concurrency) =>
    all.flatMap(([name, points]) =>
      points
        .filter((point) => point.concurrency === concurrency)
        .map((point) => {
          const speed = point.jobsPerSecond?.median;
          return [
            titleOf(results, name),
            String(concurrency),
            point.latency + (point.roundTripMs === undefined ? '' : ` (${figure(point.roundTripMs)})`),
            spread(point.jobsPerSecond) + (point.unfinished > 0 ? ' †' : ''),
            ratio(speed, speedOf(points, concurrency, 0)),
            ratio(speed, speedOf(ours, concurrency, point.step)),
            figure(point.requestsPerJob?.median),
            spread(point.cpuMsPerJob),
          ];
        }),
    ),
  );
  const head = ['system', 'concurrency', 'latency', 'jobs/s', 'to its own without', 'to Leasehold'];
  return table([...head, 'requests a job', 'CPU ms a job'], rows);
}

const heartbeatSection = (results: Results): string =>
  table(
    ['system', 'lease renewed', 'heartbeats a job and minute', 'all requests a job and minute'],
    rowsOf(results, results.heartbeats, (value, title) => [
      title,
      value.leaseRenewed ? 'yes' : 'no',
      value.leaseRenewed ? spread(value.heartbeatsPerJobMinute) : 'none',
      spread(value.requestsPerJobMinute),
    ]),
  );

const zombieSection = (results: Results): string =>
  table(
    [
      'system',
      'ends the job under its successor',
      'its result stays',
      'its handler is told',
      'job at the end',
    ],
    rowsOf(results, results.zombie, (value, title) => [
      title,
      value.endedByZombie ? '**yes**' : 'no',
      value.resultIsZombies === undefined ? 'keeps none' : value.resultIsZombies ? '**yes**' : 'no',
      value.handlerTold ? 'yes' : 'no',
      value.finally,
    ]),
  );

const poisonSection = (results: Results): string =>
  table(
    [
      'system',
      'processes killed',
      'then',
      'neighbours done',
      'failed',
      'unfinished',
      'most starts of a neighbour',
    ],
    rowsOf(results, results.poison, (value, title) => [
      title,
      String(value.crashes),
      value.stopped ? 'stopped' : '**still being started**',
      `${value.neighbours.done} of 9`,
      String(value.neighbours.failed),
      String(value.neighbours.unfinished),
      String(value.mostStartsOfNeighbour),
    ]),
  );

function outliveSection(results: Results): string {
  return table(
    ['system', 'asleep: starts', 'job at the end', 'busy: starts', 'job at the end'],
    (results.systems ?? []).map(({ name, title }) => {
      const [asleep, busy] = [results.outliveSleep?.[name], results.outliveBurn?.[name]];
      return [
        title,
        String(asleep?.starts ?? '–'),
        asleep?.finally ?? '–',
        String(busy?.starts ?? '–'),
        busy?.finally ?? '–',
      ];
    }),
  );
}
