import type { IndexPage, IndexQuery, JobQueue, JobStore } from '../../lib/protocol/ports.ts';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import type { Cells } from '../../lib/worker/cells/cells.ts';
import type { CellPoolOptions, Timers } from '../../lib/worker/cells/host/cell-pool.ts';
import type { SharedMemory } from '../../lib/worker/cells/shared-memory.ts';
import type { CrashThrottle } from '../../lib/worker/run/crash-throttle.ts';
import type { Heart } from '../../lib/worker/run/heart-loop.ts';
import type { FaultRates } from './fault-kinds.ts';
import type { Size } from './scenario.ts';
import type { ResultFilter } from './simulated-table.ts';
import type { Process } from './world.ts';

/** The ports of one simulated process, for a bug to stand in between. */
export interface Ports {
  readonly store: JobStore;
  readonly queue: JobQueue;
}

/** One mistake that somebody could make in the protocol, planted between the real code and the simulated world. */
export interface PlantedBug {
  readonly name: string;
  /** The promise that is seen to break. */
  readonly breaks: RegExp;
  /** Where the search begins among brief schedules, or those of its `size`, for a mistake that few of them show. @default 1 */
  readonly searchFrom?: number;
  readonly alterWrite?: (write: RowWrite) => RowWrite;
  readonly alterResult?: ResultFilter;
  readonly alterQuery?: (request: IndexQuery, page: IndexPage) => IndexPage;
  readonly alterHeart?: (heart: Heart, process: Process) => Heart;
  readonly alterCells?: (cells: Cells, host: Process) => Cells;
  readonly alterLauncher?: (launch: CellPoolOptions['launch'], host: Process) => CellPoolOptions['launch'];
  readonly alterTimers?: (timers: Timers, host: Process) => Timers;
  readonly alterShared?: (shared: SharedMemory) => SharedMemory;
  readonly alterCrashThrottle?: (crashThrottle: CrashThrottle) => CrashThrottle;
  readonly alterWorker?: (ports: Ports) => Ports;
  readonly alterReaper?: (ports: Ports) => Ports;
  readonly reaperSettings?: Partial<Settings>;
  /** Faults that are to happen more often, where the mistake shows only under them. */
  readonly rates?: Partial<FaultRates>;
  /** The schedules that find it, where others hardly can: those with many jobs in few cells, say. @default - any */
  readonly size?: Size;
}
