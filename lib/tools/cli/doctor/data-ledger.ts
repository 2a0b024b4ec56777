import type { Table } from '../../../protocol/ports.ts';
import { dataKeys, dataKinds, ownerOfData, pointersOf } from '../../../protocol/rows/data-pointer.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import { counted } from '../../inspect/counted.ts';
import { type Finding, problem, warning } from './check.ts';

/** Keys that are looked at once more after the scan, during which jobs went on. */
const MOST_DOUBTS = 1_000;
/** Keys that a finding names. */
const NAMED = 5;

/** Which data rows a scan met, and which its jobs point to. */
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

  /** Data that nobody points to, and jobs whose data is gone. Both are looked at again: the scan took its time. */
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
      // A later error takes the place of an earlier one, whose text is left to expire.
      return !isError(key) && !pointsTo(job, key);
    });
    if (idle.length === 0) return [];
    const more = loose.length > MOST_DOUBTS ? ' or more' : '';
    return [
      warning(
        `${counted(idle.length, 'data row')}${more} belong to no job any more: ${idle.slice(0, NAMED).join(', ')}${idle.length > NAMED ? ', …' : ''}`,
        'nothing; a worker died or a message came twice, and DynamoDB removes them when they expire',
      ),
    ];
  }
}

const isError = (key: string): boolean => key[key.indexOf('#') + 1] === dataKinds.lastError;

const pointsTo = (row: Row, key: string): boolean =>
  pointersOf(row).some(([, pointer]) => dataKeys(String(row.jobId), pointer).includes(key));
