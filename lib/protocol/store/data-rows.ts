import type { Settings } from '../../settings/settings.ts';
import { inParallel } from '../in-parallel.ts';
import type { Chance, Clock, Table } from '../ports.ts';
import {
  DATA_SPARE_MS,
  type DataName,
  type DataPointer,
  dataKey,
  dataKeys,
  dataKinds,
  dataNames,
  partsOf,
  pointersOf,
} from '../rows/data-pointer.ts';
import { cutToBytes } from '../rows/json-text.ts';
import { type DataPart, putDataWrite, replaceDataWrite } from '../writes/data-writes.ts';
import type { Row, RowWrite } from '../writes/row-write.ts';

const PARTS_AT_ONCE = 4;
/** How much of a long error stays on the row itself. */
const HEAD_BYTES = 160;

/** A text to be kept beside the row of a job. */
interface KeptText {
  readonly jobId: string;
  readonly name: DataName;
  readonly text: string;
  /** Part of the key, for whoever looks at the table. */
  readonly attempt?: number;
  /** The job runs no earlier. */
  readonly notBefore?: number;
}

/** The row with texts in the place of pointers, and what was not there any more. */
interface ResolvedRow {
  readonly row: Row;
  readonly missing: readonly DataName[];
}

/**
 * The texts that are too large for a job's row. They are written first, under a key that no other write uses; the pointer
 * then goes into the job's row as part of a write that is fenced like any other. So whoever dies in between leaves a row to
 * which nothing points, for TTL to remove, and never a job without its data.
 */
export interface DataRows {
  put(kept: KeptText): Promise<DataPointer>;
  /** As `put`, many with few requests. An error stands in the place of what could not be written. */
  putMany(kept: readonly KeptText[]): Promise<(DataPointer | Error)[]>;
  /** As `put`, in one of the two places that a claim's checkpoints take in turn. */
  replace(kept: KeptText, place: string, seq: number): Promise<DataPointer>;
  /** Reads what the pointers mean, with one request. `known` are texts that need not be read, by their place. */
  resolve(row: Row, names?: readonly DataName[], known?: ReadonlyMap<string, string>): Promise<ResolvedRow>;
  /** Whether the data could expire while the job, or its finished row, still needs it. */
  expiresSoon(pointer: DataPointer): boolean;
  /** A place that no other write uses. */
  newPlace(name: DataName, attempt?: number): string;
}

export function createDataRows(options: {
  readonly table: Table;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: Settings;
}): DataRows {
  const { table, clock, chance, settings } = options;
  const newPlace: DataRows['newPlace'] = (name, attempt) =>
    `${dataKinds[name]}${attempt === undefined ? '' : `${attempt}.`}${chance.unique()}`;

  /** The rows of a text, and the pointer that means them. */
  const planned = (
    { jobId, name, text, notBefore = 0 }: KeptText,
    place: string,
    writeFor: (part: DataPart) => RowWrite,
  ): { readonly writes: readonly RowWrite[]; readonly pointer: DataPointer } => {
    const keepUntil = Math.max(clock.now(), notBefore) + settings.rowRetentionMs + DATA_SPARE_MS;
    const until = Math.ceil(keepUntil / 1000);
    const parts = partsOf(text);
    const pointer = { in: place, parts: parts.length, bytes: Buffer.byteLength(text), until };
    return {
      writes: parts.map((part, i) =>
        writeFor({ key: dataKey(jobId, place, i), text: part, expiresAt: until }),
      ),
      pointer: name === 'lastError' ? { ...pointer, head: cutToBytes(text, HEAD_BYTES) } : pointer,
    };
  };
  const plannedAnew = (kept: KeptText) => planned(kept, newPlace(kept.name, kept.attempt), putDataWrite);

  // A refusal is a repeat of this very write: no other has its key.
  const written = async ({ writes, pointer }: ReturnType<typeof planned>): Promise<DataPointer> => {
    await inParallel(writes, PARTS_AT_ONCE, async (each) => void (await table.apply(each)));
    return pointer;
  };

  return {
    newPlace,
    put: async (kept) => written(plannedAnew(kept)),
    async replace(kept, place, seq) {
      const pointer = await written(planned(kept, place, (part) => replaceDataWrite(part, seq)));
      return { ...pointer, seq };
    },

    async putMany(kept) {
      const plans = kept.map(plannedAnew);
      const results = await table.applyMany(plans.flatMap(({ writes }) => writes));
      let next = 0;
      return plans.map(({ writes, pointer }) => {
        const own = results.slice(next, next + writes.length);
        next += writes.length;
        return own.find((each) => each.applied === 'failed')?.error ?? pointer;
      });
    },

    async resolve(row, names = dataNames, known = new Map()) {
      const pointers = pointersOf(row, names);
      if (pointers.length === 0) return { row, missing: [] };
      const jobId = String(row.jobId);
      const unknown = pointers.filter(([, pointer]) => !known.has(pointer.in));
      const keys = unknown.flatMap(([, pointer]) => dataKeys(jobId, pointer));
      // What a live pointer means is used, whatever its expiry says.
      const rows = new Map((await readAll(table, keys)).map((each, i) => [keys[i], each]));
      const texts = pointers.map(([name, pointer]) => {
        const parts = dataKeys(jobId, pointer).map((key) => textMeantBy(pointer, rows.get(key)));
        const isWhole = parts.every((part) => typeof part === 'string');
        return [name, known.get(pointer.in) ?? (isWhole ? parts.join('') : undefined)] as const;
      });
      const found = texts.filter(([, text]) => text !== undefined);
      const missing = texts.flatMap(([name, text]) => (text === undefined ? [name] : []));
      return { row: { ...row, ...Object.fromEntries(found) }, missing };
    },

    expiresSoon: ({ until }) => until * 1000 < clock.now() + settings.rowRetentionMs + DATA_SPARE_MS / 2,
  };
}

/** A late repeat may put an older checkpoint where the one that is meant was deleted before its time. */
const textMeantBy = ({ seq }: DataPointer, row: Row | undefined): unknown =>
  seq === undefined || row?.seq === seq ? row?.data : undefined;

async function readAll(table: Table, keys: readonly string[]): Promise<(Row | undefined)[]> {
  const [only] = keys;
  if (only === undefined) return [];
  return keys.length === 1 ? [await table.read(only)] : table.readMany(keys);
}
