export * from '../../lib/producer/index.ts';
