/** A jobs module that cannot be loaded. */
export const registry = connectToNothing();

function connectToNothing(): never {
  throw new Error('no database');
}
