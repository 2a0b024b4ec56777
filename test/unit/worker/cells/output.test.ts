import { describe, expect, it } from 'vitest';
import { createJobContext } from '../../../../lib/worker/cells/cell/job-context.ts';
import { createCellLog } from '../../../../lib/worker/cells/cell/output.ts';
import type { HandlerRun } from '../../../../lib/worker/cells/cell/run-handler.ts';
import { createExactSignal } from '../../../../lib/worker/cells/cell/run-handler.ts';

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

function handlersLog(level = 'INFO') {
  const log = createCellLog({
    serviceName: 'jobs',
    level,
    isTerminal: false,
    now: () => 0,
    write: (_descriptor, line) => void written.push(line),
  });
  const run = {
    ...{ log, job: { jobId: 'j1', type: 'resize', attempt: 2 }, clock: { monotonic: () => 0 } },
    ...{ limits: { maxCheckpointBytes: 1000, maxResultBytes: 1000 }, progressIntervalMs: 1000 },
  } as unknown as HandlerRun;
  const { context } = createJobContext(
    run,
    createExactSignal(() => undefined),
  );
  return { log, handlers: context.log };
}

describe('what a handler logs', () => {
  it.each([
    ['DEBUG', 3],
    ['WARN', 2],
    ['ERROR', 1],
    ['FATAL', 0],
  ])('is written from the level %s up', (level, lines) => {
    written.length = 0;
    const { handlers } = handlersLog(level);
    handlers.info('one');
    handlers.warn('two');
    handlers.error('three', new Error('x'));
    expect(written).toHaveLength(lines);
  });

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
});
