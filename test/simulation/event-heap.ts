export interface Event {
  readonly at: number;
  readonly run: () => void;
}

interface Entry extends Event {
  readonly order: number;
}

/** A priority queue of events by time; those of the same moment keep the order in which they were added. */
export class EventHeap {
  readonly #entries: Entry[] = [];
  #added = 0;

  get size(): number {
    return this.#entries.length;
  }

  push(at: number, run: () => void): void {
    const entries = this.#entries;
    const entry = { at, run, order: this.#added++ };
    let i = entries.length;
    entries.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = entries[parent] as Entry;
      if (!isBefore(entry, above)) break;
      entries[i] = above;
      i = parent;
    }
    entries[i] = entry;
  }

  pop(): Event | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= entries.length) break;
      if (child + 1 < entries.length && isBefore(entries[child + 1] as Entry, entries[child] as Entry))
        child++;
      const below = entries[child] as Entry;
      if (!isBefore(below, last)) break;
      entries[i] = below;
      i = child;
    }
    entries[i] = last;
    return first;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
