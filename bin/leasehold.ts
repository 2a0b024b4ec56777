#!/usr/bin/env node
import { processTerminal } from '../lib/cli/process-terminal.ts';
import { runCli } from '../lib/cli/run-cli.ts';

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
