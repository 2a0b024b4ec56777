export * from '../../lib/client/producer/index.ts';
