import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export async function childrenOf(pids: readonly number[]): Promise<Map<number, number[]>> {
  if (process.platform === 'linux') {
    const lists = await Promise.all(pids.map(async (pid) => [pid, await linuxChildren(pid)] as const));
    return new Map(lists);
  }
  const children = new Map<number, number[]>(pids.map((pid) => [pid, []]));
  const { stdout } = await run('ps', ['-axo', 'pid=,ppid=']).catch(() => ({ stdout: '' }));
  for (const line of stdout.split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    if (pid !== undefined && parent !== undefined) children.get(parent)?.push(pid);
  }
  return children;
}

async function linuxChildren(pid: number): Promise<number[]> {
  // Any thread may start a process.
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  return lists.join(' ').split(' ').filter(Boolean).map(Number);
}
