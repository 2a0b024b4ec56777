import { useState } from 'preact/hooks';
import type { JobView } from '../protocol.ts';
import { duration } from './format.ts';
import { serverNow, state } from './store.ts';

/**
 * What is left of a lease: drains by itself, and is full again with each heartbeat. The browser animates it, so that a
 * hundred bars cost no script.
 */
export function LeaseBar({ job, now }: { readonly job: JobView; readonly now: number }) {
  const { leaseUntil = 0, leaseSpanMs = 1 } = job;
  const left = leaseUntil - now;
  const lapsedFor = now - leaseUntil;
  if (lapsedFor > 0)
    return (
      <span
        class="lease lapsed"
        title="The lease has lapsed; the reaper will give the job to the next worker"
      >
        <span class="lease-track" />
        <span class="lease-text">lapsed {duration(lapsedFor)}</span>
      </span>
    );
  return (
    <span class="lease" title={`The lease ends in ${duration(left)} unless it is renewed`}>
      <span class="lease-track">
        {/* A new one for each extension starts its animation anew. */}
        <Fill key={leaseUntil} leaseUntil={leaseUntil} spanMs={leaseSpanMs} />
      </span>
      <span class="lease-text">{duration(Math.max(0, left))}</span>
    </span>
  );
}

/** Where the animation starts is settled once: a delay that is set again later would count the time in between twice. */
function Fill({ leaseUntil, spanMs }: { readonly leaseUntil: number; readonly spanMs: number }) {
  const [elapsed] = useState(() => Math.max(0, spanMs - (leaseUntil - serverNow())));
  return (
    <span class="lease-fill" style={{ animationDuration: `${spanMs}ms`, animationDelay: `${-elapsed}ms` }} />
  );
}

/** How long after its end a lease is taken back at the earliest. */
export const reclaimableAt = (job: JobView): number => (job.leaseUntil ?? 0) + (state.hello?.skewMs ?? 0);
