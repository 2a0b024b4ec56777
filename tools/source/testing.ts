export * from '../../lib/testing/index.ts';
