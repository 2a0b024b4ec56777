import { describe, expect, it } from 'vitest';
import { AwsError } from '../../../rehearsal/aws-request.ts';
import { removeStack, type StackApi } from '../../../rehearsal/remove-stack.ts';

type Seen = string | undefined | Error;

/** A stack that shows one status after the other, and the last one for ever. */
async function remove(...statuses: readonly Seen[]) {
  const acts: string[] = [];
  let now = 0;
  let look = 0;
  const api: StackApi = {
    async status() {
      const seen = statuses[Math.min(look++, statuses.length - 1)];
      if (seen instanceof Error) throw seen;
      return seen;
    },
    async delete() {
      acts.push('delete');
    },
  };
  const sleep = async (ms: number) => {
    now += ms;
  };
  const ended = await removeStack(api, { sleep, now: () => now, withinMs: 60_000, pollMs: 1000 }).then(
    () => 'gone',
    (error: Error) => error.message,
  );
  return { ended, acts, looks: look };
}

const expired = new AwsError('ExpiredToken', 'the token is expired');
const lost = new TypeError('fetch failed');

describe('a stack', () => {
  it.each([
    ['that is complete', ['CREATE_COMPLETE', 'DELETE_IN_PROGRESS', undefined]],
    ['that is being created', ['CREATE_IN_PROGRESS', 'DELETE_IN_PROGRESS', undefined]],
    ['of which only a change set exists', ['REVIEW_IN_PROGRESS', undefined]],
    [
      'that is updated, once it can be',
      ['UPDATE_IN_PROGRESS', 'UPDATE_ROLLBACK_IN_PROGRESS', 'UPDATE_COMPLETE', undefined],
    ],
    ['whose creation is rolled back', ['ROLLBACK_IN_PROGRESS', 'ROLLBACK_COMPLETE', undefined]],
    ['though a request is lost', [lost, 'CREATE_COMPLETE', lost, undefined]],
    ['whose earlier deletion failed', ['DELETE_FAILED', 'DELETE_IN_PROGRESS', undefined]],
  ])('%s is deleted with one request', async (_, statuses) => {
    expect(await remove(...statuses)).toMatchObject({ ended: 'gone', acts: ['delete'] });
  });

  it.each([
    ['the credentials expired', [expired], 'ExpiredToken: the token is expired', 1],
    ['they expired after the request', ['CREATE_COMPLETE', expired], 'ExpiredToken: the token is expired', 2],
    ['nothing answers', [lost], 'fetch failed', 5],
    [
      'CloudFormation cannot delete it',
      ['CREATE_COMPLETE', 'DELETE_FAILED'],
      'CloudFormation could not delete the stack; its events say why',
      2,
    ],
    ['it takes too long', ['DELETE_IN_PROGRESS'], 'the stack was not deleted within 1 minutes', 60],
  ])('is reported as left when %s', async (_, statuses, ended, looks) => {
    expect(await remove(...statuses)).toMatchObject({ ended, looks });
  });
});
