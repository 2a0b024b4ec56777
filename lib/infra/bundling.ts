import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/** One folder for each deployed function. */
export type FunctionName = 'worker' | 'reaper' | 'dead-letter';

const projectRoot = join(import.meta.dirname, '..', '..');

/** Modules that were written as CommonJS call `require`, which an ES module lacks. */
const CREATE_REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * How a function becomes one file. The SDK is bundled, so that what was tested is what runs; `module` before `main` lets
 * esbuild drop what is not used, and halves the file; names are kept because errors are told apart by theirs.
 */
export const bundling = {
  format: OutputFormat.ESM,
  target: 'node24',
  mainFields: ['module', 'main'],
  bundleAwsSDK: true,
  minify: true,
  keepNames: true,
  sourceMap: true,
  sourcesContent: false,
  banner: CREATE_REQUIRE,
} as const satisfies BundlingOptions;

/** Where a function's code is: bundled at synth from its source, or, in the published package, bundled already. */
export type FunctionSource =
  | { readonly kind: 'source'; readonly entry: string; readonly projectRoot?: string }
  | { readonly kind: 'bundle'; readonly directory: string };

/** The code of one of Leasehold's own functions. */
export function functionSource(name: FunctionName): FunctionSource {
  const directory = join(projectRoot, 'functions', name);
  return existsSync(join(directory, 'index.mjs'))
    ? { kind: 'bundle', directory }
    : { kind: 'source', entry: join(directory, 'index.ts'), projectRoot };
}

/** The nearest lock file above a user's entry decides how CDK bundles it; Leasehold's own entries have theirs. */
export const lockFileOf = (root: string | undefined): string | undefined =>
  root === undefined ? undefined : join(root, 'package-lock.json');

/** The folder that an entry is bundled from. */
export const folderOf = (source: FunctionSource): string =>
  source.kind === 'bundle' ? source.directory : dirname(source.entry);
