export class Health {
  readonly #ends: boolean[] = [];

  note(failed: boolean): void {
    this.#ends.push(failed);
    if (this.#ends.length > MOST_ENDS) this.#ends.shift();
  }

  ends(): number {
    return this.#ends.length;
  }

  failures(): number {
    return this.#ends.filter((failed) => failed).length;
  }
}

const MOST_ENDS = 20;
const LEAST_FAILURES = 5;
/** A failing cell needs this share of failures, and this multiple of the others' share. */
const SHARE = 0.5;
const TIMES = 4;

/** If handlers fail only in this cell, the cell is at fault. */
export function standsOut(cell: Health, others: readonly Health[]): boolean {
  const sum = (count: (each: Health) => number) => others.reduce((total, each) => total + count(each), 0);
  const [ends, failures] = [sum((each) => each.ends()), sum((each) => each.failures())];
  const share = cell.failures() / cell.ends();
  if (cell.failures() < LEAST_FAILURES || share < SHARE || ends < MOST_ENDS) return false;
  return share >= (TIMES * failures) / ends;
}
