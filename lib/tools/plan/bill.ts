/** One line of the bill of a month. */
export interface CostLine {
  /** What somebody pays for the job system itself, for watching it, or for running handlers. */
  readonly group: 'coordination' | 'operations' | 'compute';
  readonly what: string;
  /** Units, requests or GB-seconds in a month. */
  readonly amount: number;
  readonly unit: string;
  readonly dollars: number;
}

export const SECONDS_A_MONTH = 30.4375 * 86_400;
const LONG_POLL_SECONDS = 20;

/**
 * Polls of an event source that has nothing to do. Lambda keeps five long polls open on a queue, and as few as two on one
 * with little traffic, unless its concurrency has a maximum:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
export const IDLE_POLLS_A_MONTH = {
  limited: (5 * SECONDS_A_MONTH) / LONG_POLL_SECONDS,
  shrinking: (2 * SECONDS_A_MONTH) / LONG_POLL_SECONDS,
} as const;
