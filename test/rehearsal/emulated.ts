import { join } from 'node:path';
import { rehearseCommand } from '../../rehearsal/rehearse.ts';

const LACKS = ['memory limits', 'throttling', 'metrics of log lines', 'alarms', 'DynamoDB itself'] as const;

/** The account rehearsal against an emulator that the environment names: the same code, without what the emulator lacks. */
process.exitCode = await rehearseCommand(process.argv.slice(2), {
  command: 'node test/rehearsal/emulated.ts',
  standIn: {
    app: join(import.meta.dirname, 'emulated-app.ts'),
    lacks: process.env.REHEARSE_EVERY_STEP === undefined ? LACKS : ['memory limits'],
    counts: { wakes: 2, rounds: 1, held: 3, looks: 5, throttled: 10 },
    pollMs: 500,
  },
});
process.exit();
