import { join } from 'node:path';
import { libFolder, moduleExtension } from '../../this-package.ts';

/**
 * How every function is bundled. The stack bundles by this for deployment and the local host for a run, so that what is
 * watched on a laptop is what is deployed.
 */
export const bundling = {
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minify: true,
  /** The SDK's ES modules: a third smaller than what `main` names. */
  mainFields: ['module', 'main'],
  /** Packages in CommonJS call `require` for Node's own modules, which an ES module lacks. */
  banner:
    "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
  /** Packages that are replaced, by a module beside this one: see what each says. */
  replaced: { '@aws-sdk/credential-provider-node': 'function-credentials' },
  /** Replaced as well where no handler runs. */
  replacedInOwn: {
    '@aws-sdk/middleware-endpoint-discovery': 'unused-sdk-parts',
    '@aws-sdk/signature-v4-multi-region': 'unused-sdk-parts',
    '@smithy/core/event-streams': 'unused-sdk-parts',
  },
} as const;

const ENTRIES = {
  '': '',
  worker: 'worker',
  producer: 'client/producer',
  reaper: 'reaper',
  testing: 'testing',
};

/** In the sources, what examples and users' modules import by the package's name; installed, it is found as any package is. */
const ownName = (): Record<string, string> =>
  moduleExtension === '.ts'
    ? Object.fromEntries(
        Object.entries(ENTRIES).map(([part, folder]) => [
          join('leasehold', part),
          join(libFolder, folder, 'index.ts'),
        ]),
      )
    : {};

/** The replaced packages with the files that take their place, in the sources and in the built package. */
export const replacedPackages = (isOwn: boolean): Record<string, string> =>
  Object.fromEntries([
    ...Object.entries(ownName()),
    ...Object.entries(isOwn ? { ...bundling.replaced, ...bundling.replacedInOwn } : bundling.replaced).map(
      ([name, module]) => [name, join(libFolder, 'aws', 'lambda', `${module}${moduleExtension}`)],
    ),
  ]);
