import { join } from 'node:path';
import { libFolder, moduleExtension } from '../../this-package.ts';

/** How a jobs module is bundled, in the terms of CDK's NodejsFunction. */
export interface BundlingOptions {
  /** Packages installed next to the bundle: native ones, and those that read their own files. @default - none */
  readonly nodeModules?: readonly string[];
  /** Packages left out, because a layer has them or nothing calls them. @default - none */
  readonly externalModules?: readonly string[];
  /** What esbuild makes of files by extension: `{ '.sql': 'text' }`. @default - esbuild's own */
  readonly loader?: Readonly<Record<string, string>>;
}

/** One configuration for deployed and local functions, so that both run the same code. */
export const bundling = {
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minify: true,
  /** ES modules of the SDK are a third smaller. */
  mainFields: ['module', 'main'],
  /** CommonJS packages use these and `require`, which ES modules lack. */
  define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
  banner:
    "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
} as const;

/**
 * Unused on Lambda, which always sets credentials; they are a quarter of a bundle and a third of the reaper's import
 * time. Cells keep them for handlers.
 */
export const UNUSED_CREDENTIAL_SOURCES = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
];

const ENTRIES = {
  '': '',
  worker: 'worker',
  producer: 'client/producer',
  reaper: 'reaper',
  testing: 'testing',
};

export const ownPackage = (): Record<string, string> =>
  moduleExtension === '.ts'
    ? Object.fromEntries(
        Object.entries(ENTRIES).map(([part, folder]) => [
          join('leasehold', part),
          join(libFolder, folder, 'index.ts'),
        ]),
      )
    : {};
