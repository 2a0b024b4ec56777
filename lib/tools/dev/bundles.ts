import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { libFolder, packageFolder } from '../../this-package.ts';
import { BUNDLE, bundle, bundleOwn, bundleWorker, ownFunction } from '../bundle/bundle.ts';
import type { BundlingOptions } from '../bundle/bundling.ts';

export interface BundleOptions {
  /** Source file by function name. @default - the function's own folder, prebuilt in the published package */
  readonly entries?: Readonly<Record<string, string>>;
  readonly jobs?: string;
  readonly bundling?: BundlingOptions;
}

const DEMO_JOBS = join(packageFolder, 'examples', 'demo.ts');

export type Bundles = Awaited<ReturnType<typeof buildBundles>>;

export async function buildBundles(names: readonly string[], options: BundleOptions = {}) {
  const { entries = {} } = options;
  const isBuilt = (name: string) =>
    entries[name] === undefined && existsSync(join(ownFunction(name), BUNDLE));
  const needsJobs = names.includes('worker') && entries.worker === undefined && !isBuilt('worker');
  const given = options.jobs ?? (needsJobs ? DEMO_JOBS : undefined);
  const jobs = given && resolve(given);
  const ofJobs = jobs === undefined ? [] : ['worker'];
  const made = names.filter((name) => !ofJobs.includes(name) && !isBuilt(name));
  const scratch = mkdtempSync(join(tmpdir(), 'leasehold-bundles-'));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  let inputs: readonly string[] = [];
  const buildJobs = async (name: string) => {
    if (jobs !== undefined) inputs = await bundleWorker(jobs, join(scratch, name), options.bundling);
    return join(scratch, name);
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
    await Promise.all([buildJobs('worker'), buildOthers()]);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    folder: (name: string): string =>
      [...ofJobs, ...made].includes(name) ? join(scratch, name) : ownFunction(name),
    sources: (): readonly string[] =>
      inputs.filter((file) => !file.includes(`${sep}node_modules${sep}`) && !file.startsWith(libFolder)),
    async rebuild<Checked>(check: (folder: string) => Promise<Checked>): Promise<Checked> {
      const next = await buildJobs('worker-next');
      const checked = await check(next);
      rmSync(join(scratch, 'worker'), { recursive: true });
      renameSync(next, join(scratch, 'worker'));
      return checked;
    },
    remove,
  };
}
