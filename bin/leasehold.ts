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

// Halves the start time, which Tab completion needs at every press.
try {
  // In the user's home, because code in a shared temporary folder may be another user's.
  module.enableCompileCache(join(userInfo().homedir, '.cache', 'leasehold'));
} catch {
  // A user without an entry in the system has no home.
}

const { processTerminal } = await import('../lib/tools/cli/terminal/process-terminal.ts');
const { runCli } = await import('../lib/tools/cli/run-cli.ts');

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
