import { text } from 'node:stream/consumers';
import { invoke } from './invoke.ts';

/** Loads the bundle named as its argument, invokes it with the messages on its input, and prints what was not acknowledged. */
const { handler } = await import(process.argv[2] ?? '');
const failures = await invoke(handler, JSON.parse(await text(process.stdin)));
process.stdout.write(`failures: ${JSON.stringify(failures)}\n`);
process.exit(0);
