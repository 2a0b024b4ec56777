import { describe, expect, it } from 'vitest';
import {
  formatDay,
  formatInstant,
  formatTime,
  parseDuration,
  parseInstant,
} from '../../lib/tools/cli/terminal/time.ts';
import { formatDuration } from '../../lib/tools/inspect/format-duration.ts';

describe('durations', () => {
  it('are read as people write them', () => {
    const read = ['0', '500ms', '30s', '1h30m', '1.5h', '2d'].map(parseDuration);
    expect(read).toEqual([0, 500, 30_000, 5_400_000, 5_400_000, 172_800_000]);
  });

  it('are refused when they are anything else', () => {
    for (const text of ['', '30', '-5s', '5 s', 's', '1w', '1h 30m', '1e3s', 'NaN'])
      expect([text, parseDuration(text)]).toEqual([text, undefined]);
  });

  it('are shown in their two largest units', () => {
    const told = [0, 340, 999, 1000, 3333, 9_999, 12_000, 59_600, 90_000, 3_600_000, 3_601_000, 90_061_000];
    expect(told.map(formatDuration)).toEqual([
      ...['0 ms', '340 ms', '999 ms', '1 s', '3.3 s', '10 s', '12 s', '1 min', '1 min 30 s'],
      ...['1 h', '1 h', '1 d 1 h'],
    ]);
  });
});

describe('instants', () => {
  const at = Date.parse('2026-03-29T00:30:00.120Z');

  it('are shown in the reader’s time zone, including summer time', () => {
    expect(formatInstant(at, { timeZone: 'UTC' })).toBe('2026-03-29 00:30:00 UTC');
    expect(formatDay(at, { timeZone: 'Asia/Tokyo' })).toMatch(/^2026-03-29 (GMT\+9|JST)$/);
    expect(formatTime(at, { timeZone: 'UTC' })).toBe('00:30:00.120');
    expect(formatInstant(at, { timeZone: 'Europe/Berlin' })).toBe('2026-03-29 01:30:00 CET');
    expect(formatInstant(at + 3_600_000, { timeZone: 'Europe/Berlin' })).toBe('2026-03-29 03:30:00 CEST');
    expect(formatInstant(at, { timeZone: 'Asia/Kolkata' })).toMatch(/^2026-03-29 06:00:00 (IST|GMT\+5:30)$/);
  });

  it('are read as ISO 8601, or as a duration ago or ahead', () => {
    for (const direction of ['ago', 'ahead'] as const) {
      expect(parseInstant('2026-03-29T00:30:00.120Z', 0, direction)).toBe(at);
      for (const text of ['yesterday', '1', '2026-99-99', ''])
        expect(parseInstant(text, at, direction)).toBeUndefined();
    }
    expect(parseInstant('2h', at, 'ago')).toBe(at - 7_200_000);
    expect(parseInstant('2h', at, 'ahead')).toBe(at + 7_200_000);
  });
});
