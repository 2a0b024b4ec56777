import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { installCommand } from '../bundle/package-manager.ts';
import {
  availableEngines,
  type DynamoDbEngineName,
  JAVA_PACKAGE,
  noEngineMessage,
} from './engines/dynamodb-engine.ts';
import { EngineError } from './engines/engine-error.ts';
import { isInstalled } from './engines/find-package.ts';

interface Needs {
  readonly jobs?: string;
  readonly engine?: DynamoDbEngineName;
  readonly data?: string;
  readonly bundles: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

const thisMachine = { has: isInstalled, engines: availableEngines };

/** Reports at once what would otherwise fail halfway through the start. */
export async function checkTools(
  needs: Needs,
  surroundings: Variables,
  machine = thisMachine,
): Promise<void> {
  if (needs.jobs !== undefined && !existsSync(needs.jobs))
    throw new EngineError(
      'ENGINE_FAILED',
      `There is no file '${needs.jobs}'. Name the module with: export const registry = createRegistry([...])`,
    );
  if (needs.data !== undefined) checkWritable(needs.data);
  await checkPackages(needs, surroundings, machine);
}

function checkWritable(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (cause) {
    throw new EngineError(
      'ENGINE_FAILED',
      `The folder '${resolve(folder)}' for --data cannot be written (${(cause as NodeJS.ErrnoException).code ?? cause}). Name another`,
      { cause },
    );
  }
}

async function checkPackages(
  { bundles, engine }: Needs,
  surroundings: Variables,
  machine: typeof thisMachine,
): Promise<void> {
  const engines = surroundings.AWS_ENDPOINT_URL_DYNAMODB ? [] : await machine.engines();
  const wanted = engines.filter((each) => (engine ?? each.engine) === each.engine);
  const needsEngine = wanted.length > 0 && !wanted.some((each) => each.available);
  const [missing] = needsEngine ? wanted.flatMap((each) => (!each.available && each.missing) || []) : [];
  const isJava = missing === JAVA_PACKAGE;
  const dev = [
    ...(bundles && !machine.has('esbuild') ? ['esbuild'] : []),
    ...(!surroundings.AWS_ENDPOINT_URL_SQS && !machine.has('fauxqs') ? ['fauxqs'] : []),
    ...(isJava ? [missing] : []),
  ];
  // A development dependency for one platform cannot be installed on another.
  const optional = missing === undefined || isJava ? [] : [missing];
  const all = [...dev, ...optional];
  if (all.length > 0)
    throw new EngineError(
      'ENGINE_UNAVAILABLE',
      `This needs ${all.join(', ')}, which ${all.length > 1 ? 'are' : 'is'} not installed. Run: ${installCommand({ dev, optional })}${
        isJava ? ' (and Java 17 or newer)' : ''
      }`,
    );
  if (needsEngine) throw new EngineError('ENGINE_UNAVAILABLE', noEngineMessage(wanted));
}
