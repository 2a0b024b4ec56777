import { describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../lib/telemetry/powertools-telemetry.ts';

describe('telemetry', () => {
  const unreadable = {
    get field(): string {
      throw new Error('no');
    },
  };

  it.each([
    ['fields that cannot be read', unreadable, undefined],
    ['fields that cannot be written', { field: { toJSON: () => JSON.parse('{') } }, undefined],
    ['an error that is no text', {}, Object.create(null)],
  ])('tells what it can of a line with %s, and throws nothing', (_, fields, error) => {
    const telemetry = createPowertoolsTelemetry({ serviceName: 'test' });
    const lines: string[] = [];
    vi.spyOn(telemetry.logger['console' as never] as Console, 'error').mockImplementation(
      (line) => void lines.push(String(line)),
    );
    expect(() => telemetry.error('told', error, fields)).not.toThrow();
    expect(lines.join()).toContain('told');
  });

  it('takes no harm from a value that is no number', () => {
    const telemetry = createPowertoolsTelemetry({ serviceName: 'test' });
    expect(() => telemetry.gauge('ClockOffset', undefined as never)).not.toThrow();
  });
});
