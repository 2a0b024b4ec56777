/**
 * Replaces `@aws-sdk/credential-provider-node` in bundled functions. Lambda always gives a function its credentials in three
 * variables; the SDK's own chain brings clients for STS, SSO, instance metadata and configuration files along,
 * a quarter of the bundle, none of which can be reached on Lambda.
 */
export const defaultProvider = () => async () => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_ACCOUNT_ID } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new Error(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set. A bundled function takes its credentials from these ' +
        'variables only, which Lambda sets; outside of Lambda, set them or run the worker from its sources',
    );
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN || undefined,
    accountId: AWS_ACCOUNT_ID || undefined,
  };
};

/** Lambda's credentials outlive the environment that they are given to. */
export const credentialsWillNeedRefresh = (): boolean => false;
export const credentialsTreatedAsExpired = (): boolean => false;
