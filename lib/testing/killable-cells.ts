import type { Cells, RunEnd } from '../worker/cells/cells.ts';

/** Nothing a killed cell does has an effect. */
export function killableCells(cells: Cells): { readonly cells: Cells; kill(): void } {
  const deaths = new Set<() => void>();
  return {
    cells: {
      ...cells,
      start(work) {
        const died = Promise.withResolvers<RunEnd>();
        let isDead = false;
        const die = () => {
          isDead = true;
          died.resolve({ kind: 'died', cause: 'killed by the test', crashedAlone: true });
        };
        const run = cells.start({
          ...work,
          async save(kept) {
            if (isDead) return new Promise(() => {});
            const outcome = await work.save(kept);
            return isDead ? new Promise(() => {}) : outcome;
          },
          onProgress: () => isDead || work.onProgress(),
        });
        deaths.add(die);
        const end = Promise.race([run.end, died.promise]).finally(() => deaths.delete(die));
        return { ...run, end };
      },
    },
    kill() {
      for (const die of deaths) die();
    },
  };
}
