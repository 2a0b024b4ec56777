export * from '../../lib/tools/dev/index.ts';
