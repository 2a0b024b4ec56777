import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceContext } from '../wire/trace.ts';
import { activeTraceparent } from './spans.ts';

/** Shared by all copies of this package in the process, because a handler and its producer may load different ones. */
const KEY = Symbol.for('leasehold.trace');
const shared = globalThis as { [KEY]?: AsyncLocalStorage<TraceContext | undefined> };
const traces = () => (shared[KEY] ??= new AsyncLocalStorage());

export const withTrace = <Result>(trace: TraceContext | undefined, run: () => Result): Result =>
  trace === undefined ? run() : traces().run(trace, run);

/** Of the active span, or else of the job that is running. */
export const currentTrace = (): TraceContext | undefined => {
  const trace = shared[KEY]?.getStore();
  const traceparent = activeTraceparent();
  return traceparent === undefined ? trace : { ...trace, traceparent };
};
