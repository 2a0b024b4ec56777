import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';

/** What must be true of every row after every write, whoever wrote it. Each function returns the problems it finds. */

/** What a row may lack until its first claim. */
const TERMS = ['leaseMs', 'maxAttempts', 'maxCrashes'] as const;
const UNCHANGING = ['type', 'payload', ...TERMS, 'createdAt'] as const;
/** What raises the fencing token. */
const CLAIMS = new Set(['claim', 'restart']);
const LAPSES = new Set(['reclaim', 'quarantine']);
const COUNTERS = ['errors', 'crashes', 'lapses', 'releases'] as const;
const REVIVABLE = new Set(['failed', 'cancelled']);
const FINISHED = new Set(['done', 'failed', 'cancelled']);

/** The first message wins, the fencing token never falls, and what is finished stays as it is. */
export function unchangingProblems(before: Row | undefined, after: Row, write: RowWrite): string[] {
  const problems: string[] = [];
  const attempt = Number(after.attempt);
  const attemptBefore = Number(before?.attempt ?? 0);
  const wanted = attemptBefore + (CLAIMS.has(write.transition) ? 1 : 0);
  if (attempt !== wanted) problems.push(`attempt went from ${attemptBefore} to ${attempt}`);
  if (before === undefined) return problems;
  const isSetFirst = (name: string) => before[name] === undefined && write.transition === 'claim';
  for (const name of UNCHANGING)
    if (before[name] !== after[name] && !isSetFirst(name))
      problems.push(`'${name}' changed from ${before[name]} to ${after[name]}`);
  if (before.status === 'done') problems.push('a done job was changed');
  if (REVIVABLE.has(String(before.status)) && write.transition !== 'revive')
    problems.push(`a ${before.status} job was changed without an operator`);
  return [...problems, ...keptProblems(before, after, write)];
}

function keptProblems(before: Row, after: Row, write: RowWrite): string[] {
  const problems: string[] = [];
  if (Number(after.checkpointSeq) < Number(before.checkpointSeq)) problems.push('an older checkpoint won');
  if (after.checkpoint !== before.checkpoint && write.transition !== 'checkpoint')
    problems.push('the checkpoint was lost');
  if (
    write.transition === 'checkpoint' &&
    (before.leaseUntil !== after.leaseUntil || Number(after.checkpointSeq) === Number(before.checkpointSeq))
  )
    problems.push('a checkpoint moved the lease, or was written twice');
  if (
    write.transition === 'checkpoint' &&
    Number(after.crashes) + Number(after.lapses) < Number(before.crashes) + Number(before.lapses) &&
    (after.checkpoint === before.checkpoint || Number(after.releases) === Number(before.releases))
  )
    problems.push('crashes or lapses were forgiven without progress');
  if (
    LAPSES.has(write.transition) &&
    (Number(after.lapses) !== Number(before.lapses) + 1 || after.crashes !== before.crashes)
  )
    problems.push('lapses came back that were forgiven');
  if (write.transition === 'heartbeat' && Number(after.leaseUntil) <= Number(before.leaseUntil))
    problems.push('a heartbeat shortened the lease');
  if (write.transition === 'revive' && Number(after.notBefore) < Number(before.notBefore ?? 0))
    problems.push('a revived job is due earlier than it was to run');
  if (before.cancelRequested === true && after.cancelRequested !== true && write.transition !== 'revive')
    problems.push('the wish to cancel was forgotten');
  return problems;
}

/** Unfinished and failed rows are in the index under the right shard, other finished ones are out of it; the finished expire. */
export function shapeProblems(row: Row): string[] {
  const problems: string[] = [];
  const has = (name: string) => row[name] !== undefined;
  const finished = FINISHED.has(String(row.status));
  if (finished) {
    if (has('leaseUntil') && row.status !== 'failed') problems.push('finished, but still in the lease index');
    if (
      row.status === 'failed' &&
      !(String(row.leaseShard).startsWith('f') && row.leaseUntil === row.finishedAt)
    )
      problems.push(`failed, but listed in ${row.leaseShard} at ${row.leaseUntil}`);
    if (typeof row.expiresAt !== 'number') problems.push('finished, but would be kept for ever');
  } else {
    if (typeof row.leaseUntil !== 'number') problems.push(`${row.status}, but leased to nobody`);
    if (has('expiresAt') || has('finishedAt') || has('result'))
      problems.push(`${row.status}, but with the marks of a finished job`);
    const shard = row.status === 'running' ? 'r' : 'q';
    if (!String(row.leaseShard).startsWith(shard)) problems.push(`${row.status}, but in ${row.leaseShard}`);
  }
  if (row.status === 'running' && typeof row.leaseOwner !== 'string') problems.push('running without owner');
  if (row.status !== 'pending' && row.status !== 'cancelled')
    for (const name of TERMS) if (!has(name)) problems.push(`${row.status} without '${name}'`);
  if (row.status === 'pending' && typeof row.notBefore !== 'number') problems.push('pending, due never');
  return problems;
}

/** A claim is charged at most once; a job whose budget is spent does not go on. */
export function budgetProblems(
  before: Row | undefined,
  after: Row,
  { attemptAtRevival, maxLapses }: { readonly attemptAtRevival: number; readonly maxLapses: number },
): string[] {
  const problems: string[] = [];
  const sum = (row: Row | undefined) => COUNTERS.reduce((total, name) => total + Number(row?.[name] ?? 0), 0);
  const charged = sum(after) - sum(before);
  const ended =
    before?.status === 'running' && (after.status !== 'running' || after.attempt !== before.attempt);
  const revived = REVIVABLE.has(String(before?.status));
  if (!revived && (charged < 0 || charged > (ended ? 1 : 0)))
    problems.push(`charged ${charged} for ${before?.status} → ${after.status}`);
  if (!revived && sum(after) > Number(after.attempt) - attemptAtRevival)
    problems.push(`${sum(after)} charges for ${Number(after.attempt) - attemptAtRevival} claims`);
  const [errors, crashes, lapses] = [Number(after.errors), Number(after.crashes), Number(after.lapses)];
  const maxAttempts = Number(after.maxAttempts);
  if (
    !FINISHED.has(String(after.status)) &&
    (errors + crashes >= maxAttempts ||
      crashes >= Number(after.maxCrashes) ||
      lapses >= Math.min(maxLapses, maxAttempts))
  )
    problems.push(`goes on with ${errors} errors, ${crashes} crashes and ${lapses} lapses`);
  return problems;
}
