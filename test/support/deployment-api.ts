import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The part of EventBridge Scheduler's API that tells the tags of schedule groups. */
export async function startDeploymentApi(groups: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const server = createServer((request, response) => {
    const [, verb = '', arnOrName = ''] = new URL(request.url ?? '', 'http://local').pathname.split('/');
    const name = decodeURIComponent(arnOrName).split('/').at(-1) ?? '';
    const tags = groups[name];
    const reply = (status: number, body: object, error = '') => {
      response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': error });
      response.end(JSON.stringify(body));
    };
    if (tags === undefined) return reply(404, { Message: 'no such group' }, 'ResourceNotFoundException');
    if (verb === 'schedule-groups')
      return reply(200, {
        Name: name,
        Arn: `arn:aws:scheduler:eu-west-1:111122223333:schedule-group/${name}`,
      });
    return reply(200, { Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    environment: {
      AWS_ENDPOINT_URL_SCHEDULER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
    },
    close: () => server.close(),
  };
}
