import { join } from 'node:path';
import { type App, RemovalPolicy } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { givenSettings } from '../settings/environment.ts';
import { settingNames } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { packageFolder } from '../this-package.ts';
import { resourceVariables, settingVariable } from '../wire/environment.ts';
import { quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import { LeaseholdStack } from './leasehold-stack.ts';
import type { LeaseholdJobsProps } from './props/leasehold-jobs-props.ts';
import { propsFromSettings } from './props/settings-from-props.ts';

/** Context keys of ours begin with this: `-c leasehold:leaseMs=60000`, or the same in cdk.json. */
const CONTEXT_PREFIX = 'leasehold:';

/** What this repository's own app deploys, unless context names another module. */
const EXAMPLES = join(packageFolder, 'examples', 'registry.ts');

/** What a deployment from this app can choose besides the settings. */
const choices = [
  'stackName',
  'serviceName',
  'jobs',
  'workerMemorySize',
  'alarmTopicArn',
  'encryptionKeyArn',
  'eventBusName',
  'deletionProtection',
  'removalPolicy',
] as const;

type Choices = { readonly [name in (typeof choices)[number]]?: string };
type Environment = Readonly<Record<string, string | undefined>>;

/** What was chosen for one app, by context and by environment; where both name a thing, context wins. */
interface AppChoices {
  readonly choices: Choices;
  readonly settings: ReturnType<typeof givenSettings>;
}

/** What an app deploys unless context says otherwise. */
export interface AppStackDefaults {
  /** @default Leasehold */
  readonly stackName?: string;
  /** The jobs module. @default - the examples of this package */
  readonly jobs?: string;
}

/**
 * The stack of an app whose settings are chosen at each deploy, by context (`-c leasehold:leaseMs=60000`) or environment: for the
 * account that the CLI is signed in to, or for any when it is not.
 */
export function createAppStack(
  app: App,
  environment: Environment,
  defaults: AppStackDefaults = {},
): LeaseholdStack {
  const chosen = readAppChoices(app, environment);
  const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = environment;
  return new LeaseholdStack(app, chosen.choices.stackName ?? defaults.stackName ?? 'Leasehold', {
    env: account && region ? { account, region } : undefined,
    jobs: (scope) => jobsProps(scope, chosen, defaults.jobs ?? EXAMPLES),
  });
}

/** Reads context and environment, and refuses unknown names. */
function readAppChoices(app: Construct, environment: Environment): AppChoices {
  const context: Readonly<Record<string, unknown>> = app.node.getAllContext();
  const given = Object.entries(context)
    .filter(([key]) => key.startsWith(CONTEXT_PREFIX))
    .map(([key, value]) => [key.slice(CONTEXT_PREFIX.length), String(value)] as const);
  const known: readonly string[] = [...choices, ...settingNames];
  const problems = given
    .filter(([name]) => !known.includes(name))
    .map(
      ([name]) =>
        `context '${CONTEXT_PREFIX}${name}' is unknown.${didYouMean(name, known)} Allowed after '${CONTEXT_PREFIX}': ${known.join(', ')}`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
  const isChoice = (name: string) => (choices as readonly string[]).includes(name);
  const variables = given
    .filter(([name]) => !isChoice(name))
    .map(([name, value]) => [settingVariable(name), value] as const);
  return {
    settings: givenSettings({ ...environment, ...Object.fromEntries(variables) }),
    choices: {
      ...named('serviceName', environment[resourceVariables.serviceName]),
      ...named('eventBusName', environment[resourceVariables.eventBusName]),
      ...Object.fromEntries(given.filter(([name]) => isChoice(name))),
    },
  };
}

const named = (name: keyof Choices, value: string | undefined): Choices => (value ? { [name]: value } : {});

/** The choices as props; what is named by ARN is looked up nowhere, only referred to. */
function jobsProps(
  scope: Construct,
  { choices, settings }: AppChoices,
  jobsByDefault: string,
): LeaseholdJobsProps {
  const { serviceName, jobs, workerMemorySize, alarmTopicArn, encryptionKeyArn, eventBusName } = choices;
  return {
    ...propsFromSettings(settings),
    // An empty text is no choice.
    serviceName: serviceName || undefined,
    jobs: jobs || jobsByDefault,
    workerMemorySize: workerMemorySize ? Number(workerMemorySize) : undefined,
    alarmTopic: alarmTopicArn ? Topic.fromTopicArn(scope, 'AlarmTopic', alarmTopicArn) : undefined,
    encryptionKey: encryptionKeyArn ? Key.fromKeyArn(scope, 'EncryptionKey', encryptionKeyArn) : undefined,
    eventBus: eventBusName ? EventBus.fromEventBusName(scope, 'EventBus', eventBusName) : undefined,
    ...oneOf('removalPolicy', choices.removalPolicy, {
      retain: RemovalPolicy.RETAIN,
      destroy: RemovalPolicy.DESTROY,
    }),
    ...oneOf('deletionProtection', choices.deletionProtection, { true: true, false: false }),
  };
}

function oneOf<T>(name: keyof Choices, text: string | undefined, meanings: Readonly<Record<string, T>>) {
  if (text === undefined) return {};
  if (!Object.hasOwn(meanings, text))
    throw new SettingsError([
      `context '${CONTEXT_PREFIX}${name}' is ${quoted(text)}; it must be one of ${Object.keys(meanings).join(', ')}`,
    ]);
  return { [name]: meanings[text] };
}
