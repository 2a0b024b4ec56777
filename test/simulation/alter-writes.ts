import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';

/** Ways in which a planted bug changes what the core meant to write. */

export const FENCED = ['heartbeat', 'checkpoint', 'complete', 'retry', 'fail', 'release', 'cancelRunning'];
export const REAPED = ['reclaim', 'quarantine', 'redispatch', 'finishCancel'];

/** Changes only the writes of some transitions. */
export const of =
  (transitions: readonly string[], alter: (write: RowWrite) => RowWrite) => (write: RowWrite) =>
    transitions.includes(write.transition) ? alter(write) : write;

/** Leaves clauses about these attributes out. */
export const without =
  (...attributes: readonly string[]) =>
  (write: RowWrite): RowWrite => ({
    ...write,
    when: write.when.map((all) => all.filter((clause) => !attributes.includes(clause.attribute))),
  });

export const setting = (values: RowWrite['set']) => (write: RowWrite) => ({
  ...write,
  set: { ...write.set, ...values },
});

export const removing =
  (...attributes: readonly string[]) =>
  (write: RowWrite): RowWrite => {
    const set = Object.entries(write.set).filter(([name]) => !attributes.includes(name));
    return { ...write, set: Object.fromEntries(set), remove: [...(write.remove ?? []), ...attributes] };
  };

export const keeping =
  (...attributes: readonly string[]) =>
  (write: RowWrite): RowWrite => ({
    ...write,
    remove: (write.remove ?? []).filter((name) => !attributes.includes(name)),
  });
