import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Plugin } from 'esbuild';

/** Leaves out of a bundle what the SDK's clients bring along and nobody uses; in functions of Leasehold's own, where no handler runs, more. */
export const trimming = (isOwn: boolean): Plugin[] =>
  isOwn ? [shortManifests, leanSchemas, nativeHashes, plainSignatures] : [shortManifests];

/** The clients import their package.json for the version, and would bring along all that is in it. */
const shortManifests: Plugin = {
  name: 'short-manifests',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@aws-sdk[\\/]client-[^\\/]+[\\/]package\.json$/ }, ({ path }) => {
      const { name, version } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ name, version }), loader: 'json' };
    });
  },
};

/** What DynamoDB tells in these is more than a name: the first has the row in it, the second is marked as one to retry. */
const KEPT_ERRORS = ['ConditionalCheckFailedException', 'ReplicatedWriteConflictException'];

/**
 * Lets esbuild drop the schemas that no function of Leasehold uses: a client registers every error that its service knows, and names
 * the traits of its schemas by constants, both of which look as if they did something. An error without a class of its own is the client's
 * base error with the same message and status, and the name that the service gives it. A cell has the clients as they are: a handler may tell
 * errors by their classes.
 */
const leanSchemas: Plugin = {
  name: 'lean-schemas',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@aws-sdk[\\/]client-[^\\/]+[\\/].*[\\/]schemas_\d+\.js$/ }, ({ path }) => ({
      contents: lean(readFileSync(path, 'utf8')),
      loader: 'js',
    }));
  },
};

const CONSTANT = /^const (_\w+) = ("[^"]*");$/gm;
const COMPUTED_KEY = /\[(_\w+)\]:/g;
const REGISTRATION = /^n\d+_registry\.registerError\((\w+)\$/gm;

function lean(schemas: string): string {
  const texts = new Map(Array.from(schemas.matchAll(CONSTANT), ([, name, text]) => [name, text]));
  return schemas
    .replace(COMPUTED_KEY, (key, name) => (texts.has(name) ? `${texts.get(name)}:` : key))
    .replace(REGISTRATION, (call, error) => (KEPT_ERRORS.includes(error) ? call : `/* @__PURE__ */ ${call}`));
}

/** Node.js has both hashes. These are for where it was built without, or may not use MD5, which no client here is asked for. */
const nativeHashes: Plugin = {
  name: 'native-hashes',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@smithy[\\/]core[\\/].*[\\/](Md5|Sha256)Js\.js$/ }, ({ path }) => ({
      contents: `export const ${basename(path, '.js')} = undefined;`,
      loader: 'js',
    }));
  },
};

/** Without what signs events of a stream, or addresses that are handed on: no function of Leasehold has either. */
const plainSignatures: Plugin = {
  name: 'plain-signatures',
  setup({ onLoad }) {
    onLoad(
      { filter: /[\\/]@smithy[\\/]signature-v4[\\/].*[\\/](HeaderFormatter|moveHeadersToQuery)\.js$/ },
      ({ path }) => ({ contents: `export class ${basename(path, '.js')} {}`, loader: 'js' }),
    );
    onLoad({ filter: /[\\/]@smithy[\\/]signature-v4[\\/].*[\\/]SignatureV4\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(UNUSED_SIGNING, ''),
      loader: 'js',
    }));
  },
};

const UNUSED_SIGNING = /^ {4}async (presign|signEvent|signMessage)\(.*?^ {4}\}\n/gms;
