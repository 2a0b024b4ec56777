import { fstatSync, readdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createSlate,
  type HostSlate,
  openSlate,
  SLATE_DESCRIPTOR,
} from '../../../../lib/worker/cells/slate.ts';

const opened: HostSlate[] = [];
const slate = () => {
  const host = createSlate();
  opened.push(host);
  return { host, cell: openSlate(host.descriptor) };
};
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

const entry = (run: number) => ({
  ...{ run, revoked: run + 1, detail: run + 2, leaseMs: run + 5 },
  grantedAt: { wall: run + 3, monotonic: run + 4.5 },
});
const NOTHING = { run: 0, revoked: 0, detail: 0, grantedAt: { wall: 0, monotonic: 0 }, leaseMs: 0 };

describe('the slate', () => {
  it('has no name in the file system', () => {
    const { host } = slate();
    expect(host.descriptor).toBeGreaterThan(2);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`leasehold-slate-${process.pid}`))).toEqual(
      [],
    );
    expect(SLATE_DESCRIPTOR).toBe(4);
  });

  it('tells a cell what its host wrote, slot by slot, and zeros of what it did not', () => {
    const { host, cell } = slate();
    host.write(0, entry(10));
    host.write(3, entry(50));
    host.write(0, entry(20));
    expect([0, 1, 2, 3, 4].map((slot) => cell.read(slot))).toEqual([
      ...[entry(20), NOTHING, NOTHING, entry(50)],
      NOTHING,
    ]);
  });

  it('has room for any number of slots', () => {
    const { host, cell } = slate();
    host.write(500, entry(10));
    cell.started(500, 10);
    expect(cell.read(500)).toEqual(entry(10));
    expect(host.slotSigns(500)).toEqual({ started: 10, progress: 0 });
    expect(cell.read(0)).toEqual(NOTHING);
  });

  it('takes the room of a thousand slots when it is made, so that a disk that is full later refuses nothing', () => {
    const { host, cell } = slate();
    const { size } = fstatSync(host.descriptor);
    host.write(999, entry(10));
    cell.started(999, 10);
    cell.progress(999);
    cell.pulse();
    cell.lastWords('x'.repeat(10_000));
    expect(fstatSync(host.descriptor).size).toBe(size);
  });

  it('is in the first folder that takes it', () => {
    const host = createSlate([join(tmpdir(), 'leasehold-not-there'), tmpdir()]);
    opened.push(host);
    host.write(0, entry(10));
    expect(openSlate(host.descriptor).read(0)).toEqual(entry(10));
    expect(() => createSlate([join(tmpdir(), 'leasehold-not-there')])).toThrow(/ENOENT/);
  });

  it('is read again while the host is in the middle of a write', () => {
    const { host, cell } = slate();
    host.write(0, entry(10));
    // The first half of a newer entry: the versions at its two ends differ.
    writeSync(host.descriptor, new Uint8Array(new Float64Array([99, 77]).buffer), 0, 16, 16 * 1024);
    expect(cell.read(0)).toMatchObject({ run: 77, revoked: 11 });
    host.write(0, entry(30));
    expect(cell.read(0)).toEqual(entry(30));
  });

  it('tells the host of pulse, start and progress, and mixes up neither slots nor sides', () => {
    const { host, cell } = slate();
    expect(host.signs()).toEqual({ pulse: 0 });
    expect(host.slotSigns(2)).toEqual({ started: 0, progress: 0 });
    cell.pulse();
    cell.pulse();
    cell.started(2, 41);
    cell.progress(2);
    cell.progress(2);
    cell.progress(5);
    host.write(2, entry(41));
    expect(host.signs()).toEqual({ pulse: 2 });
    expect(host.slotSigns(2)).toEqual({ started: 41, progress: 2 });
    expect(host.slotSigns(5)).toEqual({ started: 0, progress: 1 });
    expect(cell.read(2)).toEqual(entry(41));
    expect(cell.read(1)).toEqual(NOTHING);
  });

  it('counts the progress of each run from the start', () => {
    const { host, cell } = slate();
    cell.started(2, 41);
    cell.progress(2);
    cell.progress(2);
    cell.started(2, 42);
    expect(host.slotSigns(2)).toEqual({ started: 42, progress: 0 });
    cell.progress(2);
    expect(host.slotSigns(2)).toEqual({ started: 42, progress: 1 });
  });

  it('keeps a cell’s first last words, cut to what there is room for', () => {
    const { host, cell } = slate();
    expect(host.lastWords()).toBeUndefined();
    cell.pulse();
    cell.lastWords('grüße');
    cell.lastWords('something else');
    expect(host.lastWords()).toBe('grüße');
    expect(host.signs()).toEqual({ pulse: 1 });
    const long = slate();
    long.cell.lastWords('x'.repeat(10_000));
    const cut = long.host.lastWords() ?? '';
    expect([Buffer.byteLength(cut), cut.slice(-8)]).toEqual([8192, 'x… (cut)']);
  });

  it.each([-1, Number.NaN, Number.NEGATIVE_INFINITY])('takes a length of %d for no words', (length) => {
    const { host } = slate();
    writeSync(host.descriptor, new Uint8Array(new Float64Array([length]).buffer), 0, 8, 8);
    expect(host.lastWords()).toBeUndefined();
  });

  it('reads no further than there are words, whatever their length is said to be', () => {
    const { host, cell } = slate();
    cell.lastWords('end');
    writeSync(host.descriptor, new Uint8Array(new Float64Array([1e9]).buffer), 0, 8, 8);
    expect(host.lastWords()).toBe('end');
    writeSync(host.descriptor, new Uint8Array(new Float64Array([2.7]).buffer), 0, 8, 8);
    expect(host.lastWords()).toBe('en');
  });

  it('is closed once, and takes nothing after that', () => {
    const { host } = slate();
    host.close();
    expect(() => host.write(0, entry(1))).not.toThrow();
    expect(() => host.close()).not.toThrow();
  });
});
