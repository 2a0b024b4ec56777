import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';

const HOST = '127.0.0.1';
const REGION = 'eu-west-1';
const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;

/** A running MiniStack: an AWS account of one's own, with TLS and with IAM policies enforced. */
export interface Emulator {
  readonly endpoint: string;
  /** For the CDK CLI and other programs. */
  readonly environment: Readonly<Record<string, string>>;
  /** For SDK clients in this process. */
  readonly clientConfig: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: Credentials;
    readonly requestHandler: { readonly httpsAgent: Agent };
  };
  /** A user of the account who was granted nothing. */
  createStranger(): Promise<Credentials>;
  /** The status of a stack, or undefined where there is none. */
  stackStatus(name: string): Promise<string | undefined>;
  deleteStack(name: string): Promise<void>;
  /** The files of its certificate. */
  readonly tls: { readonly certificate: string; readonly key: string };
  /** The variables of the container in the newest task definition. */
  taskVariables(): Promise<Readonly<Record<string, string>>>;
  /** Allows the roles of a stack what only the emulator asks for. */
  allowBatches(stackName: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** MiniStack takes this key for the account's root. */
const ROOT: Credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

/** Whether a program is on the PATH. */
export function isInstalled(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, [...args], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts MiniStack on loopback. Everything that it writes stays below `folder`. */
export async function startEmulator(folder: string): Promise<Emulator> {
  const certificate = makeCertificate(folder);
  const ca = readFileSync(certificate.file);
  const port = await freePort();
  const endpoint = `https://${HOST}:${port}`;
  const scratch = join(folder, 'emulator');
  mkdirSync(scratch);
  // The emulator's own scripts are CommonJS, whatever a package.json further up says.
  writeFileSync(join(scratch, 'package.json'), '{}');
  const child = spawn('ministack', [], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: the processes of its functions outlive it, and must end with it.
    detached: true,
    env: {
      ...process.env,
      // Functions run on the Node that runs this, in processes of the emulator's.
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      NODE_EXTRA_CA_CERTS: certificate.file,
      BIND_HOST: HOST,
      MINISTACK_HOST: HOST,
      GATEWAY_PORT: String(port),
      MINISTACK_REGION: REGION,
      AUTH: 'true',
      // The stack's policies refuse whatever is not encrypted in flight.
      USE_SSL: '1',
      MINISTACK_SSL_CERT: certificate.file,
      MINISTACK_SSL_KEY: certificate.key,
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
      TMPDIR: scratch,
      S3_DATA_DIR: join(scratch, 's3'),
      STATE_DIR: join(scratch, 'state'),
    },
  });
  const log = createWriteStream(join(folder, 'emulator.log'));
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await Promise.race([ended, sleep(STOPPED_WITHIN_MS)]);
    killGroup(child.pid);
    await ended;
    process.off('exit', killNow);
    log.end();
  };
  const killNow = () => killGroup(child.pid);
  process.once('exit', killNow);
  try {
    await ready(`${endpoint}/_ministack/health`, ca, () => child.exitCode !== null);
  } catch (error) {
    await stop();
    throw error;
  }
  const httpsAgent = new Agent({ ca });
  return {
    endpoint,
    environment: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: ROOT.accessKeyId,
      AWS_SECRET_ACCESS_KEY: ROOT.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CA_BUNDLE: certificate.file,
      NODE_EXTRA_CA_CERTS: certificate.file,
    },
    clientConfig: { endpoint, region: REGION, credentials: ROOT, requestHandler: { httpsAgent } },
    tls: { certificate: certificate.file, key: certificate.key },
    createStranger: () => createStranger(endpoint, ca),
    async stackStatus(StackName) {
      const status = tagged(
        await cloudFormation('DescribeStacks', { StackName }, endpoint, ca),
        'StackStatus',
      )[0];
      return status === 'DELETE_COMPLETE' ? undefined : status;
    },
    async deleteStack(StackName) {
      await cloudFormation('DeleteStack', { StackName }, endpoint, ca);
    },
    taskVariables: () => taskVariables(endpoint, ca),
    allowBatches: (stackName) => allowBatches(stackName, endpoint, ca),
    stop,
  };
}

