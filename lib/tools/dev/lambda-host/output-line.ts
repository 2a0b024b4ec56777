export type OutputLine =
  | {
      readonly kind: 'metrics';
      readonly at: number;
      readonly values: Readonly<Record<string, readonly number[]>>;
    }
  | {
      readonly kind: 'log';
      readonly at: number;
      readonly level: string;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'text'; readonly at: number; readonly text: string };

/** A function that prints megabytes must not fill the host's memory. */
const MAX_LINE_CHARS = 64 * 1024;

interface EmfDirective {
  readonly Timestamp?: number;
  readonly CloudWatchMetrics?: readonly { readonly Metrics?: readonly { readonly Name?: string }[] }[];
}

/** Never throws: anything unrecognized is text. */
export function readOutputLine(text: string, now: number): OutputLine {
  const line = text.slice(0, MAX_LINE_CHARS);
  const fields = parseObject(line);
  if (fields === undefined) return { kind: 'text', at: now, text: line };
  const directive = fields._aws;
  if (typeof directive === 'object' && directive !== null) return readMetrics(directive, fields, now);
  const { level, message, timestamp, ...rest } = fields;
  if (typeof level !== 'string' || typeof message !== 'string') return { kind: 'text', at: now, text: line };
  const at = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return { kind: 'log', at: Number.isFinite(at) ? at : now, level, message, fields: rest };
}

function readMetrics(directive: EmfDirective, fields: Record<string, unknown>, now: number): OutputLine {
  const names = (directive.CloudWatchMetrics ?? []).flatMap((each) =>
    (each.Metrics ?? []).flatMap(({ Name }) => (typeof Name === 'string' ? [Name] : [])),
  );
  const values: Record<string, number[]> = {};
  for (const name of names) {
    const numbers = [fields[name]].flat().filter((value) => typeof value === 'number');
    if (numbers.length > 0) values[name] = numbers;
  }
  return { kind: 'metrics', at: typeof directive.Timestamp === 'number' ? directive.Timestamp : now, values };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** `end` emits the rest without a line break. */
export function createLineCutter(take: (line: string) => void): { push(chunk: string): void; end(): void } {
  let rest = '';
  return {
    push(chunk) {
      const lines = (rest + chunk).split('\n');
      rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARS);
      for (const line of lines) if (line !== '') take(line);
    },
    end() {
      if (rest !== '') take(rest);
      rest = '';
    },
  };
}
