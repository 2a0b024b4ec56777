import type { HealthItem } from '../../../inspect/health-strip.ts';
import { listLink } from '../address.ts';
import { state, useTopic } from '../state.ts';

const links: Readonly<Partial<Record<HealthItem['name'], string>>> = {
  waiting: listLink({ status: 'queued' }),
  parked: '#/types',
  running: listLink({ status: 'running' }),
  workers: '#/workers',
  sweep: listLink({ status: 'running' }),
  failed: listLink({ status: 'failed', since: '1h' }),
  lost: '#/history',
};

const words = { healthy: 'Healthy', degraded: 'Degraded', down: 'Down' } as const;

export function Health() {
  useTopic('figures');
  const { figures } = state;
  if (figures?.readAt === undefined) return null;
  const { health, strip } = figures;
  return (
    <section class="health" data-state={health.state} aria-label="Health">
      <div class="verdict" role="status">
        <p>
          <i class="dot" data-health={health.state} />
          <b class="verdict-word">{words[health.state]}</b>
          {health.reasons.length === 0 && <span class="muted"> nothing needs you</span>}
        </p>
        {health.reasons.length > 0 && (
          <ul>
            {health.reasons.map(({ code, message, next, state: how }) => (
              <li key={`${code} ${message}`} data-state={how}>
                <span class="reason">{message}</span> <span class="muted">→ {next}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <ul class="strip">
        {strip.map((item) => (
          <Item key={item.name} item={item} />
        ))}
      </ul>
    </section>
  );
}

function Item({ item: { name, label, value, remark, tone } }: { readonly item: HealthItem }) {
  const link = links[name];
  const inner = (
    <>
      <span class="strip-label">{label}</span>
      <b>{value}</b>
      {remark !== undefined && remark !== '' && <small>{remark}</small>}
    </>
  );
  return (
    <li data-name={name} data-tone={tone}>
      {link === undefined ? <span class="cell">{inner}</span> : <a href={link}>{inner}</a>}
    </li>
  );
}
