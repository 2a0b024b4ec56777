#!/usr/bin/env node
import module from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

try {
  await import('../lib/node-version.ts');
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}

// Halves the time that a command takes to start; Tab completion starts one at every press.
try {
  // In the home of the user who runs this: code in a shared temporary folder may be another user's.
  module.enableCompileCache(join(userInfo().homedir, '.cache', 'leasehold'));
} catch {
  // A user without an entry among the system's users has no home.
}

const { processTerminal } = await import('../lib/tools/cli/terminal/process-terminal.ts');
const { runCli } = await import('../lib/tools/cli/run-cli.ts');

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
