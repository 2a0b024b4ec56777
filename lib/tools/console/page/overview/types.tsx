import { useMemo } from 'preact/hooks';
import { formatDuration } from '../../../inspect/format-duration.ts';
import { listLink } from '../address.ts';
import { figure } from '../format.ts';
import { state, useNow } from '../state.ts';
import { Controls, controlledTypes, TypeActions } from './type-actions.tsx';
import { overviewByType, type TypeFigures } from './type-overview.ts';

export function TypesView() {
  const now = useNow(2000);
  const types = useMemo(
    () => overviewByType(state.jobs.values(), state.figures?.failedByType ?? {}, now, controlledTypes()),
    [now],
  );
  const isWhole = state.figures?.counts.done.complete === true;
  return (
    <section class="panel types" aria-labelledby="types-title">
      <h2 id="types-title">
        Types <small>{types.length}</small>
      </h2>
      {types.length === 0 ? (
        <p class="empty">
          {state.figures?.counts.failed.complete === true ? 'No jobs seen yet.' : 'Reading the index…'}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <div class="table-box" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">type</th>
                {['failed', 'running', 'pending', 'parked', 'done'].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                <th scope="col">done a minute</th>
                <th scope="col">run</th>
                {state.hello?.writable && <th scope="col">actions</th>}
              </tr>
            </thead>
            <tbody>
              {types.map((each) => (
                <TypeRow key={each.type} figures={each} isWhole={isWhole} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="list-foot">
        Rates and medians cover the last five minutes
        {isWhole ? '' : ' and the jobs that this console saw; short ones may be missing'}.
      </p>
    </section>
  );
}

function TypeRow({ figures, isWhole }: { readonly figures: TypeFigures; readonly isWhole: boolean }) {
  const { type, runMs } = figures;
  const link = (status: 'failed' | 'running' | 'pending' | 'done', complete = true) => (
    <td data-bad={status === 'failed' && figures.failed > 0}>
      <a href={listLink({ type, status })}>{figure({ count: figures[status], complete })}</a>
    </td>
  );
  const rate = figures.donePerMinute;
  return (
    <tr>
      <th scope="row">
        <a href={listLink({ type })}>{type}</a>
        <Controls type={type} />
      </th>
      {link('failed', state.figures?.counts.failed.complete)}
      {link('running', state.figures?.counts.running.complete)}
      {link('pending', state.figures?.counts.pending.complete)}
      <td>{figure({ count: figures.parked, complete: state.figures?.counts.pending.complete === true })}</td>
      {link('done', isWhole)}
      <td>{rate === 0 && !isWhole ? '–' : `${rate.toFixed(rate < 10 ? 1 : 0)}${isWhole ? '' : '+'}`}</td>
      <td title={runMs === undefined ? 'None finished in the last five minutes' : undefined}>
        {runMs === undefined ? '–' : formatDuration(runMs)}
      </td>
      {state.hello?.writable && (
        <td>
          <TypeActions type={type} />
        </td>
      )}
    </tr>
  );
}
