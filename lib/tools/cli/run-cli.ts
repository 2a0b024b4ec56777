import { CommanderError } from 'commander';
import pc from 'picocolors';
import { missingPermission } from '../../protocol/errors.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { CliError, type ExitCode, exitCodes } from './cli-error.ts';
import { createProgram } from './program.ts';
import { guardedTerminal } from './terminal/guarded-terminal.ts';
import type { Terminal } from './terminal/terminal.ts';

export async function runCli(args: readonly string[], screen: Terminal): Promise<ExitCode> {
  const terminal = guardedTerminal(screen);
  let code: ExitCode = exitCodes.ok;
  const misuse: string[] = [];
  try {
    const context = {
      terminal,
      end: (ended: ExitCode) => {
        code = ended;
      },
    };
    const program = await createProgram(context, args, (text) => misuse.push(text));
    if (args.length === 0) {
      program.outputHelp();
      return exitCodes.ok;
    }
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Help and version end here as well.
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const { noteOn } = await import('./terminal/output.ts');
    if (error instanceof CommanderError) {
      noteOn(terminal, misuse.join('').trimEnd());
      return exitCodes.unusable;
    }
    if (terminal.interrupted.aborted) {
      noteOn(terminal, 'Interrupted before it was done.');
      return exitCodes.refused;
    }
    const { message, exitCode } = explained(error);
    const { red } = pc.createColors(terminal.noteHasColors);
    noteOn(terminal, `${red('error:')} ${message}`);
    return exitCode;
  }
}

function explained(error: unknown): { message: string; exitCode: ExitCode } {
  if (error instanceof CliError) return { message: error.message, exitCode: error.exitCode };
  const text = error instanceof Error ? error.message : String(error);
  const next = nextStepFor(error);
  if (next !== undefined) return { message: `${next} (${rootCause(error)})`, exitCode: exitCodes.unusable };
  if (error instanceof LeaseholdError) return { message: text, exitCode: exitCodes.unusable };
  return {
    message: error instanceof Error ? (error.stack ?? text) : text,
    exitCode: exitCodes.unusable,
  };
}

function nextStepFor(error: unknown): string | undefined {
  const cause = rootError(error);
  const name = cause instanceof Error ? cause.name : '';
  const text = cause instanceof Error ? cause.message : '';
  if (/region is missing|region not accepted/i.test(text))
    return 'No AWS region is set. Add --region, or export AWS_REGION';
  if (name === 'CredentialsProviderError' || name === 'UnrecognizedClientException')
    return "No usable AWS credentials were found. Run 'aws sso login', choose a profile with AWS_PROFILE, or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  if (name === 'ExpiredTokenException' || name === 'ExpiredToken')
    return "The AWS credentials have expired. Log in again, for example with 'aws sso login'";
  const permission = missingPermission(cause);
  if (permission !== undefined)
    return `These AWS credentials lack the permission ${permission}. Use a role that 'jobs.grants.operate' was called with, or add the permission`;
  if (name === 'AccessDeniedException' || name === 'AccessDenied')
    return "These AWS credentials lack a permission. Use a role that 'jobs.grants.operate' was called with";
  if (name === 'ResourceNotFoundException')
    return 'There is no such table in this account and region. Check --table and --region (or LEASEHOLD_TABLE_NAME and AWS_REGION)';
  if (name === 'QueueDoesNotExist' || /NonExistentQueue/.test(name))
    return 'There is no such queue in this account and region. Check --queue-url (or LEASEHOLD_QUEUE_URL)';
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(`${name} ${text} ${codeOf(cause)}`))
    return "Nothing answers at the endpoint. Check network, region and endpoint; if you mean a local stack, start it with 'leasehold dev'";
  return undefined;
}

function rootError(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? error : rootError(cause);
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

const rootCause = (error: unknown): string => {
  const root = rootError(error);
  return root instanceof Error ? root.message || `${root.name} ${codeOf(root)}`.trim() : String(root);
};
