import { inParallel } from '../in-parallel.ts';
import type { Table } from '../ports.ts';
import {
  CLAIMED_DATA_SPARE_MS,
  DATA_SPARE_MS,
  type DataName,
  type DataPointer,
  type DataVersion,
  dataKey,
  dataKeys,
  dataKinds,
  dataNames,
  partsOf,
  pointersOf,
} from '../rows/data-pointer.ts';
import { cutToBytes } from '../rows/json-text.ts';
import { extendDataWrite, putDataWrite } from '../writes/data-writes.ts';
import type { Row, RowWrite } from '../writes/row-write.ts';
import type { JobStoreOptions } from './store-parts.ts';

const PARTS_AT_ONCE = 4;
const HEAD_BYTES = 160;

export interface KeptText {
  readonly jobId: string;
  readonly name: DataName;
  readonly text: string;
  /** Part of the key, for people who read the table. */
  readonly attempt?: number;
  readonly notBefore?: number;
}

export interface ResolvedRow {
  readonly row: Row;
  readonly missing: readonly DataName[];
  /** Data that could expire before the job finishes. */
  readonly expiring: readonly string[];
}

/** Data is written before its pointer, so a crash leaves orphans for TTL, never a job without its data. */
export function createDataRows({ table, clock, random, settings }: Omit<JobStoreOptions, 'actor'>) {
  /** Epoch seconds. */
  const expiryFrom = (due: number) => Math.ceil((due + settings.rowRetentionMs + DATA_SPARE_MS) / 1000);
  const newPlace = (name: DataName, attempt?: number): string =>
    `${dataKinds[name]}${attempt === undefined ? '' : `${attempt}.`}${random.unique()}`;

  const planned = (
    { jobId, name, text, notBefore = 0 }: KeptText,
    place: string,
    version?: DataVersion,
  ): { readonly writes: readonly RowWrite[]; readonly pointer: DataPointer } => {
    const parts = partsOf(text);
    const pointer = { in: place, parts: parts.length, bytes: Buffer.byteLength(text), ...version };
    const expiresAt = expiryFrom(Math.max(clock.now(), notBefore));
    return {
      writes: parts.map((part, i) =>
        putDataWrite({ key: dataKey(jobId, place, i), text: part, expiresAt }, version),
      ),
      pointer: name === 'lastError' ? { ...pointer, head: cutToBytes(text, HEAD_BYTES) } : pointer,
    };
  };
  const plannedAnew = (kept: KeptText) => planned(kept, newPlace(kept.name, kept.attempt));

  // A refusal means a repeat or a newer text in the slot, and then the pointer is refused as well.
  const written = async ({ writes, pointer }: ReturnType<typeof planned>): Promise<DataPointer> => {
    await inParallel(writes, PARTS_AT_ONCE, async (each) => void (await table.apply(each)));
    return pointer;
  };

  return {
    newPlace,
    put: async (kept: KeptText) => written(plannedAnew(kept)),
    replace: (kept: KeptText, place: string, version: DataVersion) => written(planned(kept, place, version)),

    /** An error replaces a failed text. */
    async putMany(kept: readonly KeptText[]): Promise<(DataPointer | Error)[]> {
      const plans = kept.map(plannedAnew);
      const results = await table.applyMany(plans.flatMap(({ writes }) => writes));
      let next = 0;
      return plans.map(({ writes, pointer }) => {
        const own = results.slice(next, next + writes.length);
        next += writes.length;
        return own.find((each) => each.applied === 'failed')?.error ?? pointer;
      });
    },

    /** One request for all data, except texts in `payloadCache`, keyed by place. */
    async resolve(
      row: Row,
      names: readonly DataName[] = dataNames,
      payloadCache: ReadonlyMap<string, string> = new Map(),
    ): Promise<ResolvedRow> {
      const pointers = pointersOf(row, names);
      if (pointers.length === 0) return { row, missing: [], expiring: [] };
      const jobId = String(row.jobId);
      const unknown = pointers.filter(([, pointer]) => !payloadCache.has(pointer.in));
      const keys = unknown.flatMap(([, pointer]) => dataKeys(jobId, pointer));
      // Data behind a live pointer is used even after its expiry.
      const rows = new Map((await readAll(table, keys)).map((each, i) => [keys[i], each]));
      const texts = pointers.map(([name, pointer]) => {
        const parts = dataKeys(jobId, pointer).map((key) => textMeantBy(pointer, rows.get(key)));
        const isWhole = parts.every((part) => typeof part === 'string');
        return [name, payloadCache.get(pointer.in) ?? (isWhole ? parts.join('') : undefined)] as const;
      });
      const found = texts.filter(([, text]) => text !== undefined);
      const missing = texts.flatMap(([name, text]) => (text === undefined ? [name] : []));
      const needed = clock.now() + settings.rowRetentionMs + CLAIMED_DATA_SPARE_MS;
      const expiring = keys.filter((key) => Number(rows.get(key)?.expiresAt) * 1000 < needed);
      return { row: { ...row, ...Object.fromEntries(found) }, missing, expiring };
    },

    /** Best effort: the next claim repeats it. */
    async extend(keys: readonly string[]): Promise<void> {
      const expiresAt = expiryFrom(clock.now());
      await inParallel(keys, PARTS_AT_ONCE, async (key) => {
        await table.apply(extendDataWrite(key, expiresAt)).catch(() => {});
      });
    },
  };
}

/** A late repeat may restore an older checkpoint after TTL deleted the newer one. */
const textMeantBy = ({ attempt, seq }: DataPointer, row: Row | undefined): unknown =>
  row?.attempt === attempt && row?.seq === seq ? row?.data : undefined;

async function readAll(table: Table, keys: readonly string[]): Promise<(Row | undefined)[]> {
  const [only] = keys;
  if (only === undefined) return [];
  return keys.length === 1 ? [await table.read(only)] : table.readMany(keys);
}
