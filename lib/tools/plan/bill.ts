export interface CostLine {
  readonly group: 'coordination' | 'operations' | 'compute';
  readonly what: string;
  readonly amount: number;
  readonly unit: string;
  readonly dollars: number;
}

export const SECONDS_A_MONTH = 30.4375 * 86_400;
const LONG_POLL_SECONDS = 20;

/**
 * Lambda keeps five long polls open per idle queue, or as few as two without a maximum concurrency:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
export const IDLE_POLLS_A_MONTH = {
  limited: (5 * SECONDS_A_MONTH) / LONG_POLL_SECONDS,
  shrinking: (2 * SECONDS_A_MONTH) / LONG_POLL_SECONDS,
} as const;
