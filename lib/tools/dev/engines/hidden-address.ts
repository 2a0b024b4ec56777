import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { isFreePort } from './free-port.ts';

export interface LoopbackAddress {
  readonly host: string;
  readonly bindTo: string;
}

export const loopback: LoopbackAddress = { host: '127.0.0.1', bindTo: '127.0.0.1' };

/**
 * A loopback address that no web page reaches. On Linux and Windows all of 127.0.0.0/8 is local, so a page would have to try
 * millions. macOS has only 127.0.0.1, but also a link-local address, whose zone no URL can contain (https://url.spec.whatwg.org/#concept-ipv6-parser).
 */
export async function hiddenAddress(): Promise<LoopbackAddress> {
  const random = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  if (await isFreePort(0, random)) return { host: random, bindTo: random };
  for (const [name, addresses = []] of Object.entries(networkInterfaces()))
    for (const { address, internal, scopeid } of addresses)
      if (internal && scopeid !== undefined && scopeid > 0 && (await isFreePort(0, `${address}%${name}`)))
        return { host: `${address}%${name}`, bindTo: `[${address}%${scopeid}]` };
  return loopback;
}
