import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createProducer } from '../../../lib/client/producer/index.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { defineJob, type JobDefinition } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry, type RegistryOptions } from '../../../lib/worker/registry.ts';
import { deliver } from '../../support/claims.ts';

const exported = new InMemorySpanExporter();
let provider: NodeTracerProvider | undefined;
const register = () => {
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exported)] });
  provider.register();
};
afterEach(() => {
  exported.reset();
  trace.disable();
  context.disable();
});

const spans = () =>
  exported.getFinishedSpans().map((span) => ({
    ...{ name: span.name, kind: span.kind, attributes: span.attributes, status: span.status },
    ...{ trace: span.spanContext().traceId, id: span.spanContext().spanId },
    parent: span.parentSpanContext?.spanId,
    links: span.links.map((link) => link.context.spanId),
  }));
const named = (name: string) => {
  const found = spans().find((span) => span.name === name);
  if (found === undefined) throw new Error(`${name} is not among ${spans().map((span) => span.name)}`);
  return found;
};

/** Sends a job and runs it, in a system in memory. */
async function sendAndRun(definition: JobDefinition, options?: RegistryOptions, payload: unknown = {}) {
  const stack = createTestStack();
  const worker = stack.worker(createRegistry([definition], options));
  const engine = createEngine(worker);
  const bodies: string[] = [];
  const producer = createProducer({
    queue: {
      sendJobs(messages) {
        bodies.push(...messages.map(({ body }) => body));
        return stack.queue.sendJobs(messages);
      },
    },
  });
  const { jobId } = await producer.send(definition.type, payload);
  await deliver(stack, engine);
  return { jobId, bodies, producer, stack, row: await stack.table.read(jobId) };
}

const work = async () => {
  await Promise.resolve();
  trace.getTracer('the user’s').startSpan('query').end();
};
const render = defineJob({ type: 'render', payload: z.unknown(), run: work });

describe('spans', () => {
  it('cover send, claim, run and end in one trace, by the conventions for messaging', async () => {
    register();
    const { jobId } = await sendAndRun(render);
    const [send, claim, run, end] = ['send', 'claim', 'run', 'end'].map((name) => named(`${name} render`));
    expect(
      [send, claim, run, end].map((span) => [span?.kind, span?.attributes['messaging.operation.type']]),
    ).toEqual([
      [SpanKind.PRODUCER, 'send'],
      [SpanKind.CLIENT, 'receive'],
      [SpanKind.CONSUMER, 'process'],
      [SpanKind.CLIENT, 'settle'],
    ]);
    expect(send?.attributes).toEqual({
      'messaging.system': 'leasehold',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'send',
      'messaging.destination.name': 'render',
      'messaging.message.id': jobId,
    });
    for (const span of [claim, run, end]) {
      expect(span).toMatchObject({ trace: send?.trace, parent: send?.id, links: [send?.id] });
      expect(span?.attributes).toMatchObject({ 'messaging.message.id': jobId, 'leasehold.attempt': 1 });
    }
    expect(end?.attributes['leasehold.outcome']).toBe('done');
    expect(spans().every(({ status }) => status.code === SpanStatusCode.UNSET)).toBe(true);
  });

  it('are continued by the jobs that a handler sends', async () => {
    register();
    let inner: Awaited<ReturnType<typeof sendAndRun>> | undefined;
    const parent = defineJob({
      type: 'parent',
      payload: z.unknown(),
      async run() {
        inner = await sendAndRun(render);
      },
    });
    await sendAndRun(parent);
    expect(named('send render')).toMatchObject({
      ...{ parent: named('run parent').id, trace: named('send parent').trace },
    });
    expect(named('run render').parent).toBe(named('send render').id);
    expect(inner?.bodies[0]).toContain(named('send render').id);
  });

  it('of a batch are one, without a destination if its types differ', async () => {
    register();
    const { producer, bodies } = await sendAndRun(render);
    exported.reset();
    await producer.sendMany([
      { type: 'render', payload: {} },
      { type: 'other', payload: {} },
    ]);
    const [only, ...others] = spans();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ name: 'send', attributes: { 'messaging.batch.message_count': 2 } });
    expect(bodies.slice(-2).every((body) => body.includes(only?.id ?? '?'))).toBe(true);
  });

  it('have the error of a handler and of a send, and never quote a payload that a schema refused', async () => {
    register();
    const failing = defineJob({
      type: 'failing',
      payload: z.unknown(),
      run() {
        throw new TypeError('no such order');
      },
    });
    await sendAndRun(failing);
    expect(named('run failing')).toMatchObject({
      attributes: { 'error.type': 'TypeError' },
      status: { code: SpanStatusCode.ERROR, message: 'TypeError: no such order' },
    });
    expect(named('end failing').attributes['leasehold.outcome']).toBe('retried');
    const strict = defineJob({ type: 'strict', payload: z.object({ name: z.string() }), run() {} });
    const { row } = await sendAndRun(strict, undefined, { name: 4711 });
    expect(row).toMatchObject({ status: 'pending', errors: 1 });
    expect(named('run strict').attributes['error.type']).toBe('SchemaRefusedError');
    const producer = createProducer({
      registry: createRegistry([strict]),
      queue: { sendJobs: async () => [] },
    });
    exported.reset();
    await expect(producer.send('strict', { name: 'Ada' })).rejects.toThrow('no answer');
    expect(named('send strict')).toMatchObject({
      attributes: { 'error.type': 'QueueUnavailableError' },
      status: { code: SpanStatusCode.ERROR },
    });
    expect(JSON.stringify(spans())).not.toContain('4711');
  });

  it('are what a broken SDK cannot break: the job runs without them', async () => {
    register();
    trace.disable();
    trace.setGlobalTracerProvider({
      getTracer() {
        throw new Error('a broken SDK');
      },
    });
    const plain = defineJob({ type: 'plain', payload: z.unknown(), run() {} });
    expect((await sendAndRun(plain)).row?.status).toBe('done');
  });

  it('are none where nothing is registered, and messages are as without them', async () => {
    const { bodies, row } = await sendAndRun(render);
    expect(row?.status).toBe('done');
    expect(bodies[0]).not.toContain('trace');
    expect(spans()).toEqual([]);
  });
});
