import { subscribe } from 'node:diagnostics_channel';
import { openSync, writeSync } from 'node:fs';

/**
 * Preloaded into every thread of a process that speaks HTTP: each request it sends appends one byte to a file, whose
 * length is the count. Threads share nothing else.
 */
const file = process.env.BENCH_REQUESTS_FILE;
if (file !== undefined) {
  const to = openSync(file, 'a');
  subscribe('http.client.request.start', () => writeSync(to, '.'));
}
