import type { Claim } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import type { HeartReport, Vitals } from '../run/heart.ts';

/** What the main thread says to the heart's thread, several things at a time, and what it hears from there. */
export type ToThread =
  | {
      readonly kind: 'start';
      readonly claim: Claim;
      readonly lease: SharedArrayBuffer;
      readonly vitals: Vitals;
    }
  | { readonly kind: 'stop'; readonly claim: Claim }
  | { readonly kind: 'quiet'; readonly turn: number }
  | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'report'; readonly owner: string; readonly report: HeartReport }
  | { readonly kind: 'quiet'; readonly turn: number };

/** How the heart reaches the table: plain data, because the thread makes a client of its own. */
export interface HeartConnection {
  readonly tableName: string;
  readonly settings: Settings;
  readonly serviceName: string;
  readonly worker: string;
  /** For local engines. @default - endpoint, region and credentials from the standard chain */
  readonly aws?: AwsAddress;
}

/** Where AWS is, when it is not where the standard chain says. */
export interface AwsAddress {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** What the thread is started with. Its one key is how a bundle's second copy knows that it is the heart. */
export interface HeartThreadData {
  readonly leaseholdHeart: HeartConnection;
  /** Monotonic time at which the main thread's event loop last turned. */
  readonly pulse: SharedArrayBuffer;
}
