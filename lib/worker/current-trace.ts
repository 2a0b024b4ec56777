import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceContext } from '../wire/trace.ts';

/** Shared by all copies of this package in the process: a handler and its producer may load different ones. */
const KEY = Symbol.for('leasehold.trace');
const shared = globalThis as { [KEY]?: AsyncLocalStorage<TraceContext | undefined> };
const traces = () => (shared[KEY] ??= new AsyncLocalStorage());

/** Jobs that the handler sends continue its trace. */
export const withTrace = <Result>(trace: TraceContext | undefined, run: () => Result): Result =>
  trace === undefined ? run() : traces().run(trace, run);

export const currentTrace = (): TraceContext | undefined => shared[KEY]?.getStore();
