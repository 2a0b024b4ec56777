import { loadJobsModule } from '../worker/cells/load-jobs-module.ts';
import { samplePayload } from './sample-payload.ts';

/**
 * A program: loads the jobs module that it is given, in a process of its own, because a module's top level may hang or exit.
 * Writes the types and a payload to try each with to stdout, or what is wrong to stderr.
 */
try {
  const { definitions } = await loadJobsModule(process.argv[2] ?? '');
  const types = definitions.map(({ type, payload }) => ({ type, sample: samplePayload(payload) }));
  process.stdout.write(`\n${JSON.stringify({ types })}\n`, () => process.exit(0));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1));
}
