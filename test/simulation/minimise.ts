import { type SimulationOptions, type SimulationResult, simulate } from './simulate.ts';

/** A failing schedule with every fault taken out that it does not need, and its timeline. */
export async function minimise(options: SimulationOptions): Promise<SimulationResult> {
  let best = await simulate(options);
  if (best.violation === undefined) throw new Error(`seed ${options.seed} breaks nothing`);
  let suppressed: ReadonlySet<number> = new Set(options.suppressed);
  const takeOut = async (size: number): Promise<void> => {
    // From the end: what is taken out there does not give later faults other numbers.
    for (const part of parts(best.faultsInjected, size).reverse()) {
      const without = new Set([...suppressed, ...part]);
      const result = await simulate({ ...options, suppressed: without });
      if (result.violation === undefined) continue;
      if (result.faultsInjected.length >= best.faultsInjected.length) continue;
      best = result;
      suppressed = without;
    }
  };
  // One fault less, and others come about in its place: again, until none can be spared.
  for (let before = Number.POSITIVE_INFINITY; best.faultsInjected.length < before; ) {
    before = best.faultsInjected.length;
    for (let size = Math.ceil(before / 2); size >= 1; size = Math.floor(size / 2)) await takeOut(size);
  }
  return simulate({ ...options, suppressed, traced: true });
}

function parts(ordinals: readonly number[], size: number): number[][] {
  const slices: number[][] = [];
  for (let at = 0; at < ordinals.length; at += size) slices.push(ordinals.slice(at, at + size));
  return slices;
}

/** What a failing test prints: the promise, how to see it again, and what led there. */
export function story(result: SimulationResult): string {
  const lines = result.timeline.map(
    ({ at, who, text }) => `${(at / 1000).toFixed(3).padStart(9)} s  ${who.padEnd(10)} ${text}`,
  );
  return [`seed ${result.seed}: ${result.violation}`, ...lines].join('\n');
}
