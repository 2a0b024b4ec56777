import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The part of EventBridge Scheduler's API that tells the tags of schedule groups, and a schedule in each; and a CloudWatch that knows nothing. */
export async function startDeploymentApi(groups: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local');
    const [, verb = '', arnOrName = ''] = pathname.split('/');
    const group = searchParams.get('ScheduleGroup') ?? searchParams.get('groupName');
    const name = group ?? decodeURIComponent(arnOrName).split('/').at(-1) ?? '';
    const tags = groups[name];
    const reply = (status: number, body: object, error = '') => {
      response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': error });
      response.end(JSON.stringify(body));
    };
    if (request.headers['x-amz-target']?.includes('GetMetricData'))
      return reply(200, { MetricDataResults: [] });
    if (tags === undefined) return reply(404, { Message: 'no such group' }, 'ResourceNotFoundException');
    if (verb === 'schedules')
      return reply(
        200,
        arnOrName === ''
          ? { Schedules: [{ Name: 'nightly' }] }
          : {
              ...{ Name: arnOrName, State: 'ENABLED', ScheduleExpression: 'rate(1 day)', CreationDate: 0 },
              Target: { Input: '{"type":"report"}' },
            },
      );
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
