#!/usr/bin/env node
import { rehearseCommand } from './rehearse.ts';

process.exitCode = await rehearseCommand(process.argv.slice(2), {
  command: 'npx -p leasehold leasehold-rehearse',
});
process.exit();
