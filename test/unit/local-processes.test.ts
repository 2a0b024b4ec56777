import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { waitsOf } from '../../lib/tools/dev/message-jobs.ts';
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

describe('how long a message waited', () => {
  const record = (body: string, attributes?: Record<string, string>) => ({
    messageId: 'm1',
    body,
    attributes,
  });

  it('is measured at the first delivery of a job message, from the job or the message', () => {
    const sent = { SentTimestamp: '1000', ApproximateReceiveCount: '1' };
    const Records = [
      record('{"type":"t","jobId":"a"}', sent),
      record('{"type":"t"}', sent),
      record('{"type":"t","jobId":"again"}', { ...sent, ApproximateReceiveCount: '2' }),
      record('{"hint":"b"}', sent),
      record('{"type":"t","jobId":"untold"}'),
    ];
    expect(waitsOf({ Records }, 1_250)).toEqual([
      { jobId: 'a', waitedMs: 250 },
      { jobId: 'm1', waitedMs: 250 },
    ]);
    expect(waitsOf(undefined, 1_250)).toEqual([]);
  });
});
