import { expect, it } from 'vitest';
import { runChaos } from '../chaos/run-chaos.ts';
import { tell } from '../chaos/tell.ts';
import { atDepth } from '../support/depth.ts';

/** The short form of `npm run chaos`, which goes on for as long as you let it. */
const SEED = 20;
const JOBS = atDepth(12, 150);

it('keeps every promise while hosts and cells die and stop, and hosts lose touch', {
  timeout: 900_000,
}, async () => {
  const { findings, evidence, figures } = await runChaos({
    seed: SEED,
    seconds: atDepth(5, 60),
    jobs: JOBS,
    workers: 2,
  });
  if (findings.length > 0) throw new Error(`seed ${SEED}:\n${tell(findings, evidence)}`);
  expect(evidence.accepted).toHaveLength(JOBS);
  expect(figures.processesLost).toBeGreaterThan(0);
  expect(figures.cellsKilled + figures.cellsStopped).toBeGreaterThan(0);
  expect(figures.runs).toBeGreaterThanOrEqual(JOBS);
});
