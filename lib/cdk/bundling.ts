import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { bundling, replacedPackages } from '../aws/lambda/bundling.ts';
import { packageFolder } from '../this-package.ts';

/** One folder for each deployed function. */
export type FunctionName = 'worker' | 'reaper' | 'dead-letter';

/**
 * How NodejsFunction makes a function one file. The SDK is bundled, so that what was tested is what runs; the source map
 * names places in the sources without carrying them.
 */
export const bundlingOptions: BundlingOptions = {
  format: OutputFormat.ESM,
  target: bundling.target,
  mainFields: [...bundling.mainFields],
  minify: bundling.minify,
  keepNames: bundling.keepNames,
  banner: bundling.banner,
  bundleAwsSDK: true,
  sourceMap: true,
  sourcesContent: false,
  esbuildArgs: Object.fromEntries(
    Object.entries(replacedPackages()).map(([name, file]) => [`--alias:${name}`, file]),
  ),
};

/** Where a function's code is: bundled at synth from its source, or, in the published package, bundled already. */
export type FunctionSource =
  | { readonly kind: 'source'; readonly entry: string; readonly projectRoot?: string }
  | { readonly kind: 'bundle'; readonly directory: string };

/** The code of one of Leasehold's own functions. */
export function functionSource(name: FunctionName): FunctionSource {
  const directory = join(packageFolder, 'functions', name);
  return existsSync(join(directory, 'index.mjs'))
    ? { kind: 'bundle', directory }
    : { kind: 'source', entry: join(directory, 'index.ts'), projectRoot: packageFolder };
}
