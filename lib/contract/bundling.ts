/**
 * How every function is bundled. The stack bundles by this for deployment and the local host for a run, so that what is
 * watched on a laptop is what is deployed.
 */
export const bundling = {
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minify: true,
  keepNames: true,
  /** The SDK's ES modules: a third smaller than what `main` names. */
  mainFields: ['module', 'main'],
  /** Packages in CommonJS call `require` for Node's own modules, which an ES module lacks. */
  banner:
    "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
} as const;
