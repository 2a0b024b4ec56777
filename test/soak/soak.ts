import { medianOf, trendsOf } from './judge-soak.ts';
import { runSoak } from './run-soak.ts';
import type { SoakSample } from './soak-sample.ts';

/** So many jobs at once in one worker process, undisturbed; nothing may grow. Returns the code to exit with. */
export async function soak(seed: number, minutes: number, jobs: number): Promise<number> {
  console.log(`seed ${seed}: ${jobs} jobs at once for ${minutes} minutes`);
  const { samples, done, problems } = await runSoak({ seed, seconds: minutes * 60, jobs, log: console.log });
  console.table(
    Object.fromEntries(
      trendsOf(samples).map(({ name, ...figures }) => [
        name,
        Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, Number(value.toFixed(1))])),
      ]),
    ),
  );
  const middle = (of: (sample: SoakSample) => number) => Math.round(medianOf(samples.map(of)));
  const slimmest = Math.min(...samples.slice(1).map(({ marginMs }) => marginMs));
  console.log(
    `${done} jobs done; ${middle(({ running }) => running)} at once, ${middle(({ beatsPerSecond }) => beatsPerSecond)} beats and ` +
      `${middle(({ requestsPerSecond }) => requestsPerSecond)} requests a second (medians); no lease was closer to its end than ${(slimmest / 1000).toFixed(1)} s`,
  );
  for (const problem of problems.slice(0, 50)) console.error(problem);
  console.log(
    problems.length === 0
      ? `seed ${seed}: flat, and every promise held`
      : `seed ${seed}: ${problems.length} problems`,
  );
  return problems.length === 0 ? 0 : 1;
}
