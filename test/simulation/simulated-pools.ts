import type { Hint, JobQueue } from '../../lib/protocol/ports.ts';
import { DEFAULT_POOL, type Pools, poolOf, type Routing } from '../../lib/wire/pools.ts';
import type { WorkerParts } from '../../lib/worker/worker-parts.ts';
import { derivedSeed, type SeededRandom, seededRandom } from '../support/random.ts';
import type { SimulatedQueue } from './simulated-queue.ts';
import type { Process, World } from './world.ts';

const RENDER = 'render';
const TYPE = 'simulated';
/** The two deployments between which the type moves. */
const VERSIONS: readonly [Pools, Pools] = [{}, { [RENDER]: { queueUrl: RENDER, types: [TYPE] } }];
/** How many workers of the chaos come from a deployment that has no handler yet. */
const SHARE_WITHOUT_HANDLER = 0.2;

interface Place {
  readonly routing: Routing;
  readonly hasHandler: boolean;
}

/**
 * Two pools whose deployments come in any order: until calm sets in, each process may have either map of types to pools, and a worker may
 * lack the handler.
 */
export class SimulatedPools {
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #queues: Readonly<Record<string, SimulatedQueue>>;
  readonly #places = new WeakMap<Process, Place>();
  readonly #last: Pools;
  #spawned = 0;

  constructor(world: World, queues: { readonly default: SimulatedQueue; readonly render: SimulatedQueue }) {
    this.#world = world;
    this.#random = seededRandom(derivedSeed(world.seed, 'pools'));
    this.#queues = queues;
    this.#last = this.#random.pick(VERSIONS);
  }

  /** A plain `SendMessage` may go to any queue. */
  anyQueue(): SimulatedQueue {
    return this.#queueOf(this.#random.pick([DEFAULT_POOL, RENDER]));
  }

  placeOf(process: Process): Place {
    let place = this.#places.get(process);
    if (place === undefined) {
      const pools = this.#world.calm ? this.#last : this.#random.pick(VERSIONS);
      // In turns, so that both queues have a worker in calm.
      const pool = this.#spawned++ % 2 === 0 ? DEFAULT_POOL : RENDER;
      const hasHandler = this.#world.calm || !this.#random.chance(SHARE_WITHOUT_HANDLER);
      place = { routing: { pool, pools }, hasHandler };
      this.#places.set(process, place);
      this.#world.note(
        process.name,
        `is in pool ${pool}, knows ${poolOf(pools, TYPE)}, handler: ${hasHandler}`,
      );
    }
    return place;
  }

  isStale(process: Process): boolean {
    const place = this.#places.get(process);
    return place !== undefined && (!place.hasHandler || place.routing.pools !== this.#last);
  }

  /** The queue of the worker's pool; hints go where its own map says. */
  queueFor(process: Process): JobQueue {
    const { routing } = this.placeOf(process);
    const own = this.#queueOf(routing.pool).seenBy(process);
    let fresh = 0;
    let forwarded = 0;
    return {
      ...own,
      receive: async (request) => {
        const messages = await own.receive(request);
        fresh += messages.filter(({ body }) => !body.includes('"forwarded"')).length;
        return messages;
      },
      sendHints: async (hints) => {
        forwarded += hints.filter((hint) => hint.forwarded).length;
        if (forwarded > fresh)
          this.#world.violate(`${process.name} forwarded a message that was forwarded before`);
        return this.#sendHints(process, routing, hints);
      },
    };
  }

  /** A worker that has no handler, and never claims what it does not run. */
  confine(process: Process, parts: WorkerParts): WorkerParts {
    const { routing, hasHandler } = this.placeOf(process);
    const runs = hasHandler && poolOf(routing.pools, TYPE) === routing.pool;
    const refuse = () => {
      if (!runs) this.#world.violate(`${process.name} claimed a job that it does not run`);
    };
    const { store, cells } = parts;
    return {
      ...parts,
      routing,
      cells: hasHandler ? cells : { ...cells, find: () => undefined },
      store: {
        ...store,
        claim: (request) => {
          refuse();
          return store.claim(request);
        },
        claimMany: (requests) => {
          refuse();
          return store.claimMany(requests);
        },
      },
    };
  }

  async #sendHints(process: Process, { pools }: Routing, hints: readonly Hint[]) {
    const byPool = Map.groupBy(hints, ({ type }) =>
      type === undefined ? DEFAULT_POOL : poolOf(pools, type),
    );
    const sent = await Promise.all(
      [...byPool].map(([pool, some]) => this.#queueOf(pool).seenBy(process).sendHints(some)),
    );
    const failed = sent.flatMap((each) => each.failed);
    return { sent: hints.length - failed.length, failed };
  }

  #queueOf(pool: string): SimulatedQueue {
    return this.#queues[pool] as SimulatedQueue;
  }
}
