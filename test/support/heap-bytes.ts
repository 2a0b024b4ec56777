import { SHARED_BYTES, type SharedBytes } from '../../lib/worker/cells/shared-memory.ts';

/** Bytes that a host and a cell share within one process. */
export function heapBytes(all = new Uint8Array(SHARED_BYTES)): SharedBytes {
  return {
    read: (into, position) => into.set(all.subarray(position, position + into.length)),
    write: (from, position) => all.set(from, position),
  };
}
