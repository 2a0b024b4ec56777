import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** The SDK keeps the bytes of a day's signing key, and hands over the same array for each request. */
const keys = new WeakMap<object, KeyObject>();

function keyOf(secret: Bytes): string | KeyObject {
  if (typeof secret === 'string') return secret;
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const bytes = ArrayBuffer.isView(secret) ? secret : new Uint8Array(secret);
  const key = createSecretKey(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  keys.set(secret, key);
  return key;
}

/**
 * The SHA-256 with which the SDK signs requests. Its own makes a key out of the same bytes for every request, which takes
 * Node.js eight times as long as the signature itself.
 */
export class SigningHash {
  readonly #secret: Bytes | undefined;
  #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = this.#begin();
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin() {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', keyOf(this.#secret));
  }
}
