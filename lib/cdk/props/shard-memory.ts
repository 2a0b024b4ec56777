import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Annotations, Stack, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { quoted } from '../../wire/message.ts';

/** CDK's memory between synths; commit it. */
const CONTEXT_FILE = 'cdk.context.json';

export interface Sharded {
  /** Undefined if the account is unknown at synth, so that nothing can be deployed. */
  readonly shardsKey: string | undefined;
  readonly settings: Pick<Settings, 'shards'>;
}

export function shardsKeyOf(scope: Construct, serviceName: string): string | undefined {
  const { account, region } = Stack.of(scope);
  return Token.isUnresolved(account) || Token.isUnresolved(region)
    ? undefined
    : `leasehold-shards:account=${account}:region=${region}:${serviceName}`;
}

export function refuseFewerShards(scope: Construct, { shardsKey, settings }: Sharded): void {
  if (shardsKey === undefined) return;
  const highest: unknown = scope.node.tryGetContext(shardsKey);
  if (highest === undefined) return;
  if (typeof highest !== 'number')
    throw new SettingsError([
      `context '${shardsKey}' is ${quoted(highest)}; it must be the highest number of shards ever deployed. Correct it in ${CONTEXT_FILE}`,
    ]);
  if (settings.shards < highest)
    throw new SettingsError([
      `setting 'shards' is ${settings.shards}, but ${highest} were deployed before: shards may only grow, because jobs that were written under the higher numbers are found only by sweeping those. Set it to ${highest} or more; if ${highest} were never really deployed, remove '${shardsKey}' from ${CONTEXT_FILE}`,
    ]);
}

/** Runs only under the CDK CLI, not in template tests. */
export function rememberShardsAtSynth(deployed: Construct & Sharded): void {
  deployed.node.addValidation({
    validate: () => {
      if (process.env.CDK_OUTDIR === undefined) return [];
      try {
        rememberShards([deployed]);
      } catch (error) {
        Annotations.of(deployed).addWarningV2(
          'leasehold:shards',
          `the number of shards could not be kept: ${error instanceof Error ? error.message : error}. Add "${deployed.shardsKey}": ${deployed.settings.shards} to ${CONTEXT_FILE} in version control, so that synth can refuse fewer`,
        );
      }
      return [];
    },
  });
}

/** @internal */
export function rememberShards(deployed: readonly Sharded[], file = CONTEXT_FILE): void {
  const context: Record<string, unknown> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const news = deployed.filter(({ shardsKey, settings }) => {
    const known = shardsKey === undefined ? Number.POSITIVE_INFINITY : context[shardsKey];
    return typeof known !== 'number' || known < settings.shards;
  });
  if (news.length === 0) return;
  for (const { shardsKey, settings } of news)
    if (shardsKey !== undefined) context[shardsKey] = settings.shards;
  writeFileSync(file, `${JSON.stringify(context, null, 2)}\n`);
}
