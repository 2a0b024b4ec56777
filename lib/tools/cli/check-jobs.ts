import { TOKEN_HEADER, TOKEN_PARAMETER } from '../console/page-messages.ts';
import { CliError } from './cli-error.ts';
import type { FoundSystem } from './system/find-system.ts';

/** Why the local stack's jobs module would not run each job, or null. Schemas of deployed workers are unknown here, so there all pass. */
export async function checkJobs(
  { consoleUrl }: Pick<FoundSystem, 'consoleUrl'>,
  jobs: readonly { readonly type: string; readonly payload: string }[],
): Promise<readonly (string | null)[]> {
  if (!consoleUrl) return jobs.map(() => null);
  const { origin, hash } = new URL(consoleUrl);
  const reply = await fetch(`${origin}/api/check`, {
    method: 'POST',
    headers: { [TOKEN_HEADER]: hash.slice(`#${TOKEN_PARAMETER}=`.length) },
    body: JSON.stringify(jobs),
  }).catch((cause: unknown) => {
    throw new CliError(
      `'leasehold dev' does not answer at ${origin}, so nothing was checked or sent. Start it again, or add --force to send unchecked`,
      undefined,
      { cause },
    );
  });
  // The demo has no jobs module.
  if (reply.status === 404) return jobs.map(() => null);
  const said = (await reply.json()) as (string | null)[] | { readonly message: string };
  if (Array.isArray(said)) return said;
  throw new CliError(`Not sent, because the jobs module cannot check it. ${said.message}`);
}
