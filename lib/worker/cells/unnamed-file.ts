import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * In memory if possible, because writing to a disk's file takes longer. Filled with zeros at once, because a failed write on
 * a full disk later would crash the host with all its jobs.
 */
export function openUnnamedFile(bytes: number, folders: readonly string[] = ['/dev/shm', tmpdir()]): number {
  const [folder = '', ...others] = folders;
  try {
    const file = join(folder, `leasehold-${process.pid}-${Math.random().toString(36).slice(2)}`);
    const descriptor = openSync(file, 'wx+', 0o600);
    try {
      unlinkSync(file);
      const zeros = new Uint8Array(bytes);
      // A nearly full disk writes only a part.
      for (let at = 0; at < bytes; ) at += writeSync(descriptor, zeros, at, bytes - at, at);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  } catch (error) {
    if (others.length > 0) return openUnnamedFile(bytes, others);
    throw error;
  }
}
