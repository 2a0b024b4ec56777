import { expect, it } from 'vitest';
import type { PowertoolsTelemetry } from '../../../lib/aws/telemetry.ts';
import { createMetricsPage } from '../../../lib/worker/hosts/metrics-port.ts';

it('sums up counts and durations, keeps the latest state, and passes all of it on', () => {
  const passed: unknown[] = [];
  const telemetry = {
    count: (...args: unknown[]) => passed.push(['count', ...args]),
    gauge: (...args: unknown[]) => passed.push(['gauge', ...args]),
  } as unknown as PowertoolsTelemetry;
  const page = createMetricsPage('Shop "Jobs"');
  const counting = page.counting(telemetry);
  counting.count('JobsDone', 2);
  counting.count('JobsDone');
  counting.gauge('ReclaimDelay', 1500);
  counting.gauge('ReclaimDelay', 500);
  counting.gauge('LeasesLive', 7);
  counting.gauge('LeasesLive', 4);
  counting.gauge('ClockOffset', -250);
  expect(passed).toHaveLength(7);
  const lines = page.text(3).split('\n');
  expect(lines.filter((line) => !line.startsWith('# HELP'))).toEqual([
    '# TYPE leasehold_running_jobs gauge',
    'leasehold_running_jobs{service="Shop _Jobs_"} 3',
    '# TYPE leasehold_jobs_done_total counter',
    'leasehold_jobs_done_total{service="Shop _Jobs_"} 3',
    '# TYPE leasehold_reclaim_delay_seconds summary',
    'leasehold_reclaim_delay_seconds_sum{service="Shop _Jobs_"} 2',
    'leasehold_reclaim_delay_seconds_count{service="Shop _Jobs_"} 2',
    '# TYPE leasehold_leases_live gauge',
    'leasehold_leases_live{service="Shop _Jobs_"} 4',
    '# TYPE leasehold_clock_offset_seconds gauge',
    'leasehold_clock_offset_seconds{service="Shop _Jobs_"} -0.25',
    '',
  ]);
  expect(lines).toContain('# HELP leasehold_jobs_done_total jobs completed by the holder of their lease');
});
