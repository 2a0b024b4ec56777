import { planDispatch } from '../../../protocol/decisions/dispatch.ts';
import {
  placeInIndexWrite,
  repairByFailingWrite,
  repairToPendingWrite,
  repairWrite,
} from '../../../protocol/writes/repair-writes.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import type { WriteContext } from '../../../protocol/writes/worker-writes.ts';
import type { Repair } from './check.ts';
import type { RowContext } from './row-checks.ts';

const writing = ({ now, settings, changedBy }: RowContext): WriteContext => ({
  now,
  shards: settings.shards,
  expiresAt: Math.ceil((now + settings.rowRetentionMs) / 1000),
  changedBy: changedBy(),
});

const typeIn = ({ type }: Row): string | undefined => (typeof type === 'string' ? type : undefined);

export function toPendingRepair(row: Row, context: RowContext): Repair {
  const { now, settings } = context;
  const notBefore = row.status === 'pending' && typeof row.notBefore === 'number' ? row.notBefore : now;
  const dispatch = planDispatch(now, notBefore, settings);
  return { dispatch, type: typeIn(row), write: repairToPendingWrite(row, dispatch, writing(context)) };
}

export function hintRepair(row: Row, context: RowContext, notBefore: number): Repair {
  const dispatch = planDispatch(context.now, notBefore, context.settings);
  const { leaseUntil, dispatches } = dispatch;
  const write = repairWrite(row, { leaseUntil, dispatches }, writing(context));
  return { dispatch, type: typeIn(row), write };
}

export const indexRepair = (row: Row, context: RowContext): Repair => ({
  write: placeInIndexWrite(row, writing(context)),
});

export const failRepair = (row: Row, why: string, context: RowContext): Repair => ({
  write: repairByFailingWrite(row, why, context.settings, writing(context)),
});
