import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { NonRetryableError, ThrottledError } from '../../../lib/protocol/errors.ts';
import { LeaseholdError } from '../../../lib/wire/leasehold-error.ts';
import { Cancelled, ShuttingDown } from '../../../lib/worker/abort-reasons.ts';

const lib = join(import.meta.dirname, '..', '..', '..', 'lib');
const elsewhere = mkdtempSync(join(tmpdir(), 'leasehold-copy-'));
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

/** The classes a second time, as an application has them that loads the package by import and by require. */
async function secondCopy() {
  const files = ['wire/leasehold-error.ts', 'protocol/errors.ts', 'worker/abort-reasons.ts'] as const;
  for (const file of files) cpSync(join(lib, file), join(elsewhere, file));
  const [, errors, reasons] = await Promise.all(
    files.map((file) => import(/* @vite-ignore */ join(elsewhere, file))),
  );
  return { ...errors, ...reasons } as typeof import('../../../lib/protocol/errors.ts') &
    typeof import('../../../lib/worker/abort-reasons.ts');
}

describe('an error that another copy of the package made', () => {
  it('is what it says it is', async () => {
    const other = await secondCopy();
    expect(other.NonRetryableError).not.toBe(NonRetryableError);
    expect(new other.NonRetryableError('no')).toBeInstanceOf(NonRetryableError);
    expect(new other.NonRetryableError('no')).toBeInstanceOf(LeaseholdError);
    expect(new other.ShuttingDown('deadline')).toBeInstanceOf(ShuttingDown);
  });

  it('is nothing else', async () => {
    const other = await secondCopy();
    expect(new other.NonRetryableError('no')).not.toBeInstanceOf(Cancelled);
    expect(new other.ThrottledError('claim', undefined)).toBeInstanceOf(LeaseholdError);
    expect(new other.ThrottledError('claim', undefined)).not.toBeInstanceOf(NonRetryableError);
  });

  it('is seen through a class that a user derived from it', async () => {
    const other = await secondCopy();
    class NoSuchOrder extends other.NonRetryableError {}
    class NoSuchInvoice extends NonRetryableError {}
    expect(new NoSuchOrder('17')).toBeInstanceOf(NonRetryableError);
    expect(new NoSuchOrder('17')).not.toBeInstanceOf(NoSuchInvoice);
  });
});

it('distinguishes the classes of one copy as usual', () => {
  const error = new ThrottledError('claim', undefined);
  expect(error).toBeInstanceOf(ThrottledError);
  expect(error).not.toBeInstanceOf(NonRetryableError);
  for (const value of [undefined, null, 'text', {}, new Error('plain'), { code: 'NON_RETRYABLE' }])
    expect(value instanceof NonRetryableError).toBe(false);
});
