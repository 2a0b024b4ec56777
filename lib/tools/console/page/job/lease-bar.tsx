import { useState } from 'preact/hooks';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { JobSummary } from '../../page-messages.ts';
import { serverNow } from '../state.ts';

/** The browser animates the bar, so that a hundred bars need no script. */
export function LeaseBar({ job, now }: { readonly job: JobSummary; readonly now: number }) {
  const { leaseUntil = 0, leaseMs = 1 } = job;
  const left = formatDuration(Math.max(0, leaseUntil - now));
  return (
    <span class="lease" title={`The lease ends in ${left}, unless a heartbeat renews it`}>
      <span class="lease-name">lease</span>
      <span class="lease-track">
        {/* A new key for each extension restarts the animation. */}
        <Fill key={leaseUntil} leaseUntil={leaseUntil} leaseMs={leaseMs} />
      </span>
      <span class="lease-text">{left}</span>
    </span>
  );
}

/** Set once: changing the delay later would count the time in between twice. */
function Fill({ leaseUntil, leaseMs }: { readonly leaseUntil: number; readonly leaseMs: number }) {
  const [elapsed] = useState(() => Math.max(0, leaseMs - (leaseUntil - serverNow())));
  return (
    <span class="lease-fill" style={{ animationDuration: `${leaseMs}ms`, animationDelay: `${-elapsed}ms` }} />
  );
}
