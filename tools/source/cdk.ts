export * from '../../lib/cdk/index.ts';
