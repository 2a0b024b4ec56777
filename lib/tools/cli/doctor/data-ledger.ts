import type { Table } from '../../../protocol/ports.ts';
import { dataKeys, dataKinds, ownerOfData, pointersOf } from '../../../protocol/rows/data-pointer.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import { counted } from '../../inspect/counted.ts';
import { type Finding, problem, warning } from './check.ts';

const MOST_DOUBTS = 1_000;
const REPLACEABLE = ['lastError', 'checkpoint', 'progress'] as const;
const NAMED = 5;

export class DataLedger {
  readonly #found = new Set<string>();
  readonly #wanted = new Map<string, string>();

  note(row: Row): void {
    const key = String(row.jobId);
    if (ownerOfData(key) !== undefined) {
      this.#found.add(key);
      return;
    }
    for (const [, pointer] of pointersOf(row))
      for (const each of dataKeys(key, pointer)) this.#wanted.set(each, key);
  }

  /** Checks both kinds again, because jobs kept running during the scan. */
  async findings(table: Table): Promise<Finding[]> {
    const loose = [...this.#found].filter((key) => !this.#wanted.has(key));
    const gone = [...this.#wanted].filter(([key]) => !this.#found.has(key)).slice(0, MOST_DOUBTS);
    return [...(await this.#goneFindings(table, gone)), ...(await this.#looseFindings(table, loose))];
  }

  async #goneFindings(table: Table, gone: readonly (readonly [string, string])[]): Promise<Finding[]> {
    const [rows, jobs] = await Promise.all([
      table.readMany(gone.map(([key]) => key)),
      table.readMany(gone.map(([, jobId]) => jobId)),
    ]);
    return gone.flatMap(([key, jobId], i) => {
      const job = jobs[i];
      if (rows[i] !== undefined || job === undefined || !pointsTo(job, key)) return [];
      return [
        {
          ...problem(
            `'${jobId}' points to '${key}', which is gone: it fails when it is claimed`,
            'cancel it, and send the job again under a new id',
          ),
          jobId,
        },
      ];
    });
  }

  async #looseFindings(table: Table, loose: readonly string[]): Promise<Finding[]> {
    const doubts = loose.slice(0, MOST_DOUBTS);
    const jobs = await table.readMany(doubts.map((key) => ownerOfData(key) ?? key));
    const idle = doubts.filter((key, i) => {
      const job = jobs[i];
      if (job === undefined) return true;
      return !isReplaceable(key) && !pointsTo(job, key);
    });
    if (idle.length === 0) return [];
    const more = loose.length > MOST_DOUBTS ? ' or more' : '';
    return [
      warning(
        `${counted(idle.length, 'data row')}${more} without a job: ${idle.slice(0, NAMED).join(', ')}${idle.length > NAMED ? ', …' : ''}`,
        'nothing; a worker died or a message came twice, and DynamoDB removes them when they expire',
      ),
    ];
  }
}

/** A newer value replaces these, and the old row is left to expire. */
const isReplaceable = (key: string): boolean =>
  REPLACEABLE.some((name) => key[key.indexOf('#') + 1] === dataKinds[name]);

const pointsTo = (row: Row, key: string): boolean =>
  pointersOf(row).some(([, pointer]) => dataKeys(String(row.jobId), pointer).includes(key));
