import { useState } from 'preact/hooks';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { JobSummary } from '../../page-messages.ts';
import { serverNow } from '../state.ts';

/**
 * What is left of a lease: drains by itself, and is full again with each heartbeat. The browser animates it, so that a
 * hundred bars need no script.
 */
export function LeaseBar({ job, now }: { readonly job: JobSummary; readonly now: number }) {
  const { leaseUntil = 0, leaseSpanMs = 1 } = job;
  const left = formatDuration(Math.max(0, leaseUntil - now));
  return (
    <span class="lease" title={`The lease ends in ${left}, unless a heartbeat renews it`}>
      <span class="lease-name">lease</span>
      <span class="lease-track">
        {/* A new one for each extension starts its animation anew. */}
        <Fill key={leaseUntil} leaseUntil={leaseUntil} spanMs={leaseSpanMs} />
      </span>
      <span class="lease-text">{left}</span>
    </span>
  );
}

/** The start of the animation is set once: a delay that is set again later would count the time in between twice. */
function Fill({ leaseUntil, spanMs }: { readonly leaseUntil: number; readonly spanMs: number }) {
  const [elapsed] = useState(() => Math.max(0, spanMs - (leaseUntil - serverNow())));
  return (
    <span class="lease-fill" style={{ animationDuration: `${spanMs}ms`, animationDelay: `${-elapsed}ms` }} />
  );
}
