import { formatCount } from '../../../inspect/counted.ts';
import type { Filter } from '../address.ts';
import { state } from '../state.ts';

/** Only what the index holds can be found beyond the list. */
export function actionOnAll({ status }: Filter): 'revive' | 'cancel' | undefined {
  if (status === 'failed') return 'revive';
  return status === 'pending' || status === 'running' ? 'cancel' : undefined;
}

/** Absent where it is not counted. */
export function countOfAll({ status, type, error, since, search }: Filter): string | undefined {
  const { figures } = state;
  if (figures === undefined || error !== undefined || since !== undefined || search.trim() !== '')
    return undefined;
  if (status !== 'failed' && status !== 'pending' && status !== 'running') return undefined;
  const whole = figures.counts[status];
  if (type === undefined) return formatCount(whole);
  if (status !== 'failed') return undefined;
  return formatCount({ ...whole, count: figures.failedByType[type] ?? 0 });
}

export const describeFilter = ({ status, type, error, since, search }: Filter): string =>
  [
    `Every ${status} job`,
    ...(type === undefined ? [] : [`of type ${type}`]),
    ...(error === undefined ? [] : [`with the error “${error}”`]),
    ...(since === undefined ? [] : [`changed within ${since}`]),
    ...(search.trim() === '' ? [] : [`containing “${search.trim()}”`]),
  ].join(', ');
