import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectFiles } from '../lib/tools/cli/init/project-files.ts';

/**
 * Records docs/images/recovery.svg: the job of `leasehold init` in a real `leasehold dev`, whose worker is killed on the way.
 * Run by `npx node tools/record-recovery.ts`.
 */
const root = join(import.meta.dirname, '..');
const bin = join(root, 'bin', 'leasehold.ts');
const STEPS = 9;
const KILLED_AFTER = 4;
/** A longer pause between two lines is shown as this long; the times in the lines are the real ones. */
const LONGEST_PAUSE_MS = 2000;
const STAYS_MS = 6000;

interface Line {
  readonly at: number;
  readonly text: string;
}

mkdirSync(join(root, '.cache'), { recursive: true });
// Below the repository, where the module's schema library is found.
const folder = mkdtempSync(join(root, '.cache', 'recording-'));
mkdirSync(join(folder, 'src'));
const made = projectFiles({ name: 'my-jobs', leasehold: '*' });
writeFileSync(join(folder, 'src', 'jobs.ts'), made['src/jobs.ts'] ?? '');

const lines: Line[] = [];
const show = (text: string) => lines.push({ at: performance.now(), text });
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [bin, ...args], { cwd: folder, encoding: 'utf8' }).stdout.trim();

show('$ npx leasehold dev src/jobs.ts');
const dev = spawn(process.execPath, [bin, 'dev', 'src/jobs.ts'], { cwd: folder });
let said = '';
dev.stderr.pipe(process.stderr);
dev.stdout.on('data', (chunk: Buffer) => {
  for (const text of chunk.toString().split('\n')) if (isOfJobs(text)) show(text.trimEnd());
  said += chunk;
});
try {
  await until(() => said.includes('Ctrl-C stops everything'));
  show(`$ npx leasehold send count '{"to":${STEPS}}' --job-id invoice-7`);
  show(run('send', 'count', `{"to":${STEPS}}`, '--job-id', 'invoice-7'));
  await until(() => said.includes(`at=${KILLED_AFTER}`));
  const [, pid = ''] =
    /-(\d+)-/.exec(JSON.parse(run('stats', '--workers', '--json')).workers[0].worker) ?? [];
  show(`$ kill -9 ${pid}`);
  process.kill(Number(pid), 'SIGKILL');
  await until(() => /#2 .*done after/.test(said));
} finally {
  await stop(dev);
  rmSync(folder, { recursive: true, force: true });
}
writeFileSync(join(root, 'docs', 'images', 'recovery.svg'), drawn(lines));

/** What `dev` says of jobs and workers; where its console is, with the token, is nobody else's. */
function isOfJobs(text: string): boolean {
  return /^\s+[\d.]+ s /.test(text);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (dev.exitCode !== null) throw new Error(`leasehold dev has ended: ${said}`);
    await sleep(20);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  await ended;
}

/** The lines as a picture of a terminal, in which each appears at its time, again and again. */
function drawn(all: readonly Line[]): string {
  const [height, left, top, columns] = [20, 18, 46, 92];
  let at = 0;
  const times = all.map((line, i) => {
    at += Math.min(LONGEST_PAUSE_MS, line.at - (all[i - 1]?.at ?? line.at));
    return at;
  });
  const total = at + STAYS_MS;
  const percent = (ms: number) => ((ms / total) * 100).toFixed(2);
  const appear = times.map(
    (ms, i) => `@keyframes l${i}{0%,${percent(ms)}%{opacity:0}${percent(ms + 1)}%,100%{opacity:1}}`,
  );
  const texts = all.map(
    ({ text }, i) =>
      `<text x="${left}" y="${top + i * height}" class="${classOf(text)}" style="animation-name:l${i}" xml:space="preserve">${escaped(text)}</text>`,
  );
  const [w, h] = [left * 2 + columns * 8.43, top + all.length * height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.round(w)} ${h}" role="img" aria-label="A worker is killed; the next one finishes its job from the last checkpoint">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c9d1d9;animation-duration:${Math.round(total)}ms;animation-iteration-count:infinite}
.typed{fill:#fff;font-weight:bold}.killed{fill:#ff7b72}.reclaimed{fill:#e3b341}.done{fill:#56d364}
${appear.join('\n')}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="17" r="5" fill="#ff5f57"/><circle cx="38" cy="17" r="5" fill="#febc2e"/><circle cx="56" cy="17" r="5" fill="#28c840"/>
${texts.join('\n')}
</svg>
`;
}

function classOf(text: string): string {
  if (text.startsWith('$')) return 'typed';
  if (text.includes(' died ')) return 'killed';
  if (text.includes('reclaimed')) return 'reclaimed';
  return text.includes('done after') ? 'done' : 'line';
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
