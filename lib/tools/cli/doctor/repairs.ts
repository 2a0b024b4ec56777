import { planDispatch } from '../../../protocol/decisions/dispatch.ts';
import {
  repairAttributesWrite,
  repairByFailingWrite,
  repairHintWrite,
  repairIndexWrite,
  repairToPendingWrite,
} from '../../../protocol/writes/repair-writes.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import type { WriteContext } from '../../../protocol/writes/worker-writes.ts';
import type { Repair } from './check.ts';
import type { RowContext } from './row-checks.ts';

const writing = ({ now, settings, changedBy }: RowContext): WriteContext => ({
  now,
  shards: settings.shards,
  changedBy: changedBy(),
});

export function toPendingRepair(row: Row, context: RowContext): Repair {
  const { now, settings } = context;
  const notBefore = row.status === 'pending' && typeof row.notBefore === 'number' ? row.notBefore : now;
  const dispatch = planDispatch(now, notBefore, settings);
  return { dispatch, write: repairToPendingWrite(row, dispatch, writing(context)) };
}

export function hintRepair(row: Row, context: RowContext, notBefore: number): Repair {
  const dispatch = planDispatch(context.now, notBefore, context.settings);
  return { dispatch, write: repairHintWrite(row, dispatch, writing(context)) };
}

export const indexRepair = (row: Row, context: RowContext): Repair => ({
  write: repairIndexWrite(row, writing(context)),
});

export const attributesRepair = (
  row: Row,
  repaired: Readonly<Record<string, string | number>>,
  context: RowContext,
): Repair => ({ write: repairAttributesWrite(row, repaired, writing(context)) });

export function failRepair(row: Row, why: string, context: RowContext): Repair {
  const { now, settings } = context;
  const expiresAt = Math.ceil((now + settings.rowRetentionMs) / 1000);
  return { write: repairByFailingWrite(row, why, { ...settings, expiresAt }, writing(context)) };
}
