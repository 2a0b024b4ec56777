import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a host keeps what it shares with its cells: the second is there for containers without a folder to write to. */
const scratchFolders = (): readonly string[] => [tmpdir(), '/dev/shm'];

/**
 * Opens a file that nobody can find by a name, in the first folder that takes it, and returns its descriptor. Its room is
 * taken at once, as zeros: a handler may fill the disk later, and a host that then fails to write would take all its jobs along.
 */
export function openUnnamedFile(purpose: string, bytes: number, folders = scratchFolders()): number {
  const problems: unknown[] = [];
  for (const folder of folders)
    try {
      return openIn(folder, purpose, bytes);
    } catch (error) {
      problems.push(error);
    }
  throw problems[0];
}

function openIn(folder: string, purpose: string, bytes: number): number {
  const file = join(folder, `leasehold-${purpose}-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const descriptor = openSync(file, 'wx+', 0o600);
  try {
    unlinkSync(file);
    const zeros = new Uint8Array(bytes);
    // A disk that is nearly full takes a part, and refuses the rest.
    for (let at = 0; at < bytes; ) at += writeSync(descriptor, zeros, at, bytes - at, at);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
