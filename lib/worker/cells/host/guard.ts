import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Marks all descendants, to find those that left their cell's process group. */
export const FAMILY = `__LEASEHOLD_FAMILY=${randomUUID()}`;

/** A shell that kills these groups when its input ends: the kernel closes it however the host dies. */
const SCRIPT = `trap '' INT TERM HUP
groups=' '
while read -r line; do
  pid="\${line#?}"
  case "$line" in
    +*) groups="$groups$pid " ;;
    -*) groups="\${groups%% $pid *} \${groups#* $pid }" ;;
  esac
done
for pid in $groups; do kill -9 "-$pid"; done 2>/dev/null
grep -ls -- "$2" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do kill -9 "$pid"; done 2>/dev/null
[ -z "$1" ] || rm -rf -- "$1"`;

export type Guard = ReturnType<typeof startGuard>;

export function startGuard(folder = '') {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'sh', folder, FAMILY], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  const { stdin } = shell;
  (stdin as unknown as { unref?: () => void }).unref?.();
  // Without a shell, orphaned cells end when they notice their closed channel.
  shell.on('error', () => {});
  stdin.on('error', () => {});
  return {
    watch: (pid: number) => void stdin.write(`+${pid}\n`),
    forget: (pid: number) => void stdin.write(`-${pid}\n`),
    close: () => void stdin.end(),
  };
}
