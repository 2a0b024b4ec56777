import { processTerminal } from '../../lib/cli/process-terminal.ts';
import { runCli } from '../../lib/cli/run-cli.ts';

/** Runs the command lines in TEST_COMMANDS one after the other, each between two marks that no command writes. */
const commandLines = JSON.parse(process.env.TEST_COMMANDS ?? '[]') as string[][];
const terminal = processTerminal();
for (const args of commandLines) {
  process.stdout.write('\u0001');
  const code = await runCli(args, terminal);
  process.stdout.write(`\u0002${code}\u0003`);
}
