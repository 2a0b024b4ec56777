import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { childrenOf } from '../../lib/tools/dev/process-children.ts';

describe('the processes of a worker', () => {
  it('are those that it started, and none once they or it have ended', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9)']);
    const pid = child.pid ?? 0;
    expect((await childrenOf([process.pid])).get(process.pid)).toContain(pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await childrenOf([process.pid])).get(process.pid)).not.toContain(pid);
    expect((await childrenOf([pid])).get(pid)).toEqual([]);
  });
});
