import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { BUNDLE, bundle, bundleOwn, bundleWorker, ownFunction } from '../../aws/lambda/bundle.ts';
import { libFolder, packageFolder } from '../../this-package.ts';

/** The folders with the functions' bundles, ready to run; `remove` deletes what was built for this run. */
export interface Bundles {
  readonly folder: (name: string) => string;
  /** The user's files that the bundles of a jobs module were made from. */
  readonly sources: () => readonly string[];
  /** Bundles the jobs module anew, into the same folders. */
  rebuild(): Promise<void>;
  remove(): void;
}

export interface BundleOptions {
  /** A source file by function; one that is left out is the function's own folder, which the published package has bundled. */
  readonly entries?: Readonly<Record<string, string>>;
  /** A jobs module: the worker is made from it, and it has a bundle of its own under the name `jobs`. @default - the demo's */
  readonly jobs?: string;
}

/** What a worker runs that is given nothing; the published package has it bundled. */
const DEMO_JOBS = join(packageFolder, 'examples', 'demo.ts');

/** Bundles functions as the stack does. */
export async function buildBundles(names: readonly string[], options: BundleOptions = {}): Promise<Bundles> {
  const { entries = {} } = options;
  const isBuilt = (name: string) =>
    entries[name] === undefined && existsSync(join(ownFunction(name), BUNDLE));
  const needsJobs = names.includes('worker') && entries.worker === undefined && !isBuilt('worker');
  const given = options.jobs ?? (needsJobs ? DEMO_JOBS : undefined);
  const jobs = given && resolve(given);
  const ofJobs = jobs === undefined ? [] : ['worker', 'jobs'];
  const made = names.filter((name) => !ofJobs.includes(name) && !isBuilt(name));
  const scratch = mkdtempSync(join(tmpdir(), 'leasehold-bundles-'));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  let inputs: readonly string[] = [];
  const buildJobs = async () => {
    if (jobs === undefined) return;
    const [ofWorker] = await Promise.all([
      bundleWorker(jobs, join(scratch, 'worker')),
      bundle({ entryPoints: { index: jobs }, outdir: join(scratch, 'jobs') }),
    ]);
    inputs = ofWorker;
  };
  const buildOthers = () =>
    Promise.all(
      made.map((name) => {
        const { [name]: entry } = entries;
        const outdir = join(scratch, name);
        return entry === undefined
          ? bundleOwn(name, outdir)
          : bundle({ entryPoints: { index: entry }, outdir });
      }),
    );
  try {
    await Promise.all([buildJobs(), buildOthers()]);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    folder: (name) => ([...ofJobs, ...made].includes(name) ? join(scratch, name) : ownFunction(name)),
    sources: () =>
      inputs.filter((file) => !file.includes(`${sep}node_modules${sep}`) && !file.startsWith(libFolder)),
    rebuild: buildJobs,
    remove,
  };
}
