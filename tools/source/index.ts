export * from '../../lib/index.ts';
