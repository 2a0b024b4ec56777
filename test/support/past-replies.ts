type Json = Readonly<Record<string, unknown>>;
type Past = { readonly at: number; readonly reply: Json };

/** How old an answer must be: so many requests of the same shape ago, or so many milliseconds. */
export type Age = { readonly byRequests?: number; readonly byMs?: number };

/** Remembers replies by the shape of their request, to answer later requests with what is no longer true. */
export type PastReplies = {
  add(operation: string, body: Json, reply: Json): void;
  /** The newest reply that is old enough, or undefined if there is none yet. */
  find(operation: string, body: Json, age: Age): Json | undefined;
};

const KEPT_PER_SHAPE = 200;

/** Two reads have the same shape if they differ in numbers only: the moment asked for moves on between sweeps. */
function shapeOf(operation: string, body: Json): string {
  const withoutNumbers = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && 'N' in value ? 'a number' : value;
  return `${operation} ${JSON.stringify(body, withoutNumbers)}`;
}

/** Starts without any memory. */
export function pastReplies(now: () => number = () => performance.now()): PastReplies {
  const byShape = new Map<string, Past[]>();
  return {
    add: (operation, body, reply) => {
      const shape = shapeOf(operation, body);
      const past = byShape.get(shape) ?? [];
      past.push({ at: now(), reply });
      if (past.length > KEPT_PER_SHAPE) past.shift();
      byShape.set(shape, past);
    },
    find: (operation, body, { byRequests = 1, byMs = 0 }) => {
      const past = byShape.get(shapeOf(operation, body)) ?? [];
      return past.slice(0, past.length - byRequests + 1).findLast((each) => each.at <= now() - byMs)?.reply;
    },
  };
}
