import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import type { Faults } from '../scenarios/faults.ts';
import type { Spread } from '../support/statistics.ts';
import { duration, figure, seconds, spread, table } from './markdown.ts';
import { earlierLease, type Results, rowsOf } from './results.ts';

const NOT_YET = 'Not measured yet.';
/** Of a fleet. */
const JOBS = 40;

/** The sections about what dies, hangs or comes back. */
export const recoverySections = (results: Results): Record<string, string> => ({
  crash: crashSection(results),
  cells: cellsSection(results),
  fleet: fleetSection(results),
  faults: faultsSection(results),
  beside: besideSection(results),
  hung: hungSection(results),
  poison: poisonSection(results),
  zombie: zombieSection(results),
  outlive: outliveSection(results),
  stale: staleSection(results),
});

const untilAgain = (value: { spread: Spread | undefined; addedMs: number } | undefined): string =>
  value === undefined ? '–' : `${spread(value.spread, seconds)}${value.addedMs > 0 ? ' *' : ''}`;

function crashSection(results: Results): string {
  const earlier = earlierLease(results.crashDefault);
  const bound = recoveryBound(defaultSettings).usualMs;
  const note = earlier && [
    `Leasehold was measured with ${earlier}. With today's default of ${seconds(defaultSettings.leaseMs)} a job is reclaimed within ${seconds(bound)}, by formula.`,
  ];
  const figures = table(
    ['system', 'default settings', 'fast settings'],
    (results.systems ?? []).map(({ name, title }) => [
      title,
      untilAgain(results.crashDefault?.[name]),
      untilAgain(results.crashFast?.[name]),
    ]),
  );
  return [figures, ...(note ?? [])].join('\n\n');
}

function cellsSection({ killedCell, killedCelery }: Results): string {
  const inMs = (value: Spread | undefined) => spread(value, (ms) => `${figure(ms)} ms`);
  const ways = [...new Set((killedCell ?? []).map(({ how }) => how))];
  const ours = ways.map((how) => {
    const cells = [true, false].map((isAlone) => {
      const found = killedCell?.find((each) => each.how === how && (each.waiting === 0) === isAlone);
      return (
        inMs(found?.spread) + (found !== undefined && found.lost > 0 ? `, ${found.lost} not at all` : '')
      );
    });
    return [`Leasehold, ${how}`, ...cells];
  });
  const celery = killedCelery && [
    ['Celery, prefork, late acknowledgement, SIGKILL', inMs(killedCelery), '–'],
  ];
  const head = ['how it died', 'until it runs again', 'with 10,000 messages waiting'];
  return table(head, [...ours, ...(celery ?? [])]);
}

const fleetSection = ({ fleet }: Results): string =>
  table(
    ['what dies', 'all done after', 'allowed', 'done', 'failed', 'crashes charged', 'most starts of one'],
    (fleet ?? []).map((each) => [
      each.fault,
      each.doneAfterMs === undefined ? '**never**' : seconds(each.doneAfterMs),
      seconds(each.boundMs),
      `${each.done} of 40`,
      String(each.failed),
      String(each.charged),
      String(each.mostStarts),
    ]),
  );

function faultsSection(results: Results): string {
  if (results.faults === undefined) return NOT_YET;
  const doneAfter = ({ doneAfterMs, done, failed, addedMs }: Faults['everything']) => {
    if (done === JOBS) return spread(doneAfterMs, seconds) + (addedMs > 0 ? ' *' : '');
    return `**${done} of ${JOBS} done**${failed > 0 ? `, ${failed} failed` : ''}`;
  };
  return table(
    [
      'system',
      'all killed: done after',
      'new jobs started',
      'median wait',
      'p95',
      'outage: done after',
      'most starts of one',
    ],
    rowsOf(results, results.faults, ({ everything, outage }, title) => [
      title,
      doneAfter(everything),
      `${everything.fresh?.started ?? '–'} of ${everything.fresh?.of ?? '–'}`,
      duration(everything.fresh?.medianMs ?? Number.NaN),
      duration(everything.fresh?.p95Ms ?? Number.NaN),
      doneAfter(outage),
      `${everything.mostStarts} and ${outage.mostStarts}`,
    ]),
  );
}

const hungSection = (results: Results): string =>
  results.hung === undefined
    ? NOT_YET
    : table(
        ['system', 'processes hung', 'neighbors done', 'new jobs started', 'the hung job'],
        rowsOf(results, results.hung, (value, title) => [
          title,
          value.processesHung === 0 ? '0 of 2' : `**${value.processesHung} of 2**`,
          `${value.neighborsDone} of 9`,
          `${value.fresh.started} of ${value.fresh.of}`,
          value.status === 'failed' ? 'is stopped' : `still ${value.status}`,
        ]),
      );

const besideSection = ({ besideTrouble }: Results): string =>
  table(
    ['next to', 'new jobs started', 'median wait', 'p95', 'marked jobs', 'processes hung'],
    (besideTrouble ?? []).map((each) => [
      each.trouble,
      `${each.started} of ${each.of}`,
      `${figure(each.medianMs)} ms`,
      `${figure(each.p95Ms)} ms`,
      String(each.suspects),
      String(each.hung),
    ]),
  );

const poisonSection = (results: Results): string =>
  table(
    ['system', 'processes killed', 'then', 'neighbors done', 'failed', 'most starts of a neighbor'],
    rowsOf(results, results.poison, (value, title) => [
      title,
      String(value.crashes),
      value.stopped ? 'stopped' : '**still being started**',
      `${value.neighbors.done} of 9`,
      String(value.neighbors.failed),
      String(value.mostStartsOfNeighbor),
    ]),
  );

const zombieSection = (results: Results): string =>
  table(
    [
      'system',
      'ends the job of its successor',
      'its result stays',
      'its handler is notified',
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

/** What a reader compares of the two sections before and after; their whole tables are on the other page. */
const staleSection = (results: Results): string =>
  table(
    [
      'system',
      "a frozen worker ends its successor's job",
      'its handler is notified',
      'starts of a sleeping job',
      'of a computing job',
    ],
    rowsOf(results, results.zombie, ({ endedByZombie, handlerTold }, title, name) => [
      title,
      endedByZombie ? '**yes**' : 'no',
      handlerTold ? 'yes' : 'no',
      String(results.outliveSleep?.[name]?.starts ?? '–'),
      String(results.outliveBurn?.[name]?.starts ?? '–'),
    ]),
  );

function outliveSection(results: Results): string {
  return table(
    ['system', 'sleeping: starts', 'job at the end', 'computing: starts', 'job at the end'],
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
