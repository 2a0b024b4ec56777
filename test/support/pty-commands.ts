import { runCli } from '../../lib/tools/cli/run-cli.ts';
import { processTerminal } from '../../lib/tools/cli/terminal/process-terminal.ts';

/** Runs the command lines in TEST_COMMANDS one after the other, each between two marks that no command writes. */
const commandLines = JSON.parse(process.env.TEST_COMMANDS ?? '[]') as string[][];
const terminal = processTerminal();
for (const args of commandLines) {
  process.stdout.write('\u0001');
  const code = await runCli(args, terminal);
  process.stdout.write(`\u0002${code}\u0003`);
}
