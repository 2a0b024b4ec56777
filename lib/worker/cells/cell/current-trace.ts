import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceContext } from '../../../wire/trace.ts';

/** One for the process, also where two copies of this package are loaded: a handler's, and its producer's. */
const KEY = Symbol.for('leasehold.trace');
const shared = globalThis as { [KEY]?: AsyncLocalStorage<TraceContext | undefined> };
const traces = () => (shared[KEY] ??= new AsyncLocalStorage());

/** Runs a handler so that the jobs it sends go on with its trace. */
export const withTrace = <Result>(trace: TraceContext | undefined, run: () => Result): Result =>
  trace === undefined ? run() : traces().run(trace, run);

/** The trace of the job whose handler makes this call. */
export const currentTrace = (): TraceContext | undefined => shared[KEY]?.getStore();
