export * from '../../lib/client/index.ts';
