/** A separate file that the build bundles, because CommonJS cannot load the package. */
export { default as middy } from '@middy/core';
