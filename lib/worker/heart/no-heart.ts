import type { Heart } from '../run/heart.ts';

/** For functions that run no jobs. */
export const noHeart: Heart = {
  start() {},
  stop() {},
  ready: async () => {},
  quiet: async () => {},
  close: async () => {},
};
