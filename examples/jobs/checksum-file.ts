import { open } from 'node:fs/promises';
import { defineJob, NonRetryableError } from 'leasehold';
import * as z from 'zod';

const DEFAULT_SLICE_BYTES = 1024 * 1024;

/**
 * The Adler-32 checksum of a file, slice by slice. After each slice the place and the sum so far are stored, so that a run
 * that is cut short costs one slice and not the file.
 */
export const checksumFile = defineJob({
  type: 'checksum-file',
  payload: z.object({
    path: z.string().min(1),
    sliceBytes: z
      .int()
      .min(1)
      .max(64 * 1024 * 1024)
      .default(DEFAULT_SLICE_BYTES),
  }),
  checkpoint: z.object({ offset: z.int(), sum: z.int(), size: z.int() }),
  progressTimeoutMs: 5 * 60_000,
  async run({ payload, checkpoint }, { signal, save, progress }) {
    await using file = await open(payload.path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT'
        ? new NonRetryableError(`no file ${payload.path}`, { cause: error })
        : error;
    });
    const { size } = await file.stat();
    let { offset, sum } = checkpoint ?? { offset: 0, sum: 1 };
    if (checkpoint !== undefined && checkpoint.size !== size)
      throw new NonRetryableError(
        `the file had ${checkpoint.size} bytes when its checksum was begun and has ${size} now; send a new job`,
      );
    const slice = Buffer.alloc(payload.sliceBytes);
    while (offset < size) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(slice, 0, slice.length, offset);
      sum = adler32(slice.subarray(0, bytesRead), sum);
      offset += bytesRead;
      progress({ bytes: offset, of: size });
      if (offset < size) await save({ offset, sum, size });
    }
    return { adler32: sum.toString(16).padStart(8, '0'), bytes: size };
  },
});

const MODULUS = 65_521;

/** Continues a checksum from where an earlier slice left it: this is what makes the job resumable. */
function adler32(bytes: Uint8Array, from = 1): number {
  let low = from & 0xffff;
  let high = from >>> 16;
  for (const byte of bytes) {
    low = (low + byte) % MODULUS;
    high = (high + low) % MODULUS;
  }
  return ((high << 16) | low) >>> 0;
}
