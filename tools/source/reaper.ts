export * from '../../lib/reaper/index.ts';
