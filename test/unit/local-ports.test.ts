import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';
import { localPorts, rememberPorts } from '../../lib/tools/dev/local-ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-ports-'));
const taken = createServer();
afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true });
});

it('a folder keeps its ports from run to run, except one that is in use, which --port names', async () => {
  expect(await localPorts(folder)).toEqual({});
  const ports = { console: await freePort(), dynamodb: await freePort(), sqs: await freePort() };
  const at = (port: number) => `http://127.0.0.1:${port}`;
  rememberPorts(folder, {
    ...{ console: `${at(ports.console)}/#token=x`, dynamodb: at(ports.dynamodb), sqs: at(ports.sqs) },
    eventbridge: 'https://events.example.com',
  });
  expect(await localPorts(folder)).toMatchObject(ports);
  await new Promise<void>((resolve) => taken.listen(ports.dynamodb, '127.0.0.1', resolve));
  expect((await localPorts(folder)).dynamodb).toBeUndefined();
  await expect(localPorts(folder, ports.dynamodb - 1)).rejects.toThrow(
    new RegExp(`in use: .*${ports.dynamodb}`),
  );
});
