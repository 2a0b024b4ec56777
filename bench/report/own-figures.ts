import { figure, ratio, seconds, spread, table } from './markdown.ts';
import type { Results } from './results.ts';

/** The sections that tell of Leasehold alone: figures that do not depend on the engine, scaling, prices, savings. */
export const ownSections = (results: Results): Record<string, string> => ({
  settings: settingsSection(results),
  own: ownSection(results),
  lambda: lambdaSection(results),
  limits: limitsSection(results),
  wire: wireSection(results),
  scaling: scalingSection(results),
  payloads: payloadSection(results),
  savings: savingsSection(results),
});

/** The section of docs/operating/scale.md that is simulated. */
export const scaleSections = ({ scaleSimulation }: Results): Record<string, string> => ({
  scale: table(
    [
      'jobs',
      'lease',
      'shards',
      'claimed within',
      'fullest shard, above the mean',
      'mean units/s of a key',
      'highest second',
      'highest in the first minute',
    ],
    (scaleSimulation ?? []).map((each) => [
      each.jobs.toLocaleString('en-US'),
      seconds(each.leaseMs),
      String(each.shards),
      seconds(each.claimedWithinMs),
      `${figure(100 * each.fullestShare)}%`,
      figure(each.meanUnits),
      figure(each.highestUnits),
      figure(each.highestUnitsAtFirst),
    ]),
  ),
});

const settingsSection = ({ systems }: Results): string =>
  table(
    ['system', 'version', 'store', 'default', 'fast'],
    (systems ?? []).map(({ title, version, store, settings }) => [
      ...[title, version, store, settings.default, settings.fast],
    ]),
  );

const ownSection = ({ ownCost }: Results): string =>
  table(
    ['concurrency', 'latency', 'how it writes', 'requests a job', 'CPU ms a job', 'jobs/s of one process'],
    (ownCost ?? []).map((each) => [
      String(each.concurrency),
      each.latency ?? 'none',
      each.variant,
      figure(each.requestsPerJob),
      spread(each.cpuMsPerJob),
      spread(each.jobsPerSecond),
    ]),
  );

const lambdaSection = ({ lambdaHost }: Results): string =>
  lambdaHost === undefined
    ? 'Not measured yet.'
    : table(
        ['latency', 'requests a message', 'ms a message', 'CPU ms a message'],
        lambdaHost.map((each) => [
          each.latency,
          figure(each.requestsPerMessage),
          spread(each.wallMs),
          spread(each.cpuMs),
        ]),
      );

function limitsSection({ limits }: Results): string {
  if (limits === undefined) return 'Not measured yet: `npm run bench -- --only limits`.';
  const noisy = table(
    ['limit', 'backlog of the noisy tenant', 'quiet jobs started', 'median wait', 'p95'],
    limits.noisyTenant.map((each) => [
      each.limit,
      each.backlog.toLocaleString('en-US'),
      `${each.started} of ${each.of}`,
      `${figure(each.medianMs)} ms`,
      `${figure(each.p95Ms)} ms`,
    ]),
  );
  const rates = table(
    ['limit', 'a job takes', 'backlog', 'jobs/s', 'at most, if no place were ever empty', 'most at once'],
    limits.rates.map((each) => [
      String(each.limit),
      `${each.jobMs} ms`,
      each.backlog.toLocaleString('en-US'),
      figure(each.jobsPerSecond),
      figure(each.idealPerSecond),
      String(each.mostAtOnce),
    ]),
  );
  return `${noisy}\n\n${rates}`;
}

/** Engines that give the same account share a row; otherwise each is named. */
function wireSection({ wireCost }: Results): string {
  const rows = new Map<string, { readonly engines: string[]; readonly cells: string[] }>();
  for (const { transition, engine, ...counts } of wireCost ?? []) {
    const { requestBytes, replyBytes, tableUnits, indexUnits } = counts;
    const cells = [transition, ...[requestBytes, replyBytes, tableUnits, indexUnits].map(figure)];
    const row = rows.get(cells.join()) ?? { engines: [], cells };
    row.engines.push(engine);
    rows.set(cells.join(), row);
  }
  const all = new Set((wireCost ?? []).map(({ engine }) => engine)).size;
  return table(
    ['transition', 'request bytes', 'reply bytes', 'table units', 'index units'],
    [...rows.values()].map(({ engines, cells: [transition = '', ...figures] }) => [
      engines.length === all ? transition : `${transition} (${engines.join(', ')})`,
      ...figures,
    ]),
  );
}

function scalingSection({ scaling }: Results): string {
  if (scaling === undefined) return '';
  return table(
    ['what grows', 'size', 'requests', 'read units', 'write units', 'ms'],
    (['finished', 'healthy', 'lapsed'] as const).flatMap((kind) =>
      scaling[kind].map((point) => [
        { finished: 'finished rows', healthy: 'healthy leases', lapsed: 'lapsed leases' }[kind],
        point.size.toLocaleString('en-US'),
        figure(point.requests),
        figure(point.readUnits),
        figure(point.writeUnits),
        spread(point.ms),
      ]),
    ),
  );
}

const payloadSection = ({ heartbeatPrice }: Results): string =>
  table(
    ['payload bytes', ...(heartbeatPrice ?? []).map(({ engine }) => `units a beat, ${engine}`)],
    (heartbeatPrice?.[0]?.payloads ?? []).map(({ payloadBytes }, i) => [
      payloadBytes.toLocaleString('en-US'),
      ...(heartbeatPrice ?? []).map(({ payloads }) => figure(payloads[i]?.unitsPerBeat)),
    ]),
  );

function savingsSection({ ownCost, reclaimRequests, bundles }: Results): string {
  const rows: string[][] = [];
  const add = (what: string, before: number | undefined, after: number | undefined, unit: string) => {
    if (before !== undefined && after !== undefined)
      rows.push([what, `${figure(before)} ${unit}`, `${figure(after)} ${unit}`, ratio(after, before)]);
  };
  for (const concurrency of [10, 100]) {
    const [before, after] = (ownCost ?? []).filter((each) => each.concurrency === concurrency);
    const at = `a short job at concurrency ${concurrency}`;
    add(`${at}: requests`, before?.requestsPerJob, after?.requestsPerJob, '');
    add(`${at}: CPU`, before?.cpuMsPerJob?.median, after?.cpuMsPerJob?.median, 'ms');
    add(`${at}: jobs/s of one process`, before?.jobsPerSecond?.median, after?.jobsPerSecond?.median, '');
  }
  const [single, batched] = reclaimRequests ?? [];
  add('a reclaimed job: requests', single?.requestsPerJob, batched?.requestsPerJob, '');
  add('a reclaimed job: CPU', single?.cpuMsPerJob, batched?.cpuMsPerJob, 'ms');
  for (const name of ['worker', 'reaper']) {
    const variants = (bundles ?? []).filter((each) => each.name === name);
    add(`bundle of the ${name}`, kb(variants[0]?.bytes), kb(variants.at(-1)?.bytes), 'KB');
    add(
      `import of the ${name}, quickest`,
      variants[0]?.importMs?.lowest,
      variants.at(-1)?.importMs?.lowest,
      'ms',
    );
  }
  return table(['what', 'before', 'after', 'ratio'], rows);
}

const kb = (bytes: number | undefined) => (bytes === undefined ? undefined : bytes / 1000);
