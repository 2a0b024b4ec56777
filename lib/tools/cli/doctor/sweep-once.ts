import { clientConfig } from '../../../aws/client-defaults.ts';
import { systemRandom } from '../../../aws/clock.ts';
import type { Events, Telemetry } from '../../../protocol/ports.ts';
import type { SweepResult } from '../../../reaper/sweep.ts';
import { resourceVariables } from '../../../wire/environment.ts';
import { counted } from '../../inspect/counted.ts';
import { formatAge, formatDuration } from '../../inspect/format-duration.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import type { CliContext } from '../define-command.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';

export async function sweepOnce({ terminal }: CliContext, system: System, output: Output) {
  const { table, store, settings, clockGuard } = system;
  const queue = system.queue();
  if (!clockGuard.isSound())
    throw new CliError(
      `This machine's clock is ${formatDuration(clockGuard.offset()?.offsetMs ?? 0)} off DynamoDB's: it could reclaim jobs whose lease is live. Set the clock with NTP, then run 'leasehold doctor'`,
      exitCodes.refused,
    );
  const telemetry = notesOnly(output);
  const { sweep } = await import('../../../reaper/sweep.ts');
  const result = await sweep(
    {
      table,
      store,
      queue,
      telemetry,
      events: await eventsPort(system, telemetry),
      clock: terminal.clock,
      random: systemRandom,
      settings,
      clockGuard,
    },
    { shouldStop: () => terminal.interrupted.aborted },
  );
  output.json(result);
  report(output, result, terminal.clock.now());
  const { skipped } = result;
  const isWhole =
    result.complete &&
    result.errors + skipped.unwritten + skipped.newer + skipped.bad + result.hintsFailed === 0;
  return isWhole ? exitCodes.ok : exitCodes.refused;
}

/** Drops counts, which the result has, and metrics, which belong to the deployed reaper. */
const notesOnly = (output: Output): Telemetry => ({
  info: (_, fields) => {
    if (fields?.reason !== undefined) output.note(`not everything could be done: ${fields.reason}`);
  },
  warn: (message, fields) =>
    output.note(fields?.reason === undefined ? message : `${message}: ${fields.reason}`),
  error: (message, error) =>
    output.note(`${message}: ${error instanceof Error ? error.message : String(error)}`),
  count: () => {},
  gauge: () => {},
});

async function eventsPort({ found, settings }: System, telemetry: Telemetry): Promise<Events> {
  const [{ createEventBridgeEvents, noEvents }, { EventBridgeClient }] = await Promise.all([
    import('../../../aws/eventbridge.ts'),
    import('@aws-sdk/client-eventbridge'),
  ]);
  const busName = found.environment[resourceVariables.eventBusName];
  if (!busName || !settings.eventsEnabled) return noEvents;
  return createEventBridgeEvents({
    busName,
    serviceName: found.environment[resourceVariables.serviceName] ?? found.tableName,
    telemetry,
    client: new EventBridgeClient({ maxAttempts: 1, ...clientConfig(found.environment, 'EVENTBRIDGE') }),
  });
}

function report(output: Output, result: SweepResult, now: number): void {
  const { colors } = output;
  const { reclaimed, quarantined, redispatched, cancelled, skipped } = result;
  output.line(
    `swept in ${formatDuration(result.durationMs)}: ${counted(reclaimed, 'job')} reclaimed, ${quarantined} quarantined, ${redispatched} sent another hint, ${cancelled} cancelled; ${counted(result.hintsSent, 'hint')} sent`,
  );
  const left = Object.entries(skipped).filter(([, count]) => count > 0);
  if (left.length > 0)
    output.line(
      colors.yellow(
        `left as they are: ${left.map(([why, count]) => `${count} ${whyLeft[why] ?? why}`).join(', ')}`,
      ),
    );
  if (result.nextLapseAt !== undefined)
    output.line(`the next lease may lapse ${formatAge(result.nextLapseAt, now)}`);
}

const whyLeft: Readonly<Record<string, string>> = {
  moved: 'changed since they were read',
  bad: "cannot be read (run 'leasehold doctor')",
  newer: 'of a newer version',
  unwritten: 'could not be written',
  overCap: 'left for the next sweep (one moves 1,000)',
  stopped: 'not reached',
};
