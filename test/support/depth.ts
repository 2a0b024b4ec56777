/** Whether this is `npm run test:deep`, which has time for what `npm test` does a little of. */
export const isDeep: boolean = process.env.TEST_DEEP === '1';

/** How much of something: so much in `npm test`, so much in `npm run test:deep`. */
export const atDepth = (quick: number, deep: number): number => (isDeep ? deep : quick);
