import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Identity {
  readonly profile?: string;
  /** ARN of a role that the profile or the environment may assume. */
  readonly role?: string;
}

const ROLE_PROFILE = 'leasehold-rehearsal';

/**
 * The variables by which the SDK, the CDK CLI and worker processes all use this identity. A role becomes a profile, because
 * sessions of profiles are renewed and an assumed role's own session often lasts only an hour.
 */
export function identityVariables(
  { profile, role }: Identity,
  environment: Environment,
  folder: string,
): Record<string, string> {
  if (role === undefined) return profile === undefined ? {} : { AWS_PROFILE: profile };
  const file = environment.AWS_CONFIG_FILE ?? join(homedir(), '.aws', 'config');
  const own = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const config = join(folder, 'aws-config');
  const lines = [
    own,
    `[profile ${ROLE_PROFILE}]`,
    `role_arn = ${role}`,
    'role_session_name = leasehold-rehearsal',
    sourceOf(profile, environment),
  ];
  writeFileSync(config, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { AWS_PROFILE: ROLE_PROFILE, AWS_CONFIG_FILE: config };
}

function sourceOf(profile: string | undefined, environment: Environment): string {
  if (profile !== undefined) return `source_profile = ${profile}`;
  if (environment.AWS_ACCESS_KEY_ID) return 'credential_source = Environment';
  if (environment.AWS_CONTAINER_CREDENTIALS_FULL_URI || environment.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)
    return 'credential_source = EcsContainer';
  return `source_profile = ${environment.AWS_PROFILE || 'default'}`;
}

export const deleteCommand = (
  stack: string,
  region: string,
  { AWS_CONFIG_FILE, AWS_PROFILE }: Record<string, string>,
): string =>
  [
    ...(AWS_CONFIG_FILE === undefined ? [] : [`AWS_CONFIG_FILE=${AWS_CONFIG_FILE}`]),
    `aws cloudformation delete-stack --stack-name ${stack} --region ${region}`,
    ...(AWS_PROFILE === undefined ? [] : [`--profile ${AWS_PROFILE}`]),
  ].join(' ');
