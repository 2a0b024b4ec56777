/** What an emulator, or the published package, may lack. */
export type Ability =
  | 'memory limits'
  | 'throttling'
  | 'metrics of log lines'
  | 'alarms'
  | 'DynamoDB itself'
  | 'the repository';

export interface Step {
  readonly name: string;
  readonly title: string;
  /** The step is skipped by name where one of these is missing. */
  readonly needs?: readonly Ability[];
  /** Nothing else can run without it; always part of `--only`. */
  readonly required?: boolean;
  run(signal: AbortSignal): Promise<readonly string[]>;
}

export interface StepResult extends Pick<Step, 'name' | 'title'> {
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'interrupted' | 'not reached';
  readonly ms: number;
  /** Figures of a step that ended, or the reason for any other outcome. */
  readonly notes: readonly string[];
}

interface RunOptions {
  readonly signal: AbortSignal;
  readonly lacks: readonly Ability[];
  /** An error after which no other step can succeed, such as expired credentials. */
  readonly isFatal: (error: unknown) => boolean;
  readonly now: () => number;
  readonly onStart: (step: Step) => void;
  readonly onEnd: (result: StepResult) => void;
}

/** Runs the steps in order. A failed step does not stop the others, unless they need it. */
export async function runSteps(steps: readonly Step[], options: RunOptions): Promise<StepResult[]> {
  const results: StepResult[] = [];
  let unreachable: string | undefined;
  for (const step of steps) {
    const { name, title } = step;
    const missing = step.needs?.find((ability) => options.lacks.includes(ability));
    const ended = (outcome: StepResult['outcome'], notes: readonly string[], ms = 0) => {
      const result = { name, title, outcome, ms, notes };
      results.push(result);
      options.onEnd(result);
    };
    if (unreachable !== undefined) ended('not reached', [unreachable]);
    else if (missing !== undefined) ended('skipped', [`needs ${missing}`]);
    else {
      const from = options.now();
      options.onStart(step);
      try {
        const notes = await raceAbort(step, options.signal);
        ended('passed', notes, options.now() - from);
      } catch (error) {
        const wasInterrupted = options.signal.aborted;
        ended(wasInterrupted ? 'interrupted' : 'failed', [messageOf(error)], options.now() - from);
        if (wasInterrupted) unreachable = 'interrupted before';
        else if (step.required || options.isFatal(error)) unreachable = `'${name}' failed before`;
      }
    }
  }
  return results;
}

/** Ends with the signal even if the step does not. */
async function raceAbort({ run }: Step, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  const running = run(signal);
  try {
    return await Promise.race([running, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    running.catch(() => {});
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const EXPIRED =
  /Expired|InvalidClientTokenId|UnrecognizedClient|InvalidAccessKeyId|CredentialsProviderError|TokenProviderError/;

/** Whether credentials were refused, in the error itself or in what caused it. */
export function areCredentialsGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return EXPIRED.test(`${error.name} ${code} ${error.message}`) || areCredentialsGone(error.cause);
}
