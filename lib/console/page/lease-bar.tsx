import { useState } from 'preact/hooks';
import { formatDuration } from '../../inspect/format-duration.ts';
import { leasePhase } from '../../inspect/lease-phase.ts';
import type { JobSummary } from '../page-messages.ts';
import { serverNow, state } from './state.ts';

const NOTHING_ALLOWED = { skewMs: 0, graceMs: 0 };
const titles = {
  ended: 'The lease has ended without a heartbeat; the reaper waits for the clock skew and the grace',
  lapsed: 'The lease has lapsed; the reaper reclaims the job',
};

/**
 * What is left of a lease: drains by itself, and is full again with each heartbeat. The browser animates it, so that a
 * hundred bars need no script.
 */
export function LeaseBar({ job, now }: { readonly job: JobSummary; readonly now: number }) {
  const { leaseUntil = 0, leaseSpanMs = 1 } = job;
  const phase = leasePhase(leaseUntil, now, state.hello ?? NOTHING_ALLOWED);
  if (phase !== 'live')
    return (
      <span class="lease lapsed" title={titles[phase]}>
        <span class="lease-track" />
        <span class="lease-text">
          {phase} {formatDuration(now - leaseUntil)}
        </span>
      </span>
    );
  const left = leaseUntil - now;
  return (
    <span class="lease" title={`The lease ends in ${formatDuration(left)} unless it is renewed`}>
      <span class="lease-track">
        {/* A new one for each extension starts its animation anew. */}
        <Fill key={leaseUntil} leaseUntil={leaseUntil} spanMs={leaseSpanMs} />
      </span>
      <span class="lease-text">{formatDuration(Math.max(0, left))}</span>
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
