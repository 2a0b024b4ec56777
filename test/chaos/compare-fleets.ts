import { type FleetOptions, type FleetReport, runFleet } from './run-fleet.ts';
import { tell } from './tell.ts';

/** Faults may cost a fifth of the throughput. */
const LEAST_THROUGHPUT = 0.8;
/** The undisturbed fleet is measured for at most so long. */
const UNDISTURBED_SECONDS = 300;

/** Runs the same mix without and with faults, and says what was broken and what it cost too much. */
export async function compareFleets(
  options: FleetOptions & { readonly log: (line: string) => void },
): Promise<string[]> {
  const { log, seconds } = options;
  log(`seed ${options.seed}: undisturbed`);
  const calm = await runFleet({
    ...options,
    cellDeaths: undefined,
    seconds: Math.min(seconds, UNDISTURBED_SECONDS),
  });
  log(`seed ${options.seed}: with faults, ${seconds} s`);
  const disturbed = await runFleet(options);
  log(JSON.stringify({ undisturbed: calm.figures, disturbed: disturbed.figures }, null, 2));
  const ratio = disturbed.figures.jobsPerSecond / calm.figures.jobsPerSecond;
  log(`throughput with faults: ${ratio.toFixed(2)} of the undisturbed`);
  return [
    ...(ratio < LEAST_THROUGHPUT
      ? [`throughput fell to ${ratio.toFixed(2)}; it must be ${LEAST_THROUGHPUT}`]
      : []),
    ...problemsOf('undisturbed', calm),
    ...problemsOf('with faults', disturbed),
  ];
}

function problemsOf(run: string, { figures, findings, evidence }: FleetReport): string[] {
  const promise =
    'a harmless job is charged no crash, unless its host was killed, or a cell in which it was alone';
  const broken = [...findings, ...figures.chargedInnocents.map((jobId) => ({ jobId, promise }))];
  return [
    ...(figures.failedWithoutCause > 0 ? [`${run}: ${figures.failedWithoutCause} harmless jobs failed`] : []),
    ...(broken.length > 0 ? [`${run}: ${broken.length} broken promises\n${tell(broken, evidence)}`] : []),
  ];
}
