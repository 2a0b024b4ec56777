import type { TestStack } from '../../lib/testing/test-stack.ts';
import type { Engine } from '../../lib/worker/intake/engine.ts';

type Queue = Pick<TestStack, 'queue'>;

/** Sends these bodies, and claims whatever the queue then delivers, as a host does. */
export async function claimSent({ queue }: Queue, engine: Engine, ...bodies: readonly string[]) {
  await queue.sendJobs(bodies.map((body) => ({ body })));
  const messages = await queue.receive({ max: 10, waitSeconds: 0 });
  const opened = await Promise.all(messages.map((message) => engine.open(message)));
  return engine.claim(opened.filter((each) => each.kind === 'claimable'));
}

export async function claimOne(stack: Queue, engine: Engine, body: string) {
  const [claimed] = await claimSent(stack, engine, body);
  if (claimed?.kind !== 'claimed') throw new Error(claimed?.kind);
  return claimed;
}

/** Sends these bodies, runs one after the other what the queue delivers, and deletes it; tells how the runs ended. */
export async function deliver({ queue }: Queue, engine: Engine, ...bodies: readonly string[]) {
  await queue.sendJobs(bodies.map((body) => ({ body })));
  const ends: string[] = [];
  for (const message of await queue.receive({ max: 10, waitSeconds: 0 })) {
    const opened = await engine.open(message);
    const claimed = opened.kind === 'claimable' ? await engine.claim([opened]) : [];
    for (const each of claimed)
      if (each.kind === 'claimed')
        ends.push(await engine.run(each, { stopping: new AbortController().signal, releaseWithinMs: 0 }));
    await queue.delete([message]);
  }
  return ends;
}
