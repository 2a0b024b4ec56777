import { atDepth } from './depth.ts';

/** How often a property is tried: `LEASEHOLD_FUZZ=50 npx vitest run test/unit/fuzz` tries fifty times as often. */
export const fuzzRuns = (numRuns: number): { readonly numRuns: number } => ({
  numRuns: numRuns * Number(process.env.LEASEHOLD_FUZZ ?? atDepth(1, 10)),
});
