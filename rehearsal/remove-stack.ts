import { AwsError, type AwsRequests, queryRequest, textIn } from './aws-request.ts';
import { areCredentialsGone } from './step-runner.ts';

export interface StackApi {
  status(): Promise<string | undefined>;
  delete(): Promise<void>;
}

const VERSION = '2010-05-15';

export const stackApi = ({ send }: AwsRequests, StackName: string): StackApi => ({
  async status() {
    try {
      const { text } = await send(
        queryRequest('cloudformation', { Action: 'DescribeStacks', Version: VERSION, StackName }),
      );
      const status = textIn(text, 'StackStatus');
      return status === 'DELETE_COMPLETE' ? undefined : status;
    } catch (error) {
      if (
        error instanceof AwsError &&
        error.code === 'ValidationError' &&
        /does not exist/.test(error.message)
      )
        return undefined;
      throw error;
    }
  },
  async delete() {
    await send(queryRequest('cloudformation', { Action: 'DeleteStack', Version: VERSION, StackName }));
  },
});

/** CloudFormation deletes no stack in these states. */
const BUSY = /^(UPDATE|ROLLBACK)_.*IN_PROGRESS$/;
/** A deployment that was killed may have sent its last request just before. */
const LOOKS_WHEN_ABSENT = 3;
const FAILURES_IN_A_ROW = 5;

interface RemoveOptions {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly withinMs: number;
  readonly pollMs: number;
}

/** Resolves once the stack is gone; rejects if that cannot be known or was not reached. */
export async function removeStack(
  api: StackApi,
  { now, sleep, withinMs, pollMs }: RemoveOptions,
): Promise<void> {
  const end = now() + withinMs;
  let absent = 0;
  let failures = 0;
  let asked = false;
  while (now() < end) {
    try {
      const status = await api.status();
      if (status === undefined) {
        absent++;
        if (asked || absent === LOOKS_WHEN_ABSENT) return;
      } else if (status === 'DELETE_FAILED' && asked)
        throw new DeletionFailed('CloudFormation could not delete the stack; its events say why');
      else if (status !== 'DELETE_IN_PROGRESS' && !BUSY.test(status)) {
        await api.delete();
        asked = true;
      }
      failures = 0;
    } catch (error) {
      failures++;
      if (error instanceof DeletionFailed || areCredentialsGone(error) || failures === FAILURES_IN_A_ROW)
        throw error;
    }
    await sleep(pollMs);
  }
  throw new Error(`the stack was not deleted within ${Math.round(withinMs / 60_000)} minutes`);
}

class DeletionFailed extends Error {}
