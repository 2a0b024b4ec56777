import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options of a tool; with `--help`, or with something that is none of them, it tells its usage and ends. */
export function toolOptions<const T extends Options>(usage: string, options: T) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } as const });
    if (!('help' in values)) return values as ReturnType<typeof parseArgs<{ options: T }>>['values'];
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
