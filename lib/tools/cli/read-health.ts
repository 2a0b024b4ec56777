import type { Overview } from '../../client/overview.ts';
import { type Health, healthOf } from '../inspect/health.ts';
import { healthStrip } from '../inspect/health-strip.ts';
import type { System } from './system.ts';
import type { Colours, Output } from './terminal/output.ts';

/** Counts of the last hour that CloudWatch has told. */
type Told = ReturnType<typeof healthStrip>;

/** The verdict on a system, from its counts and what CloudWatch knows. */
export async function readHealth(
  system: System,
  overview: Overview,
): Promise<{ readonly health: Health; readonly lastHour: Told }> {
  const [oldestMessageMs, lastHour] = await Promise.all([system.queueAge(), system.lastHour()]);
  const signs = { ...overview, oldestMessageMs, lastHour };
  const health = healthOf(signs, system.settings);
  const told = healthStrip(signs, health).filter(
    ({ name, tone }) => ['failed', 'lost', 'throttled'].includes(name) && tone !== 'unknown',
  );
  return { health, lastHour: told };
}

const marks = {
  healthy: ({ green }: Colours) => green('✓'),
  degraded: ({ yellow }: Colours) => yellow('!'),
  down: ({ red }: Colours) => red('✗'),
};

/** The verdict, and what to do about each reason. */
export function tellHealth(output: Output, { state, says, reasons }: Health): void {
  const { colours } = output;
  output.say(`${marks[state](colours)} `, says, colours.bold);
  for (const { state: of, says: why, next } of reasons) {
    if (of !== state) output.say('  ', `also ${of}: ${why}`);
    output.say(`  ${colours.dim('→')} `, next, colours.dim);
  }
}
