import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { toEnvironment } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';
import { defined } from '../../wire/defined.ts';
import { OWN_AWS_VARIABLE, SHORT_TIMES_VARIABLE } from '../../wire/environment.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import type { Routing } from '../../wire/pools.ts';

const REGION = 'us-east-1';
const KEY = 'local';

/** Whose AWS account handlers use. */
export type AwsOfHandlers = 'local' | 'mine';

/** Settings are the stack's, and its log lines are read by a program. */
const NEVER_THE_USERS = /^(LEASEHOLD|POWERTOOLS)_/;
/** Endpoints may be stand-ins of other services; a profile would go before the made-up credentials. */
const NEVER_THE_USERS_LOCALLY = /^(LEASEHOLD|POWERTOOLS|AWS(?!_ENDPOINT_URL))_/;

type Variables = Readonly<Record<string, string | undefined>>;

const hasGivenEngine = (surroundings: Variables): boolean =>
  Boolean(surroundings.AWS_ENDPOINT_URL_DYNAMODB || surroundings.AWS_ENDPOINT_URL_SQS);

/** Kept with the data, because DynamoDB Local keeps tables by access key. */
const KEY_FILE = 'leasehold-access-key';

/** A secret by which the engines distinguish the stack's clients from web pages. */
export function localAccessKey(surroundings: Variables, folder: string | undefined): string {
  if (hasGivenEngine(surroundings)) return surroundings.AWS_ACCESS_KEY_ID || KEY;
  // Letters and digits, as DynamoDB Local wants them.
  const made = `LOCAL${randomBytes(16).toString('hex')}`;
  if (folder === undefined) return made;
  const file = join(folder, KEY_FILE);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(file)) writeFileSync(file, made, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** The variables of handlers; only a file that was named must exist. */
export function readEnvFile(directory: string, given: string | undefined): NodeJS.Dict<string> {
  const file = resolve(directory, given ?? '.env');
  if (given === undefined && !existsSync(file)) return {};
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new LeaseholdError('ENV_FILE', `The file '${file}' of --env-file cannot be read. Name another`, {
      cause,
    });
  }
}

export const localEnvironment = {
  /** The standard AWS variables. Engines started here get made-up credentials, so that real ones never reach them. */
  aws(
    endpoints: {
      readonly dynamodb: string;
      readonly sqs: string;
      readonly eventbridge: string;
    },
    surroundings: Variables,
    accessKeyId: string,
  ): Record<string, string> {
    const { AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = hasGivenEngine(surroundings) ? surroundings : {};
    const region = surroundings.AWS_REGION || surroundings.AWS_DEFAULT_REGION || REGION;
    return defined({
      AWS_REGION: region,
      // boto3 reads only this one.
      AWS_DEFAULT_REGION: region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: AWS_SECRET_ACCESS_KEY || KEY,
      AWS_SESSION_TOKEN: AWS_SESSION_TOKEN || undefined,
      AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
      AWS_ENDPOINT_URL_SQS: endpoints.sqs,
      AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventbridge,
    });
  },

  own: (
    names: { readonly tableName: string; readonly queueUrl: string; readonly name: string },
    settings: Settings,
    routing?: Routing,
  ): Record<string, string> => ({
    ...toEnvironment({
      resources: {
        tableName: names.tableName,
        queueUrl: names.queueUrl,
        serviceName: names.name,
        eventBusName: 'default',
      },
      settings,
      routing,
    }),
    [SHORT_TIMES_VARIABLE]: 'true',
  }),

  /** What handlers see: the user's variables, and the stack's. With `mine`, the stack's AWS variables are for Leasehold's clients alone. */
  worker(
    stack: Readonly<Record<string, string>>,
    user: Variables,
    aws: AwsOfHandlers,
  ): Record<string, string> {
    const notTheirs = aws === 'mine' ? NEVER_THE_USERS : NEVER_THE_USERS_LOCALLY;
    const kept = Object.entries(user).filter(([name]) => !notTheirs.test(name));
    const isAws = ([name]: readonly [string, string]) => name.startsWith('AWS_');
    const all = Object.entries(stack);
    const own = {
      ...Object.fromEntries(all.filter((each) => !isAws(each))),
      [OWN_AWS_VARIABLE]: JSON.stringify(Object.fromEntries(all.filter(isAws))),
    };
    return { ...defined(Object.fromEntries(kept)), ...(aws === 'mine' ? own : stack) } as Record<
      string,
      string
    >;
  },

  clientConfig: (aws: Readonly<Record<string, string>>) => ({
    region: aws.AWS_REGION ?? REGION,
    credentials: {
      accessKeyId: aws.AWS_ACCESS_KEY_ID ?? KEY,
      secretAccessKey: aws.AWS_SECRET_ACCESS_KEY ?? KEY,
      sessionToken: aws.AWS_SESSION_TOKEN,
    },
  }),
};
