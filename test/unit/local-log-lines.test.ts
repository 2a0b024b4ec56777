import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readOutputLine } from '../../lib/tools/dev/lambda-host/output-line.ts';
import { logLineOf } from '../../lib/tools/dev/log-lines.ts';
import type { StackEvent } from '../../lib/tools/dev/stack.ts';

const job = { jobId: 'a', type: 'count', attempt: 2 };

/** What is said of something that a worker prints, without colors. */
const ofOutput = (text: string) => {
  const line = readOutputLine(text, 0);
  return plain(
    logLineOf({ kind: 'output', functionName: 'leasehold-worker', line } as StackEvent, 'no type'),
  );
};
const ofLog = (message: string, fields: object, level = 'WARN') =>
  ofOutput(JSON.stringify({ level, message, ...fields }));
const ofBus = (name: string, detail: object) =>
  plain(logLineOf({ kind: 'bus', event: { name, detail: { ...job, ...detail } } } as StackEvent));
const plain = (said: string | undefined) => said && stripVTControlCharacters(said);

describe('what dev says', () => {
  it.each([
    ['a handler’s log', ofLog('counted', { ...job, at: 3 }, 'INFO'), 'a count #2  counted  at=3'],
    ['a handler’s console.log', ofOutput('plain text'), 'plain text'],
    [
      'a job that is done',
      ofLog('run ended', { ...job, outcome: 'done', durationMs: 6200 }),
      'a count #2  done after 6.2 s',
    ],
    [
      'an error, once, with its stack',
      ofBus('JobRetried', { lastError: 'Error: boom\n    at run (jobs.ts:11:13)' }),
      'a count #2  will be retried: Error: boom\n    at run (jobs.ts:11:13)',
    ],
    [
      'a crash, with its cause',
      ofLog('attempt crashed', { ...job, cause: 'exit code 1' }),
      'a count #2  attempt crashed  cause=exit code 1',
    ],
    ['a quarantine', ofBus('JobQuarantined', {}), 'a count #2  quarantined: it kept killing its worker'],
    [
      'a message that was rejected, why, and the command that shows it',
      ofLog('message rejected; its row says why', { row: 'bad:a', bytes: 51 }),
      'message rejected: no type  (npm run -s leasehold -- show bad:a)',
    ],
    [
      'a cell that died between jobs',
      ofLog('a cell died', { cell: 1, jobs: 0 }),
      'a cell died  cell=1 jobs=0',
    ],
  ])('tells %s', (_what, said, line) => {
    expect(said).toBe(line);
  });
});
