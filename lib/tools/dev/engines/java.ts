import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const OLDEST_JAVA = 17;

export type JavaSearch =
  | { readonly found: true; readonly command: string; readonly version: number }
  | { readonly found: false; readonly reason: string };

/** Reads both forms, 17.0.1 and 1.8.0_292. @internal */
export function majorVersion(printed: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(printed);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export async function findJava(env: NodeJS.ProcessEnv = process.env): Promise<JavaSearch> {
  const candidates = [...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin', 'java')] : []), 'java'];
  const tooOld: string[] = [];
  for (const command of candidates) {
    try {
      const { stdout, stderr } = await run(command, ['-version'], { env });
      const version = majorVersion(stderr + stdout);
      if (version !== undefined && version >= OLDEST_JAVA) return { found: true, command, version };
      tooOld.push(`${command} is version ${version ?? 'unknown'}`);
    } catch {
      // Missing or not runnable: try the next candidate.
    }
  }
  const seen = tooOld.length > 0 ? tooOld.join(', ') : 'no java in JAVA_HOME or on the PATH';
  return { found: false, reason: `it needs Java ${OLDEST_JAVA} or newer, and there is ${seen}` };
}
