import { closeSync, fstatSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createSharedMemory,
  fileBytes,
  SHARED_BYTES,
  type SharedBytes,
} from '../../../../lib/worker/cells/shared-memory.ts';
import { openUnnamedFile } from '../../../../lib/worker/cells/unnamed-file.ts';
import { heapBytes } from '../../../support/heap-bytes.ts';

const opened: number[] = [];
const open = (folders?: readonly string[]) => {
  const descriptor = openUnnamedFile(SHARED_BYTES, folders);
  opened.push(descriptor);
  return descriptor;
};
afterEach(() => opened.splice(0).forEach(closeSync));

const sides = (bytes: SharedBytes) => ({ host: createSharedMemory(bytes), cell: createSharedMemory(bytes) });
const grant = (run: number) => ({
  ...{ run, stop: run + 1, limitMs: run + 2 },
  endsAt: { wall: run + 3, monotonic: run + 4.5 },
});
const NOTHING = { run: 0, stop: 0, limitMs: 0, endsAt: { wall: 0, monotonic: 0 } };

describe.each([
  ['of a file', () => fileBytes(open())],
  ['on the heap', () => heapBytes()],
])('memory %s that host and cell share', (_, bytes) => {
  it('shows a cell what its host wrote, slot by slot, and zeros elsewhere', () => {
    const { host, cell } = sides(bytes());
    host.grant(0, grant(10));
    host.grant(3, grant(50));
    host.grant(0, grant(20));
    const read = [0, 1, 2, 3, 4].map((slot) => cell.granted(slot));
    expect(read).toEqual([grant(20), NOTHING, NOTHING, grant(50), NOTHING]);
  });

  it('shows the host pulse, start and progress, and mixes up neither slots nor sides', () => {
    const { host, cell } = sides(bytes());
    expect([host.pulse(), host.begun(2)]).toEqual([0, { run: 0, progress: 0 }]);
    cell.beat(7);
    cell.begin(2, 41);
    cell.begin(5, 42, 3);
    host.grant(2, grant(41));
    expect([host.pulse(), host.begun(2), host.begun(5)]).toEqual([
      ...[7, { run: 41, progress: 0 }],
      { run: 42, progress: 3 },
    ]);
    expect([cell.granted(2), cell.granted(1)]).toEqual([grant(41), NOTHING]);
  });
});

it('is read again while the other side is in the middle of a write', () => {
  const whole = heapBytes();
  let looks = 0;
  const cell = createSharedMemory({
    ...whole,
    read(into, position) {
      whole.read(into, position);
      // The first look meets a version at one end only.
      if (looks++ === 0) into.fill(0, 56);
    },
  });
  createSharedMemory(whole).grant(0, grant(10));
  expect([cell.granted(0), looks]).toEqual([grant(10), 2]);
});

describe('a file without a name', () => {
  it('cannot be found, and is in the first folder that takes it', () => {
    const missing = join(tmpdir(), 'leasehold-not-there');
    const { host, cell } = sides(fileBytes(open([missing, tmpdir()])));
    host.grant(0, grant(10));
    expect(cell.granted(0)).toEqual(grant(10));
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`leasehold-${process.pid}-`))).toEqual([]);
    expect(() => openUnnamedFile(1, [missing])).toThrow(/ENOENT/);
  });

  it('takes its room when it is opened, so that a disk that is full later refuses nothing', () => {
    const descriptor = open();
    const { host, cell } = sides(fileBytes(descriptor));
    host.grant(999, grant(10));
    cell.begin(999, 10, 1);
    expect(fstatSync(descriptor).size).toBe(SHARED_BYTES);
  });
});
