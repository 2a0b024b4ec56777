import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest Java that DynamoDB Local starts on. */
const OLDEST_JAVA = 17;

/** A Java that DynamoDB Local can run on, or the reason why there is none. */
export type JavaSearch =
  | { readonly found: true; readonly command: string; readonly version: number }
  | { readonly found: false; readonly reason: string };

/** The major version in what `java -version` prints, in today's form (17.0.1) or the old one (1.8.0_292). @internal */
export function majorVersion(printed: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(printed);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Looks for Java in JAVA_HOME, then on the PATH. */
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
      // Not there, or not runnable: the next candidate may be.
    }
  }
  const seen = tooOld.length > 0 ? tooOld.join(', ') : 'no java in JAVA_HOME or on the PATH';
  return { found: false, reason: `it needs Java ${OLDEST_JAVA} or newer, and there is ${seen}` };
}
