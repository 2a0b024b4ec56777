import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { planPark } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { changeControl, parseControl } from '../../lib/protocol/limits/control.ts';
import { parseGroup, roomIn } from '../../lib/protocol/limits/group.ts';
import { evictWrite, leaveWrite } from '../../lib/protocol/limits/group-writes.ts';
import { CONTROL_KEY } from '../../lib/wire/limits.ts';
import { newJob } from '../support/jobs.ts';
import { contractSettings, type Harness } from './harness.ts';

const newGroup = (limit: number) => ({ name: `limit:work:${randomUUID()}`, limit });

/** The rows of limits, and the index of jobs that wait for them. */
export function describeLimits(open: () => Harness): void {
  const membersOf = async (group: string) => parseGroup(await open().table.read(group)).members;
  /** A dot in a job's id is no path. */
  const id = (name: string) => `${name}.${randomUUID()}`;
  const parked = async (waitsFor: string, jobId = id('waiting')) => {
    const { store, clock } = open();
    const dispatch = planPark(clock.now(), { waitsFor }, contractSettings);
    expect(await store.schedule(newJob(jobId), dispatch, { waitsFor })).toMatchObject({ outcome: 'written' });
    await clock.advance(1);
    return jobId;
  };

  it('admits as many jobs as there are places, and no more', async () => {
    const { store } = open();
    const group = newGroup(2);
    const [a, b, c] = [id('a'), id('b'), id('c')];
    const admit = async (jobId: string) => (await store.admit(group, { jobId, attempt: 1 })).outcome;
    expect([await admit(a), await admit(b), await admit(c)]).toEqual(['admitted', 'admitted', 'refused']);
    expect(await admit(a)).toBe('admitted');
    expect(await membersOf(group.name)).toEqual({ [a]: 1, [b]: 1 });
  });

  it('keeps the place of a job with an id that every object has', async () => {
    const jobId = 'constructor';
    const { store } = open();
    const group = newGroup(1);
    const other = id('a');
    await store.admit(group, { jobId: other, attempt: 1 });
    expect(await store.admit(group, { jobId, attempt: 1 })).toEqual({ outcome: 'refused' });
    const left = await store.leave({ group: group.name, jobId: other, attempt: 1 }, [jobId]);
    expect(left.reserved).toEqual([jobId]);
    expect(await store.admit(group, { jobId, attempt: 1 })).toEqual({ outcome: 'admitted' });
    const state = parseGroup(await open().table.read(group.name));
    expect(roomIn(state, 1)).toBe(0);
    expect((await store.check(group, state)).state.members).toEqual({});
    expect(await store.admit(group, { jobId: other, attempt: 2 })).toEqual({ outcome: 'admitted' });
  });

  it('lets the next attempt replace the entry, and no earlier one', async () => {
    const { store } = open();
    const group = newGroup(1);
    const jobId = id('a');
    for (const [attempt, outcome] of [
      [2, 'admitted'],
      [3, 'admitted'],
      [2, 'refused'],
    ] as const)
      expect(await store.admit(group, { jobId, attempt })).toEqual({ outcome });
    expect(await membersOf(group.name)).toEqual({ [jobId]: 3 });
    await store.leave({ group: group.name, limit: 1, jobId, attempt: 2 });
    expect(await membersOf(group.name)).toEqual({ [jobId]: 3 });
    await store.leave({ group: group.name, limit: 1, jobId, attempt: 3 });
    expect(await membersOf(group.name)).toEqual({});
  });

  it('hands a place to the job that has waited longest, which may then be admitted', async () => {
    const { store, clock } = open();
    const group = newGroup(1);
    const jobId = id('a');
    await store.admit(group, { jobId, attempt: 1 });
    const first = await parked(group.name);
    const second = await parked(group.name);
    expect(await store.waiting(group.name, 5)).toEqual([first, second]);
    const left = await store.leave({ group: group.name, jobId, attempt: 1 });
    expect(left.reserved).toEqual([first]);
    expect(await membersOf(group.name)).toEqual({ [first]: -clock.now() });
    expect(await store.admit(group, { jobId: second, attempt: 1 })).toEqual({ outcome: 'refused' });
    expect(await store.admit(group, { jobId: first, attempt: 1 })).toEqual({ outcome: 'admitted' });
  });

  it('frees the place alone if the successor has one already, and fills all room', async () => {
    const { store, clock } = open();
    const group = newGroup(3);
    const [a, b] = [id('a'), id('b')];
    await store.admit(group, { jobId: a, attempt: 1 });
    const waiting = [await parked(group.name), await parked(group.name), await parked(group.name)];
    await store.admit(group, { jobId: b, attempt: 1 });
    await store.admit(group, { jobId: waiting[0] as string, attempt: 1 });
    const { reserved } = await store.leave(
      { group: group.name, limit: 3, jobId: a, attempt: 1 },
      waiting.slice(0, 1),
    );
    expect(reserved).toEqual([]);
    const more = await store.leave({ group: group.name, limit: 3, jobId: b, attempt: 1 }, waiting);
    expect([...more.reserved].sort()).toEqual(waiting.slice(1).sort());
    expect(await membersOf(group.name)).toEqual({
      [waiting[0] as string]: 1,
      [waiting[1] as string]: -clock.now(),
      [waiting[2] as string]: -clock.now(),
    });
  });

  it('removes entries of jobs that no longer need them, and only if they are as read', async () => {
    const { store, table, clock, dispatch } = open();
    const group = newGroup(4);
    const running = claimOf(await open().claimed(id('running')));
    const done = claimOf(await open().claimed(id('done')));
    const released = claimOf(await open().claimed(id('released')));
    const gone = id('gone');
    for (const { jobId, attempt } of [running, done, released, { jobId: gone, attempt: 1 }])
      await store.admit(group, { jobId, attempt });
    await store.complete(done);
    await store.release(released, { errors: 0, releases: 1, dispatch: dispatch() });
    const waiting = await parked(group.name);
    const members = await membersOf(group.name);
    const moved = { ...members, [gone]: 2 };
    expect((await table.apply(evictWrite(group.name, { [gone]: 2 }))).applied).toBe(false);
    expect((await store.check(group, { members: moved })).reserved).toEqual([]);
    expect(await membersOf(group.name)).toEqual(members);
    expect((await store.check(group, { members })).reserved).toEqual([waiting]);
    expect(Object.keys(await membersOf(group.name)).sort()).toEqual(
      [running.jobId, released.jobId, waiting].sort(),
    );
    // Nobody took the released job up, and the reservation was not used.
    await clock.advance(61_000);
    await store.check(group, { members: await membersOf(group.name) });
    expect(Object.keys(await membersOf(group.name))).not.toContain(released.jobId);
  });

  it('refuses every write to a limit that has no row or no members', async () => {
    const { store, table } = open();
    const group = newGroup(1);
    const write = leaveWrite(group, { jobId: id('a'), attempt: 1 });
    expect(await table.apply(write)).toEqual({ applied: false, row: undefined });
    expect(await store.leave({ group: group.name, limit: 1, jobId: id('a'), attempt: 1 })).toEqual({
      reserved: [],
    });
    expect(await table.read(group.name)).toBeUndefined();
  });

  it.each(['claim', 'cancel'] as const)('forgets that a job waits with its %s', async (how) => {
    const { store, table } = open();
    const group = newGroup(1);
    const jobId = await parked(group.name);
    if (how === 'claim') await store.claim({ job: { jobId }, owner: 'w/1', group: group.name });
    else await store.cancel(jobId);
    expect(await store.waiting(group.name, 5)).toEqual([]);
    const row = await table.read(jobId);
    expect([row?.waitsFor, row?.waitsSince]).toEqual([undefined, undefined]);
    expect(row?.group).toBe(how === 'claim' ? group.name : undefined);
  });

  it('parks a claim without a charge, and knows its own success again', async () => {
    const { store, clock, leaseOf } = open();
    const group = newGroup(1);
    const job = await open().claimed(id('refused'));
    const parking = {
      waitsFor: group.name,
      dispatch: planPark(clock.now(), { waitsFor: group.name }, contractSettings),
    };
    expect(await store.parkClaim(claimOf(job), parking)).toEqual({ outcome: 'written' });
    expect(await store.parkClaim(claimOf(job), parking)).toEqual({ outcome: 'written' });
    expect(await store.waiting(group.name, 5)).toEqual([job.jobId]);
    expect(await leaseOf(job.jobId)).toMatchObject({
      ...{ status: 'pending', waitsFor: group.name, attempt: 1 },
      ...{ errors: 0, crashes: 0, lapses: 0, releases: 0 },
    });
  });

  it('keeps pauses and changed limits on one row', async () => {
    const { table } = open();
    const by = 'operator/1';
    const type = `type-${randomUUID()}`;
    await changeControl(table, { map: 'paused', key: type, value: 7, by });
    await changeControl(table, { map: 'limits', key: `${type}:tenant.7`, value: 3, by });
    const control = parseControl(await table.read(CONTROL_KEY));
    expect([control.paused.get(type), control.limits.get(`${type}:tenant.7`)]).toEqual([7, 3]);
    await changeControl(table, { map: 'paused', key: type, by });
    await changeControl(table, { map: 'limits', key: `${type}:tenant.7`, by });
    const after = parseControl(await table.read(CONTROL_KEY));
    expect([after.paused.has(type), after.limits.has(`${type}:tenant.7`)]).toEqual([false, false]);
  });
}
