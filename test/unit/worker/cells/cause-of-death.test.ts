import { describe, expect, it } from 'vitest';
import { explainDeath } from '../../../../lib/worker/cells/host/cause-of-death.ts';

type Known = Parameters<typeof explainDeath>[0];
const exit = (code: number | null, signal: NodeJS.Signals | null = null) => ({ code, signal });
const explain = (given: Partial<Known> = {}) =>
  explainDeath({ ...{ ending: exit(1), memory: 0, memoryBytes: 100 }, ...given });

describe('why a cell died', () => {
  it.each<[Known['killedFor'], string]>([
    ['ignored signal', 'killed: a handler did not stop within killAfterMs of its signal'],
    ['stalled', 'killed: a handler blocked the event loop for longer than maxStallMs'],
    ['memory', 'out of memory: killed before its memory was exhausted'],
    ['closing', 'ended with its host'],
  ])('is said where its host ended it: %s', (killedFor, cause) => {
    expect(explain({ killedFor, report: { error: 'boom' } })).toBe(cause);
  });

  it.each<[string, Parameters<typeof explain>[0], string]>([
    [
      'a process that never was',
      { ending: { ...exit(null), error: 'ENOENT' } },
      'its process could not be started: ENOENT',
    ],
    ['an exit', { ending: exit(3) }, 'a handler, or what it called, ended the process with exit code 3'],
    ['a signal', { ending: exit(null, 'SIGSEGV') }, 'killed (SIGSEGV)'],
    [
      'an exception',
      { report: { origin: 'uncaughtException', error: 'Error: boom' } },
      'uncaught exception: Error: boom',
    ],
    [
      'a rejection',
      { report: { origin: 'unhandledRejection', error: 'Error: boom' } },
      'unhandled rejection: Error: boom',
    ],
    [
      'SIGKILL from elsewhere',
      { ending: exit(null, 'SIGKILL') },
      'killed (SIGKILL) by another process than its host',
    ],
    [
      'a channel closed from within',
      { ending: exit(null, 'SIGKILL'), report: { origin: 'disconnect' } },
      'a handler, or what it called, closed the channel to its host',
    ],
    [
      'one that its host could not hear any more',
      { ending: exit(null, 'SIGKILL'), wasDeaf: true },
      'a handler, or what it called, closed the channel to its host',
    ],
    [
      'one that was killed otherwise before',
      { ending: exit(null, 'SIGSEGV'), wasDeaf: true },
      'killed (SIGSEGV)',
    ],
    [
      'an exit some time after an exception',
      { report: { origin: 'exit', survived: 'Error: boom' } },
      'a handler, or what it called, ended the process with exit code 1\nbefore that, its process survived Error: boom',
    ],
    [
      'SIGKILL near its share',
      { ending: exit(null, 'SIGKILL'), memory: 80 },
      'out of memory (killed by the kernel)',
    ],
    [
      'an abort by exit code',
      { ending: exit(134), report: { origin: 'abort' } },
      'aborted by process.abort()',
    ],
    [
      'an abort by V8',
      { ending: exit(134), report: { fatal: 'Check failed' } },
      'aborted by V8: Check failed',
    ],
    ['a full heap', { ending: exit(134), report: { fatal: 'Heap OUT OF MEMORY' } }, 'out of memory (heap)'],
    ['a native abort near its share', { ending: exit(null, 'SIGABRT'), memory: 80 }, 'out of memory (heap)'],
    [
      'a native abort',
      { ending: exit(null, 'SIGABRT'), memory: 79 },
      'aborted (SIGABRT) by native code; stderr may say more',
    ],
  ])('is said of %s', (_, known, cause) => {
    expect(explain(known)).toBe(cause);
  });
});
