import { toEnvironment } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';
import { defined } from '../../wire/defined.ts';

const REGION = 'us-east-1';
const KEY = 'local';

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables by which code finds the local stack: AWS's own, and Leasehold's. */
export const localEnvironment = {
  /**
   * The standard AWS variables. An engine that was started here gets made-up credentials, so that real ones never reach
   * it; an endpoint that was given may want the ones that came with it.
   */
  aws(
    endpoints: {
      readonly dynamodb: string;
      readonly sqs: string;
      readonly eventbridge: string;
    },
    surroundings: Variables,
  ): Record<string, string> {
    const isGiven = Boolean(surroundings.AWS_ENDPOINT_URL_DYNAMODB || surroundings.AWS_ENDPOINT_URL_SQS);
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = isGiven ? surroundings : {};
    return defined({
      AWS_REGION: surroundings.AWS_REGION || surroundings.AWS_DEFAULT_REGION || REGION,
      AWS_ACCESS_KEY_ID: AWS_ACCESS_KEY_ID || KEY,
      AWS_SECRET_ACCESS_KEY: AWS_SECRET_ACCESS_KEY || KEY,
      AWS_SESSION_TOKEN: AWS_SESSION_TOKEN || undefined,
      AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
      AWS_ENDPOINT_URL_SQS: endpoints.sqs,
      AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventbridge,
    });
  },

  /** Leasehold's variables, as the stack gives them to its functions. */
  own: (
    names: { readonly tableName: string; readonly queueUrl: string; readonly name: string },
    settings: Settings,
  ): Record<string, string> =>
    toEnvironment({
      resources: {
        tableName: names.tableName,
        queueUrl: names.queueUrl,
        serviceName: names.name,
        eventBusName: 'default',
      },
      settings,
    }),

  /** For SDK clients in this process, whose own environment stays as it is. */
  clientConfig: (aws: Readonly<Record<string, string>>) => ({
    region: aws.AWS_REGION ?? REGION,
    credentials: {
      accessKeyId: aws.AWS_ACCESS_KEY_ID ?? KEY,
      secretAccessKey: aws.AWS_SECRET_ACCESS_KEY ?? KEY,
      sessionToken: aws.AWS_SESSION_TOKEN,
    },
  }),
};
