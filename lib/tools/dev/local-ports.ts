import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { isFreePort } from './engines/free-port.ts';
import { readStateFile } from './state-file.ts';

const SERVICES = ['console', 'dynamodb', 'sqs', 'eventbridge'] as const;

export type LocalPorts = { readonly [service in (typeof SERVICES)[number]]?: number };

const PORTS_FILE = join('.cache', 'leasehold-ports.json');

/** From `first` on, or those of the last run in this folder that are still free. */
export async function localPorts(directory: string, first?: number): Promise<LocalPorts> {
  if (first === 0) return {};
  const wanted = first === undefined ? rememberedPorts(directory) : SERVICES.map((_, i) => first + i);
  const areFree = await Promise.all(wanted.map((port) => isFreePort(port)));
  const taken = wanted.filter((_, i) => !areFree[i]);
  if (first !== undefined && taken.length > 0)
    throw new LeaseholdError(
      'PORT_IN_USE',
      `--port ${first} asks for ports ${wanted.join(', ')}; in use: ${taken.join(', ')}. Choose another --port, or leave it out`,
    );
  return Object.fromEntries(SERVICES.flatMap((service, i) => (areFree[i] ? [[service, wanted[i]]] : [])));
}

/** Remembers the ports, so that a .env file made by `leasehold dev --env` serves the next run too. */
export function rememberPorts(directory: string, urls: { readonly [service in keyof LocalPorts]: string }) {
  const file = join(directory, PORTS_FILE);
  const ports = SERVICES.map((service) => Number(new URL(urls[service] ?? 'http://none').port));
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, `${JSON.stringify(ports)}\n`, { mode: 0o600 });
}

function rememberedPorts(directory: string): readonly number[] {
  try {
    const ports: unknown = JSON.parse(readStateFile(join(directory, PORTS_FILE)) ?? '');
    return Array.isArray(ports) ? ports.map((port) => (Number.isInteger(port) ? port : 0)) : [];
  } catch {
    return [];
  }
}
