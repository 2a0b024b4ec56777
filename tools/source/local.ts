export * from '../../lib/local/index.ts';
