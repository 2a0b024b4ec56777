import type { ReceivedMessage } from '../../protocol/ports.ts';
import { type ClaimRunner, createClaimRunner } from '../run/run-claim.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type Claimed, createClaimer } from './claim-messages.ts';
import { type Claimable, type Opened, openMessage } from './open-message.ts';
import { createUnknownClaims } from './unknown-claims.ts';

/** What every host does with messages: open, claim, run. */
export interface Engine extends ClaimRunner {
  /** Reads a message; one that needs no claim (a bad one, one for later) is dealt with at once. */
  open(message: ReceivedMessage): Promise<Opened>;
  /** Claims the jobs of messages opened together, with one request for up to 25 new ones. */
  claim(opened: readonly Claimable[]): Promise<readonly Claimed[]>;
  /** These are not claimed after all. */
  forget(opened: readonly Claimable[]): void;
}

export function createEngine(parts: WorkerParts): Engine {
  const runner = createClaimRunner(parts);
  const unknownClaims = createUnknownClaims(parts);
  const claimAll = createClaimer(parts, runner, unknownClaims);
  const forget = (opened: readonly Claimable[]): void => {
    for (const { check } of opened) if (check !== undefined) parts.cells.forget(check);
  };
  return {
    ...runner,
    open: (message) => openMessage(parts, message),
    async claim(opened) {
      const claimed = await claimAll(opened);
      forget(opened.filter((_, i) => claimed[i]?.kind !== 'claimed'));
      return claimed;
    },
    forget,
    async quiet() {
      await Promise.all([runner.quiet(), unknownClaims.settle()]);
    },
  };
}
