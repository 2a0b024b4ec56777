import { closeSync, fstatSync, writeSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import {
  createExitReporter,
  REPORT_BYTES,
  readExitReport,
} from '../../../../lib/worker/cells/exit-report.ts';
import { openUnnamedFile } from '../../../../lib/worker/cells/unnamed-file.ts';

const opened: number[] = [];
const stage = () => {
  const descriptor = openUnnamedFile(REPORT_BYTES);
  opened.push(descriptor);
  return { descriptor, reporter: createExitReporter(descriptor), read: () => readExitReport(descriptor) };
};
afterEach(() => opened.splice(0).forEach(closeSync));

it('keeps a report that follows one which was cleared', () => {
  const { reporter, read } = stage();
  reporter.write({ origin: 'a longer exception' });
  reporter.clear();
  expect(read()).toBeUndefined();
  reporter.write({ origin: 'exit' });
  expect(read()).toMatchObject({ origin: 'exit' });
});

it('takes no more room than the file has from its start, and reads nothing from a report that was cut', () => {
  const { reporter, read, descriptor } = stage();
  reporter.write({ error: 'x'.repeat(10_000) });
  expect([read(), fstatSync(descriptor).size]).toEqual([undefined, REPORT_BYTES]);
});

it.each(['null', '7', '"boom"', '{"error":7,"origin":8,"survived":9}'])('reads nothing from %s', (text) => {
  const { descriptor, read } = stage();
  writeSync(descriptor, text, 0);
  expect(Object.values(read() ?? {}).filter((each) => each !== undefined)).toEqual([]);
});
