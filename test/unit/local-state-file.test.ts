import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DATA_OWNER_FILE, takeDataFolder } from '../../lib/tools/dev/state-file.ts';

describe('a folder of kept data', () => {
  let folder: string;
  const ownedBy = (pid: number) => writeFileSync(join(folder, DATA_OWNER_FILE), JSON.stringify({ pid }));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leasehold-data-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is taken and left', () => {
    const leave = takeDataFolder(join(folder, 'deep', 'down'));
    expect(leave).toBeTypeOf('function');
    if (typeof leave === 'function') leave();
    expect(takeDataFolder(join(folder, 'deep', 'down'))).toBeTypeOf('function');
  });

  it('is not taken from a process that lives, which is named', () => {
    ownedBy(process.ppid);
    expect(takeDataFolder(folder)).toBe(process.ppid);
  });

  it('is taken over from one that died', () => {
    ownedBy(2 ** 22 + 1);
    expect(takeDataFolder(folder)).toBeTypeOf('function');
  });
});
