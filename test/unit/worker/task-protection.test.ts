import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../lib/protocol/ports.ts';
import { processOptionsFromEnvironment } from '../../../lib/settings/environment.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';
import { protectTask } from '../../../lib/worker/hosts/task-protection.ts';

const MINUTE = 60_000;
const SET = { ProtectionEnabled: true, ExpiresInMinutes: 5 };
const CLEARED = { ProtectionEnabled: false };

/** The ECS agent of a container, as far as protection goes. */
let agent: Server;
let asked: unknown[];
let answer: 'ok' | 'refuse' | 'hang';

beforeEach(async () => {
  asked = [];
  answer = 'ok';
  agent = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push([request.method, request.url, JSON.parse(body)]);
    if (answer === 'hang') return;
    response.writeHead(answer === 'ok' ? 200 : 400).end('{"failure":"no permission"}');
  }).listen(0, '127.0.0.1');
  await once(agent, 'listening');
});
afterEach(() => {
  agent.closeAllConnections();
  agent.close();
});

function stage(minutes = 60) {
  const clock = createFakeClock();
  let sleeps = 0;
  const watched: Clock = {
    ...clock,
    sleep: (...given) => {
      sleeps += 1;
      return clock.sleep(...given);
    },
  };
  const telemetry = createKeptTelemetry();
  let busySince: number | undefined;
  const { port } = agent.address() as AddressInfo;
  const protection = protectTask({
    ...{ agentUri: `http://127.0.0.1:${port}/api/id`, minutes, clock: watched, telemetry },
    longestRunMs: () => (busySince === undefined ? 0 : clock.monotonic() - busySince),
  });
  const states = () => asked.map((each) => (each as unknown[])[2]);
  return {
    telemetry,
    protection,
    busy: () => {
      busySince = clock.monotonic();
    },
    idle: () => {
      busySince = undefined;
    },
    /** Lets so much time pass in looks of ten seconds, each of which ends before the next. */
    async pass(ms: number, expected: readonly unknown[]) {
      for (let passed = 0; passed < ms; passed += 10_000) {
        const before = sleeps;
        await clock.advance(10_000);
        await expect.poll(() => sleeps, { interval: 1 }).toBeGreaterThan(before);
      }
      expect(states()).toEqual(expected);
    },
  };
}

describe('the protection of a container from being scaled in', () => {
  it('is set once a job has run for 30 s, renewed every two minutes, and cleared after an idle one', async () => {
    const { busy, idle, pass, protection } = stage();
    await pass(MINUTE, []);
    busy();
    await pass(20_000, []);
    await pass(10_000, [SET]);
    expect(asked).toEqual([['PUT', '/api/id/task-protection/v1/state', SET]]);
    await pass(2 * MINUTE, [SET, SET]);
    idle();
    await pass(50_000, [SET, SET]);
    await pass(20_000, [SET, SET, CLEARED]);
    await protection.stop();
    expect(asked).toHaveLength(3);
  });

  it('ends with its bound, however long the job', async () => {
    const { busy, pass, protection } = stage(3);
    busy();
    await pass(10 * MINUTE, [SET, SET]);
    await protection.stop();
    expect(asked).toHaveLength(3);
  });

  it('is done without, with one warning, where the agent refuses', async () => {
    answer = 'refuse';
    const { busy, pass, protection, telemetry } = stage();
    busy();
    await pass(5 * MINUTE, [SET, SET, SET]);
    await protection.stop();
    expect(telemetry.lines).toMatchObject([
      { level: 'warn', fields: { reason: '400 {"failure":"no permission"}' } },
    ]);
  });

  it('is given up on after 5 s where the agent hangs', async () => {
    answer = 'hang';
    const { busy, pass, protection, telemetry } = stage();
    busy();
    await pass(30_000, [SET]);
    await expect.poll(() => telemetry.lines).toMatchObject([{ level: 'warn' }]);
    answer = 'ok';
    await protection.stop();
    expect(telemetry.lines).toHaveLength(1);
  });
});

describe('the variables of a container', () => {
  it('give the health port and the protection', () => {
    const environment = { LEASEHOLD_HEALTH_PORT: '8080', LEASEHOLD_PROTECT_MINUTES: '60' };
    expect(processOptionsFromEnvironment(environment)).toEqual({ healthPort: 8080, protectMinutes: 60 });
    expect(processOptionsFromEnvironment({})).toEqual({});
  });

  it.each([
    ['LEASEHOLD_HEALTH_PORT', '70000', 'from 0 to 65535'],
    ['LEASEHOLD_PROTECT_MINUTES', 'long', 'from 0 to 2880'],
  ])('are refused where they are no numbers: %s', (name, text, allowed) => {
    expect(() => processOptionsFromEnvironment({ [name]: text })).toThrow(
      `environment variable '${name}' is '${text}'; it must be a whole number ${allowed}`,
    );
  });
});
