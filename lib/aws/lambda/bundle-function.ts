import { bundleOwn, bundleWorker } from './bundle.ts';

/** A program, for whoever cannot wait for a promise: bundles a function into a folder, or says on stderr why it cannot. */
const [, , folder = '', name = '', jobs] = process.argv;
await (jobs === undefined ? bundleOwn(name, folder) : bundleWorker(jobs, folder)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
