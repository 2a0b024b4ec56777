import { type Bars, barsSvgOf } from './bars.ts';
import { duration, figure } from './markdown.ts';
import { type Plot, svgOf } from './plot.ts';
import { type Results, titleOf } from './results.ts';
import { pointOf } from './throughput.ts';

/** The plots of docs/images, by file name. */
export function plotsOf(results: Results): Record<string, string> {
  const { scaling } = results;
  const plots: Record<string, Plot> = {};
  const cost = (kind: 'finished' | 'healthy' | 'lapsed', title: string, label: string, log: boolean) => {
    if (scaling === undefined) return;
    const series = (name: string, of: 'requests' | 'readUnits') => ({
      name,
      points: scaling[kind].map((point) => [point.size, point[of]] as const),
    });
    plots[`sweep-${kind}`] = {
      title,
      x: { label, log },
      y: { label: 'a sweep' },
      series: [series('requests', 'requests'), series('read units', 'readUnits')],
    };
  };
  cost('finished', 'A sweep does not see finished rows', 'finished rows in the table', true);
  cost('healthy', 'A sweep does not pay for healthy leases', 'healthy leases', true);
  cost('lapsed', 'A sweep pays for lapsed leases, a batch for 25', 'lapsed leases', false);
  const drawn = [
    ...Object.entries(plots).map(([name, plot]) => [name, svgOf(plot)] as const),
    ...Object.entries(barsOf(results)).map(([name, bars]) => [name, barsSvgOf(bars)] as const),
  ];
  return Object.fromEntries(drawn.map(([name, svg]) => [`${name}.svg`, svg]));
}

/** How long recovery takes, and how many jobs run per second. */
function barsOf(results: Results): Record<string, Bars> {
  return { ...recoveryBars(results), ...throughputBars(results), ...fleetBars(results) };
}

function recoveryBars(results: Results): Record<string, Bars> {
  const { crashDefault, crashFast, killedCell, killedCelery } = results;
  if (crashDefault === undefined || crashFast === undefined) return {};
  const cell = killedCell?.find(({ how, waiting }) => how === 'SIGKILL' && waiting === 0)?.spread?.median;
  const groups = Object.keys(crashDefault).map((name) => ({
    name: titleOf(results, name),
    values: [crashDefault[name]?.spread?.median, crashFast[name]?.spread?.median],
  }));
  return {
    'recovery-times': {
      title: 'Until a job runs again after its process was killed (logarithmic)',
      series: ['default settings', 'leases of ten seconds'],
      log: true,
      told: duration,
      groups: [
        { name: 'Leasehold, a cell', values: [cell] },
        ...(killedCelery === undefined ? [] : [{ name: 'Celery, a child', values: [killedCelery.median] }]),
        ...groups,
      ],
    },
  };
}

function throughputBars(results: Results): Record<string, Bars> {
  if (results.atLatency === undefined) return {};
  return {
    throughput: {
      title: 'Short jobs per second, one process, 100 at once',
      series: ['no latency', 'low latency', 'typical latency'],
      told: figure,
      groups: Object.entries(results.atLatency).map(([name, points]) => ({
        name: titleOf(results, name),
        values: [0, 1, 2].map((step) => pointOf(points, { concurrency: 100, step })?.jobsPerSecond?.median),
      })),
    },
  };
}

function fleetBars(results: Results): Record<string, Bars> {
  if (results.faults === undefined) return {};
  return {
    faults: {
      title: '40 jobs of 20 s on two processes: until all are done (logarithmic)',
      series: ['everything is killed after 5 s', 'the store is unreachable for 16 s'],
      log: true,
      told: duration,
      groups: Object.entries(results.faults).map(([name, { everything, outage }]) => ({
        name: titleOf(results, name),
        values: [everything, outage].map(({ done, doneAfterMs }) =>
          done === 40 ? doneAfterMs?.median : undefined,
        ),
      })),
    },
  };
}
