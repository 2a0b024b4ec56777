export * from '../../lib/worker/index.ts';