/** Ends the emulator, if it still runs, and whatever it started. */
function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // Nobody is left in the group.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function makeCertificate(folder: string): { readonly file: string; readonly key: string } {
  const file = join(folder, 'certificate.pem');
  const key = join(folder, 'key.pem');
  const args = [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=rehearsal', '-addext', `subjectAltName=IP:${HOST}`],
    ...['-addext', 'basicConstraints=critical,CA:TRUE', '-keyout', key, '-out', file],
  ];
  execFileSync('openssl', args, { stdio: 'ignore' });
  return { file, key };
}

async function ready(url: string, ca: Buffer, hasEnded: () => boolean): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  while (Date.now() < until) {
    if (hasEnded()) throw new Error('MiniStack ended at once; its log says why');
    const reply = await post(url, '', ca).catch(() => undefined);
    if (reply !== undefined) return;
    await sleep(200);
  }
  throw new Error(`MiniStack did not answer within ${READY_WITHIN_MS / 1000} s`);
}

async function createStranger(endpoint: string, ca: Buffer): Promise<Credentials> {
  const user = { UserName: 'stranger' };
  await iam('CreateUser', user, endpoint, ca);
  const reply = await iam('CreateAccessKey', user, endpoint, ca);
  const [accessKeyId, secretAccessKey] = ['AccessKeyId', 'SecretAccessKey'].map(
    (tag) => tagged(reply, tag)[0],
  );
  if (!accessKeyId || !secretAccessKey) throw new Error(`no access key in IAM's reply: ${reply}`);
  return { accessKeyId, secretAccessKey };
}

/**
 * AWS authorizes a batch by the action that it is a batch of (SendMessage for SendMessageBatch, PartiQLUpdate for
 * BatchExecuteStatement); MiniStack asks for an action of the batch's own name, which AWS does not have.
 */
export const BATCHES = [
  'sqs:SendMessageBatch',
  'sqs:ChangeMessageVisibilityBatch',
  'dynamodb:BatchExecuteStatement',
];

async function allowBatches(stackName: string, endpoint: string, ca: Buffer): Promise<void> {
  const roles = tagged(await iam('ListRoles', {}, endpoint, ca), 'RoleName');
  const own = roles.filter((name) => name.startsWith(`${stackName}-`));
  if (own.length === 0)
    throw new Error(`the emulator has no role of the stack ${stackName}: ${roles.join(', ')}`);
  const Statement = [{ Effect: 'Allow', Action: BATCHES, Resource: '*' }];
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
  for (const RoleName of own)
    await iam('PutRolePolicy', { RoleName, PolicyName: 'EmulatorBatches', PolicyDocument }, endpoint, ca);
}

async function taskVariables(endpoint: string, ca: Buffer): Promise<Readonly<Record<string, string>>> {
  const ecs = async (action: string, body: object) =>
    JSON.parse(await post(endpoint, JSON.stringify(body), ca, 'ecs', action));
  const { taskDefinitionArns } = await ecs('ListTaskDefinitions', { sort: 'DESC' });
  const { taskDefinition } = await ecs('DescribeTaskDefinition', { taskDefinition: taskDefinitionArns[0] });
  const [{ environment }] = taskDefinition.containerDefinitions;
  return Object.fromEntries(
    environment.map(({ name, value }: { readonly name: string; readonly value: string }) => [name, value]),
  );
}

const tagged = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>(.+?)</${tag}>`, 'g'))].map(([, text = '']) => text);

const iam = (Action: string, parameters: Record<string, string>, endpoint: string, ca: Buffer) =>
  post(endpoint, String(new URLSearchParams({ Action, Version: '2010-05-08', ...parameters })), ca, 'iam');

const cloudFormation = (Action: string, parameters: Record<string, string>, endpoint: string, ca: Buffer) =>
  post(
    endpoint,
    String(new URLSearchParams({ Action, Version: '2010-05-15', ...parameters })),
    ca,
    'cloudformation',
  );

/** A request as root, whose signature the emulator does not check. There is no SDK client for IAM here. */
function post(
  url: string,
  body: string,
  ca: Buffer,
  service = 'none',
  /** Of a service that speaks JSON. */
  action?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const authorization = `AWS4-HMAC-SHA256 Credential=${ROOT.accessKeyId}/20260101/${REGION}/${service}/aws4_request, SignedHeaders=host, Signature=0`;
    const headers =
      action === undefined
        ? { authorization, 'content-type': 'application/x-www-form-urlencoded' }
        : {
            authorization,
            'content-type': 'application/x-amz-json-1.1',
            'x-amz-target': `AmazonEC2ContainerServiceV20141113.${action}`,
          };
    const sent = request(url, { method: 'POST', ca, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject).end(body);
  });
}
