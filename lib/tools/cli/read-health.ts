import type { Overview } from '../../client/overview.ts';
import { type Health, healthOf, type LastHour } from '../inspect/health.ts';
import { healthStrip } from '../inspect/health-strip.ts';
import { lastHourOf } from '../inspect/last-hour.ts';
import type { System } from './system/system.ts';
import type { Colors, Output } from './terminal/output.ts';

type Told = ReturnType<typeof healthStrip>;

export async function readHealth(
  system: System,
  overview: Overview,
): Promise<{ readonly health: Health; readonly lastHour: Told }> {
  const [oldestMessageMs, lastHour] = await Promise.all([system.queueAge(), readLastHour(system)]);
  const signs = { ...overview, oldestMessageMs, lastHour };
  const health = healthOf(signs, system.settings);
  const told = healthStrip(signs, health).filter(
    ({ name, tone }) => ['failed', 'lost', 'throttled'].includes(name) && tone !== 'unknown',
  );
  return { health, lastHour: told };
}

const HOUR_MS = 3_600_000;

const readLastHour = async ({ metricHistory, service }: System): Promise<LastHour | undefined> =>
  metricHistory?.(HOUR_MS, 60_000).then(
    ({ lines }) => lastHourOf(lines, service !== undefined),
    () => undefined,
  );

const marks = {
  healthy: ({ green }: Colors) => green('✓'),
  degraded: ({ yellow }: Colors) => yellow('!'),
  down: ({ red }: Colors) => red('✗'),
};

export function tellHealth(output: Output, { state, message, reasons }: Health): void {
  const { colors } = output;
  output.say(`${marks[state](colors)} `, message, colors.bold);
  for (const { state: of, message: why, next } of reasons) {
    if (of !== state) output.say('  ', `also ${of}: ${why}`);
    output.say(`  ${colors.dim('→')} `, next, colors.dim);
  }
}
