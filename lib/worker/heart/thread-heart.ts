import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import type { Clock, Telemetry } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import { HEART_JITTER } from '../../settings/lease-length.ts';
import { libFolder, moduleExtension, thisFile } from '../../this-package.ts';
import { type Heart, type Patient, rhythmOf } from '../run/heart.ts';
import type { FromThread, HeartConnection, HeartThreadData, ToThread } from './thread-messages.ts';
// Only for a bundle in one file, whose second copy becomes the heart by this module's own check.
import './heart-thread.ts';

/** The main thread shows this often that its event loop turns, if no type asks for finer sight. */
const PULSE_MS = 1000;
/** A type's `maxStallMs` is measured to within this share of it. */
const PULSES_PER_STALL = 8;
/** An invocation's end waits no longer than this for a beat that is under way. */
const QUIET_MS = 1000;
const RESTART_MS = 1000;

/** Where the thread's program is: a file beside this one, or this very bundle. */
function threadProgram(): URL {
  const file = join(libFolder, 'worker', 'heart', `heart-thread${moduleExtension}`);
  return pathToFileURL(existsSync(file) ? file : thisFile);
}

/** Whether this code runs inside a heart's thread, as the second copy of a bundle. */
export const isHeartThread = (): boolean =>
  !isMainThread && typeof workerData === 'object' && workerData !== null && 'leaseholdHeart' in workerData;

export interface ThreadHeartOptions {
  readonly connection: HeartConnection;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'error'>;
  /** @default - the file `heart-thread` beside this one; in a bundle of one file, that file */
  readonly program?: URL;
}

/** A heart in a thread of its own. The thread starts now, and again should it ever die. */
export function createThreadHeart(options: ThreadHeartOptions): Heart {
  const { connection, clock, telemetry, program = threadProgram() } = options;
  const pulse = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  const patients = new Map<string, Patient>();
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  const quietTurns = new Map<number, () => void>();
  let turn = 0;
  let pulsing: NodeJS.Timeout | undefined;
  let pulseMs = PULSE_MS;
  let unsaid: ToThread[] = [];
  let saying: Promise<void> | undefined;
  let closing = false;
  /** Whether a beat may have been sent since the last `quiet`: a claim that ended before its first beat sent none. */
  let hasBeaten = false;
  let thread = startThread();

  const beatPulse = () => void Atomics.store(pulse, 0, BigInt(Math.floor(clock.monotonic())));
  /** What is said in one turn goes in one message, because waking the thread costs more than the words. */
  const say = (message: ToThread): Promise<void> => {
    unsaid.push(message);
    saying ??= Promise.resolve().then(() => {
      thread.postMessage(unsaid);
      unsaid = [];
      saying = undefined;
    });
    return saying;
  };
  const admit = ({ claim, lease, onReport: _onReport, ...vitals }: Patient) =>
    say({ kind: 'start', claim, lease: lease.memory, vitals });

  /** The pulse runs while there are patients, as finely as the least patient of them has needed. */
  const quickenPulse = ({ maxStallMs }: Patient) => {
    beatPulse();
    const neededMs = Math.min(PULSE_MS, Math.ceil(maxStallMs / PULSES_PER_STALL));
    if (pulsing !== undefined && pulseMs <= neededMs) return;
    clearInterval(pulsing);
    pulseMs = neededMs;
    pulsing = setInterval(beatPulse, pulseMs);
    pulsing.unref();
  };
  const calmPulse = () => {
    beatPulse();
    if (patients.size > 0) return;
    clearInterval(pulsing);
    pulsing = undefined;
  };

  function startThread(): Worker {
    const data: HeartThreadData = { leaseholdHeart: connection, pulse: pulse.buffer as SharedArrayBuffer };
    const worker = new Worker(program, { workerData: data, name: 'leasehold-heart' });
    worker.unref();
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'ready') isReady();
      else if (message.kind === 'quiet') quietTurns.get(message.turn)?.();
      // A report for a claim that ended in the meantime finds nobody.
      else patients.get(message.owner)?.onReport(message.report);
    });
    worker.on('error', (error) => telemetry.error('heart thread failed', error));
    worker.on('exit', () => {
      if (closing || thread !== worker) return;
      setTimeout(() => {
        thread = startThread();
        unsaid = [];
        for (const patient of patients.values()) void admit(patient);
      }, RESTART_MS).unref();
    });
    return worker;
  }

  return {
    start(patient) {
      patients.set(patient.claim.owner, patient);
      quickenPulse(patient);
      return admit(patient);
    },
    stop(claim) {
      const patient = patients.get(claim.owner);
      if (patient === undefined) return;
      patients.delete(claim.owner);
      const ageMs = clock.monotonic() - patient.startedAt;
      hasBeaten ||= ageMs >= rhythmOf(patient, 0).intervalMs * (1 - HEART_JITTER);
      calmPulse();
      void say({ kind: 'stop', claim });
    },
    ready: () => ready,
    async quiet() {
      if (!hasBeaten && patients.size === 0) return;
      hasBeaten = false;
      const mine = ++turn;
      const answered = new Promise<void>((resolve) => quietTurns.set(mine, resolve));
      void say({ kind: 'quiet', turn: mine });
      await waitAtMost(QUIET_MS, answered, clock);
      quietTurns.delete(mine);
    },
    async close() {
      closing = true;
      patients.clear();
      calmPulse();
      await thread.terminate();
    },
  };
}
