import { describe, expect, it } from 'vitest';
import { createJobContext } from '../../../../lib/worker/cells/cell/job-context.ts';
import { createLiveSignal } from '../../../../lib/worker/cells/cell/live-signal.ts';
import { createCellLog } from '../../../../lib/worker/cells/cell/output.ts';

const written: string[] = [];
const trap = (): never => {
  throw new Error('sprung');
};
const unreadable = {
  get field() {
    return trap();
  },
};
const lastLine = () => JSON.parse(written.at(-1) ?? '{}') as Record<string, unknown>;

function handlersLog() {
  const log = createCellLog({
    serviceName: 'jobs',
    environment: {},
    isTerminal: false,
    now: () => 0,
    write: (_descriptor, line) => void written.push(line),
  });
  const { context } = createJobContext({
    ...{ log, named: { jobId: 'j1', type: 'resize', attempt: 2 }, live: createLiveSignal(() => undefined) },
    ...{ clock: { monotonic: () => 0 }, maxCheckpointBytes: 1000, progressIntervalMs: 1000 },
    save: async () => 'written' as const,
    onProgress: () => {},
  });
  return { log, handlers: context.log };
}

describe('what a handler logs', () => {
  it('names its job, whatever its own fields say', () => {
    handlersLog().handlers.info('resized', { width: 7, jobId: 'another' });
    expect(lastLine()).toMatchObject({
      level: 'INFO',
      message: 'resized',
      width: 7,
      jobId: 'j1',
      attempt: 2,
    });
  });

  it.each(['info', 'warn'] as const)('does not fail the run by a field that cannot be read (%s)', (level) => {
    handlersLog().handlers[level]('resized', unreadable);
    expect(lastLine()).toMatchObject({ message: 'resized', jobId: 'j1', unreadableFields: 'Error: sprung' });
  });

  it('does not fail the run by an error that cannot be read', () => {
    const error = Object.defineProperty(new Error('x'), 'message', { get: trap });
    handlersLog().handlers.error('not resized', error, unreadable);
    expect(lastLine()).toMatchObject({
      ...{ message: 'not resized', jobId: 'j1', unreadableFields: 'Error: sprung' },
      error: { name: 'Error', message: 'thrown value: unreadable' },
    });
  });

  it('does not fail the run by a value that has no text', () => {
    const { log } = handlersLog();
    log.console('INFO', ['%d pixels', { [Symbol.toPrimitive]: trap }]);
    expect(written.at(-1)).toContain('(unreadable: Error: sprung)');
  });
});
