import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { EVENT_SOURCE, type EventDetails, type EventName } from '../../wire/events.ts';
import { type Gate, refusal, refusalReply } from './engines/gate.ts';
import { listen } from './engines/listen.ts';

export type BusEvent = {
  [name in EventName]: { readonly name: name; readonly detail: EventDetails[name] };
}[EventName];

/** A handler may send anything. */
type Entry = null | {
  readonly Source?: string;
  readonly DetailType?: string;
  readonly Detail?: string;
};

const TARGET = 'AWSEvents.PutEvents';

/** Accepts and drops events of other sources. */
export async function startEventBus(onEvent: (event: BusEvent) => void, gate?: Gate, port = 0) {
  const server = createServer((request, response) => {
    const reply = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify(body));
    };
    const refused = gate && refusal(request.headers, request.socket.localPort ?? 0, gate);
    if (refused !== undefined) return reply(refusalReply(refused).status, refusalReply(refused).body);
    if (request.headers['x-amz-target'] !== TARGET)
      return reply(400, { __type: 'UnknownOperationException', message: `only ${TARGET} is known here` });
    readEntries(request)
      .then((entries) => {
        for (const event of entries.flatMap(readEvent)) onEvent(event);
        reply(200, { FailedEntryCount: 0, Entries: entries.map(() => ({ EventId: crypto.randomUUID() })) });
      })
      .catch((error) => reply(400, { __type: 'SerializationException', message: String(error) }));
  });
  return listen(server, port);
}

async function readEntries(request: IncomingMessage): Promise<readonly Entry[]> {
  const { Entries } = (await json(request)) as { Entries?: unknown };
  return Array.isArray(Entries) ? Entries : [];
}

function readEvent(entry: Entry): BusEvent[] {
  const { Source, DetailType, Detail } = entry ?? {};
  if (Source !== EVENT_SOURCE || DetailType === undefined || Detail === undefined) return [];
  try {
    const detail: unknown = JSON.parse(Detail);
    return typeof detail === 'object' && detail !== null ? [{ name: DetailType, detail } as BusEvent] : [];
  } catch {
    return [];
  }
}
