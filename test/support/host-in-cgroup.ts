import { writeFileSync } from 'node:fs';
import { cellStage } from './cell-stage.ts';

/** A host in a memory cgroup that is smaller than its cell thinks. Run as a program. */
writeFileSync(`${process.argv[2]}/cgroup.procs`, String(process.pid));
const { cells, start } = cellStage({ memoryMb: 2000 });
await cells.ready();
const death = await start('buffers').end;
const next = await start('return').end;
process.send?.({ cause: death.kind === 'died' ? death.cause : death.kind, next: next.kind });
await cells.close();
